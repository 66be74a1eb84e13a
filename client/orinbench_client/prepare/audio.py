"""Canonical audio: 16 kHz, mono, PCM-16, as libsndfile writes it."""

from __future__ import annotations

import io

import numpy as np

from orinbench_client.errors import BadInput
from orinbench_client.suites.audio import RATE_HZ


def canonical_wav(data: bytes) -> tuple[bytes, float]:
    """Return the canonical WAV file of encoded audio, and its length in seconds, to six places.

    Decoded as float32, the mean taken over the channels, and where the rate differs interpolated linearly to
    round(frames * 16000 / rate) frames: PESTE's rule, on which the digests of its recordings rest. Raises ValueError
    if libsndfile cannot read it, BadInput if libsndfile is not here.
    """
    try:
        import soundfile
    except (ImportError, OSError) as error:
        raise BadInput(f"soundfile is not installed here ({error}): pip install 'orinbench[prepare]'") from None
    try:
        samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise ValueError(str(error)) from None
    mono = np.asarray(np.mean(samples, axis=1, dtype=np.float32))
    if rate != RATE_HZ:
        frames = round(len(mono) * RATE_HZ / rate)
        at = np.arange(frames, dtype=np.float64) * rate / RATE_HZ
        mono = np.interp(at, np.arange(len(mono), dtype=np.float64), mono).astype(np.float32)
    wav = io.BytesIO()
    soundfile.write(wav, mono, RATE_HZ, format="WAV", subtype="PCM_16")
    return wav.getvalue(), round(len(mono) / RATE_HZ, 6)
