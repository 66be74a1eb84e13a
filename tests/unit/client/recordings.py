"""Small suites of silence, whole or damaged as a test wants them."""

from __future__ import annotations

import hashlib
import json
import wave
from pathlib import Path
from typing import Any


def write_wav(path: Path, rate: int = 16_000, channels: int = 1, width: int = 2, frames: int = 1600) -> None:
    """Write silence."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(bytes(frames * channels * width))


def row(folder: Path, name: str, **changes: Any) -> dict[str, Any]:
    """A line of the manifest for a recording that is there."""
    digest = hashlib.sha256((folder / f"{name}.wav").read_bytes()).hexdigest()
    return {
        "sample_id": name,
        "audio": f"{name}.wav",
        "audio_sha256": digest,
        "audio_seconds": 0.1,
        "reference": "سلام",
        **changes,
    }


def write_suite(folder: Path, lines: list[str], samples: int, **changes: Any) -> Path:
    """Write manifest.jsonl and suite.toml."""
    folder.mkdir(exist_ok=True)
    (folder / "manifest.jsonl").write_text("".join(f"{line}\n" for line in lines))
    values = {
        "id": "mine",
        "title": "Mine",
        "description": "A test.",
        "task": "asr",
        "language": "fa",
        "license": "CC0-1.0",
        "samples": samples,
        "normalizer": "fa-v1",
        "scorer": "asr-edits-1",
        "metrics": ["cer"],
        **changes,
    }
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    (folder / "suite.toml").write_text(text + '[source]\nkind = "folder"\n')
    return folder
