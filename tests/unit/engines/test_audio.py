"""Decoding: what is canonical comes out exactly, what is not is refused with its reason."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile
from orinbench_engines.audio import decode
from orinbench_engines.contract import Sample
from orinbench_engines.failures import WorkerFailure

_NOISE = np.random.default_rng(1).integers(-32768, 32768, 20_000).astype(np.int16)


def _encoded(form: str = "FLAC", subtype: str = "PCM_16", rate: int = 16_000, channels: int = 1) -> bytes:
    frames = np.stack([_NOISE] * channels, axis=1)
    file = io.BytesIO()
    soundfile.write(file, frames, rate, format=form, subtype=subtype)
    return file.getvalue()


def _sample(data: bytes, media_type: str = "audio/flac") -> Sample:
    return Sample(0, "a-7", data, media_type)


def _damaged(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes(60) + data[middle + 60 :]


FLAC, WAV = _encoded(), _encoded("WAV")


@pytest.mark.parametrize("data", [FLAC, WAV], ids=["FLAC", "WAV"])
def test_canonical_audio_comes_out_exactly(data: bytes) -> None:
    """Every 16-bit value is its 32768th part as float32, nothing scaled, dithered or dropped."""
    audio = decode(_sample(data))

    assert audio.dtype == np.float32
    assert np.array_equal(audio, _NOISE.astype(np.float32) / 32768)


@pytest.mark.parametrize(
    ("data", "reason", "found"),
    [
        pytest.param(_encoded(rate=44_100), "SAMPLE_RATE", "44100 Hz, wanted 16000 Hz", id="44.1 kHz"),
        pytest.param(_encoded("WAV", rate=8_000), "SAMPLE_RATE", "8000 Hz, wanted 16000 Hz", id="8 kHz"),
        pytest.param(_encoded(channels=2), "CHANNELS", "2 channels, wanted 1 channel", id="stereo"),
        pytest.param(_encoded(subtype="PCM_24"), "SAMPLE_FORMAT", "FLAC PCM_24", id="24 bits"),
        pytest.param(_encoded("WAV", "FLOAT"), "SAMPLE_FORMAT", "WAV FLOAT", id="float"),
        pytest.param(_encoded("WAV", "ULAW"), "SAMPLE_FORMAT", "WAV ULAW", id="u-law"),
        pytest.param(_encoded("AIFF"), "SAMPLE_FORMAT", "AIFF PCM_16", id="AIFF"),
        pytest.param(_encoded("OGG", "VORBIS"), "SAMPLE_FORMAT", "OGG VORBIS", id="Vorbis"),
        pytest.param(b"", "AUDIO_EMPTY", "0 bytes", id="no bytes"),
        pytest.param(WAV[:4] + b"\x24\0\0\0" + WAV[8:40] + bytes(4), "AUDIO_EMPTY", "0 frames", id="no frames"),
        pytest.param(WAV[:44], "AUDIO_TRUNCATED", "0 bytes of audio, wanted the 40000 promised", id="WAV header"),
        pytest.param(WAV[:-1], "AUDIO_TRUNCATED", "39999 bytes of audio, wanted the 40000", id="WAV less a byte"),
        pytest.param(FLAC[: len(FLAC) // 2], "AUDIO_TRUNCATED", "the 20000 frames promised", id="half a FLAC"),
        pytest.param(FLAC[:-1], "AUDIO_TRUNCATED", "the 20000 frames promised", id="FLAC less a byte"),
        pytest.param(_damaged(FLAC), "AUDIO_UNREADABLE", "without sense", id="damaged FLAC"),
        pytest.param(WAV[:30], "AUDIO_UNREADABLE", "without sense", id="WAV without data"),
        pytest.param(b"not audio at all", "AUDIO_UNREADABLE", "without sense", id="text"),
    ],
)
def test_other_audio_is_refused(data: bytes, reason: str, found: str) -> None:
    """Nothing is resampled, mixed or padded: the message names the sample, what was found and what is wanted."""
    with pytest.raises(WorkerFailure) as caught:
        decode(_sample(data))

    assert caught.value.reason == reason
    assert "sample a-7" in str(caught.value)
    assert found in str(caught.value)


def test_a_text_is_no_audio() -> None:
    """A text sample given to an audio model is told by its declared type."""
    with pytest.raises(WorkerFailure, match="found text/plain, wanted audio") as caught:
        decode(_sample(b"hello", "text/plain"))

    assert caught.value.reason == "MEDIA_TYPE"
