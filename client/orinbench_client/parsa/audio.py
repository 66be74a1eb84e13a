"""Makes recordings of any kind canonical: 16 kHz, mono, 16 bit, as WAV."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orinbench_client.errors import BadInput
from orinbench_client.suites.audio import RATE_HZ

_FULL_SCALE = 32768.0


def canonical_wav(path: Path) -> tuple[bytes, float]:
    """Return a recording as a canonical WAV file, and its length in seconds.

    Samples that are canonical already pass unchanged. Others are mixed down to the mean of their channels, resampled
    by soxr ("HQ") and rounded. The bytes depend on the version of soxr, which is why they are digested. Raises
    BadInput for a file that is missing, damaged, empty, or of a format libsndfile does not read.
    """
    soundfile, soxr = _libraries()
    try:
        with soundfile.SoundFile(path) as file:
            as_is = (file.samplerate, file.channels, file.subtype) == (RATE_HZ, 1, "PCM_16")
            rate = file.samplerate
            data = file.read(dtype="int16" if as_is else "float64", always_2d=True)
    except (soundfile.LibsndfileError, OSError) as error:
        raise BadInput(f"{path}: no audio that can be read: {error}") from None
    samples = data[:, 0] if as_is else _pcm(soxr.resample(data.mean(axis=1), rate, RATE_HZ, "HQ"))
    if not len(samples):
        raise BadInput(f"{path}: holds no audio")
    return _wav(samples), len(samples) / RATE_HZ


def _pcm(samples: npt.NDArray[np.float64]) -> npt.NDArray[np.int16]:
    if not np.isfinite(samples).all():
        samples = np.nan_to_num(samples)
    return np.clip(np.rint(samples * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE - 1).astype(np.int16)


def _wav(samples: npt.NDArray[np.int16]) -> bytes:
    target = io.BytesIO()
    with wave.open(target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(samples.astype("<i2").tobytes())
    return target.getvalue()


def _libraries() -> tuple[Any, Any]:
    try:
        import soundfile
        import soxr
    except ImportError:
        raise BadInput("preparing audio needs soundfile and soxr: pip install 'orinbench[prepare]'") from None
    return soundfile, soxr
