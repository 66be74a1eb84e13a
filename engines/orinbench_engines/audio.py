"""Decodes a sample's audio. Anything but 16 kHz mono PCM-16 in FLAC or WAV is refused, never converted."""

from __future__ import annotations

import io
import re

import numpy as np
import soundfile

from orinbench_engines.contract import Sample
from orinbench_engines.failures import WorkerFailure, input_failure

SAMPLE_RATE = 16_000

Audio = np.ndarray[tuple[int], np.dtype[np.float32]]

# What libsndfile notes when a WAV file's data chunk promises more bytes than follow; it reads on regardless.
_CUT_SHORT = re.compile(r"^data : (\d+) \(should be (\d+)\)$", re.MULTILINE)
# What it notes when a FLAC stream ends before its frames do; of damage in the middle it says "lost sync".
_EARLY_END = "STREAM_DECODER_END_OF_STREAM"


def decode(sample: Sample) -> Audio:
    """Return the audio as float32 in [-1, 1], one value a frame. Raises WorkerFailure (input)."""
    if not sample.media_type.startswith("audio/"):
        raise _refuse(sample, "MEDIA_TYPE", sample.media_type, "audio")
    if not sample.data:
        raise _refuse(sample, "AUDIO_EMPTY", "0 bytes", "audio")
    try:
        with soundfile.SoundFile(io.BytesIO(sample.data)) as file:
            _check(sample, file)
            return _read(sample, file)
    except soundfile.LibsndfileError as error:
        raise _refuse(sample, "AUDIO_UNREADABLE", f"bytes without sense ({error})", "FLAC or WAV") from error


def _check(sample: Sample, file: soundfile.SoundFile) -> None:
    if file.format not in ("FLAC", "WAV") or file.subtype != "PCM_16":
        raise _refuse(sample, "SAMPLE_FORMAT", f"{file.format} {file.subtype}", "PCM_16 in FLAC or WAV")
    if file.samplerate != SAMPLE_RATE:
        raise _refuse(sample, "SAMPLE_RATE", f"{file.samplerate} Hz", f"{SAMPLE_RATE} Hz")
    if file.channels != 1:
        raise _refuse(sample, "CHANNELS", f"{file.channels} channels", "1 channel")
    if cut := _CUT_SHORT.search(file.extra_info):
        raise _refuse(sample, "AUDIO_TRUNCATED", f"{cut[2]} bytes of audio", f"the {cut[1]} promised")
    if not file.frames:
        raise _refuse(sample, "AUDIO_EMPTY", "0 frames", "audio")


def _read(sample: Sample, file: soundfile.SoundFile) -> Audio:
    try:
        audio: Audio = file.read(dtype="float32")
    except soundfile.LibsndfileError:
        if _EARLY_END not in file.extra_info:
            raise
        audio = np.empty(0, np.float32)
    if len(audio) < file.frames:
        raise _refuse(sample, "AUDIO_TRUNCATED", "an early end", f"the {file.frames} frames promised")
    return audio


def _refuse(sample: Sample, reason: str, found: str, wanted: str) -> WorkerFailure:
    message = f"sample {sample.sample_id}: found {found}, wanted {wanted}: prepare the suite again"
    return input_failure(reason, message)
