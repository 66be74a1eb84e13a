"""Reads the header of a WAV or FLAC file, so that a wrong file is found before it travels to a board."""

from __future__ import annotations

import wave
from dataclasses import dataclass
from pathlib import Path

from orinbench_client.errors import BadInput

RATE_HZ = 16_000
_FLAC_HEAD = 42
MEDIA_TYPES = {".flac": "audio/flac", ".wav": "audio/wav"}


@dataclass(frozen=True)
class AudioFormat:
    """What the header says: sampling rate in hertz, channels, bits a sample, samples a channel."""

    rate_hz: int
    channels: int
    bits: int
    frames: int


def read_format(path: Path) -> AudioFormat:
    """Read the header of `path`. Raises BadInput if it is damaged or of another kind."""
    try:
        return _read_wav(path) if path.suffix == ".wav" else _read_flac(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except (wave.Error, EOFError) as error:
        raise BadInput(f"{path}: not a whole PCM WAV file: {str(error) or 'it ends too early'}") from None


def require_canonical(path: Path) -> AudioFormat:
    """Return the format of `path`, which must be 16 kHz mono 16-bit. Raises BadInput."""
    found = read_format(path)
    if (found.rate_hz, found.channels, found.bits) != (RATE_HZ, 1, 16):
        raise BadInput(
            f"{path}: {found.rate_hz} Hz, {found.channels} channel(s), {found.bits} bit: "
            f"inputs are {RATE_HZ} Hz mono 16 bit: resample the file and name its new digest"
        )
    if not found.frames:
        raise BadInput(f"{path}: holds no audio")
    return found


def _read_wav(path: Path) -> AudioFormat:
    with wave.open(str(path), "rb") as file:
        frames = file.getnframes()
        size = frames * file.getnchannels() * file.getsampwidth()
        if len(file.readframes(frames)) != size:
            raise EOFError(f"the header promises {frames} samples, the file ends before")
        return AudioFormat(file.getframerate(), file.getnchannels(), 8 * file.getsampwidth(), frames)


def _read_flac(path: Path) -> AudioFormat:
    """Read the STREAMINFO block (FLAC format, RFC 9639 section 8.2), which is always the first."""
    with path.open("rb") as file:
        head = file.read(_FLAC_HEAD)
    if len(head) < _FLAC_HEAD or head[:4] != b"fLaC" or head[4] & 0x7F != 0:
        raise BadInput(f"{path}: not a FLAC file")
    packed = int.from_bytes(head[18:26], "big")
    return AudioFormat(
        rate_hz=packed >> 44,
        channels=(packed >> 41 & 0x7) + 1,
        bits=(packed >> 36 & 0x1F) + 1,
        frames=packed & (1 << 36) - 1,
    )
