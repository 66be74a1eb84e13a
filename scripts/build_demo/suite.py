"""The suite's folder: one FLAC file a recording, and the manifest with the references."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray
from orinbench_profiles.digest import canonical_json, digest_file

from build_demo.synth import SAMPLE_RATE, Utterance


def write_suite(folder: Path, utterances: Sequence[Utterance], recordings: Sequence[NDArray[np.int16]]) -> None:
    """Write `audio/demo-NNN.flac` and `manifest.jsonl`, in the order given; removes earlier recordings."""
    audio = folder / "audio"
    audio.mkdir(parents=True, exist_ok=True)
    for old in audio.glob("*.flac"):
        old.unlink()
    lines = []
    for index, (utterance, recording) in enumerate(zip(utterances, recordings, strict=True)):
        path = audio / f"demo-{index:03}.flac"
        soundfile.write(path, recording, SAMPLE_RATE, subtype="PCM_16", format="FLAC", compression_level=1.0)
        lines.append(canonical_json(_entry(path, utterance, len(recording))))
    (folder / "manifest.jsonl").write_bytes(b"".join(lines))


def _entry(path: Path, utterance: Utterance, samples: int) -> dict[str, object]:
    return {
        "sample_id": path.stem,
        "audio": f"audio/{path.name}",
        "audio_sha256": digest_file(path).removeprefix("sha256:"),
        "audio_seconds": samples / SAMPLE_RATE,
        "samples": samples,
        "reference": utterance.sentence.text,
        "voice": utterance.voice,
        "snr_db": utterance.snr_db,
        "unseen_words": utterance.sentence.unseen_words,
        "unseen_voice": utterance.unseen_voice,
    }
