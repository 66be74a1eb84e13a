"""A repository laid out as FLEURS is, with recordings made on the spot, and the suite that is made of it."""

from __future__ import annotations

import io
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from orinbench_client.prepare.audio import canonical_wav
from orinbench_client.prepare.fleurs import Sum, manifest_line
from orinbench_profiles import digest_bytes

from tests.integration.harness import to_toml
from tests.integration.hub import REVISION

TEXTS = ("سلام دنیا", "می‌روم به خانه", "۱۲ کتاب")
TABLE, ARCHIVE = "data/fa_ir/test.tsv", "data/fa_ir/audio/test.tar.gz"


def recording(number: int, rate: int = 16_000, channels: int = 1, subtype: str = "FLOAT") -> bytes:
    """A tone of a tenth of a second, another for every number, as FLEURS has them: float32 WAV."""
    at = np.arange(rate // 10) / rate
    tone = (0.3 * np.sin(2 * np.pi * (200 + 100 * number) * at)).astype(np.float32)
    data = io.BytesIO()
    soundfile.write(data, np.stack([tone] * channels, axis=1), rate, format="WAV", subtype=subtype)
    return data.getvalue()


def repository(recordings: list[bytes], texts: tuple[str, ...] = TEXTS) -> dict[str, bytes]:
    """Table and archive; the archive is in another order, and holds a recording that the table does not name."""
    lines = [
        "\t".join([str(900 + i), f"{i}00.wav", f"Raw: {text}!", text, "c h a r s", "1600", "MALE"])
        for i, text in enumerate(texts)
    ]
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        named = [(f"test/{i}00.wav", data) for i, data in enumerate(recordings)]
        for name, data in [("test/999.wav", recording(99)), *reversed(named)]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return {TABLE: "".join(f"{line}\n" for line in lines).encode(), ARCHIVE: archive.getvalue()}


def write_copy(folder: Path, files: dict[str, bytes]) -> Path:
    """Write a copy of a repository."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def write_suite(folder: Path, recordings: list[bytes], **changes: Any) -> Path:
    """Write the declaration of a suite of these recordings, with its sums."""
    folder.mkdir(exist_ok=True)
    wavs = [canonical_wav(data) for data in recordings]
    sums = [
        Sum(f"test-{i:06}", sha256(wav).hexdigest(), sha256(text.encode()).hexdigest())
        for i, ((wav, _), text) in enumerate(zip(wavs, TEXTS, strict=True))
    ]
    (folder / "a.sums").write_text("".join(f"{s.sample_id}  {s.audio}  {s.reference}\n" for s in sums))
    lines = [manifest_line(s, seconds, text) for s, (_, seconds), text in zip(sums, wavs, TEXTS, strict=True)]
    values = {
        "id": "small-fleurs",
        "title": "Small",
        "description": "A test.",
        "task": "asr",
        "language": "fa",
        "license": "CC0-1.0",
        "samples": len(sums),
        "manifest_digest": digest_bytes(b"".join(lines)),
        "normalizer": "fa-v1",
        "scorer": "asr-edits-1",
        "metrics": ["cer"],
        **changes,
    }
    source = {
        "kind": "huggingface",
        "repository": "me/fleurs",
        "revision": REVISION,
        "config": "fa_ir",
        "split": "test",
    }
    settings = {"layout": "fleurs", "sums": "a.sums"}
    (folder / "suite.toml").write_text(to_toml({**values, "source": source, "settings": settings}))
    return folder
