"""Speech recognition: recordings with transcripts, named by manifest.jsonl in the suite's folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from orinbench_profiles import Loaded, SuiteDeclaration, digest_bytes, digest_file
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from orinbench_client.bundles.files import stays_inside
from orinbench_client.errors import BadInput
from orinbench_client.suites.audio import MEDIA_TYPES, RATE_HZ, require_canonical
from orinbench_client.suites.base import OnPrepare, Sample, suite_digest

MANIFEST = "manifest.jsonl"


class _Row(BaseModel):
    """One line of the manifest; what else it says is the suite's own business."""

    model_config = ConfigDict(strict=True)

    sample_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,128}$")]
    audio: Annotated[str, StringConstraints(pattern=r"^[^\x00]+$")]
    audio_sha256: Annotated[str, StringConstraints(pattern=r"^(sha256:)?[0-9a-f]{64}$")]
    audio_seconds: Annotated[float, Field(gt=0)]
    reference: Annotated[str, StringConstraints(min_length=1)]


class AsrSuite:
    """A verified suite of recordings.

    Checked: the manifest against the declaration (digest, number of samples), every line, every recording
    (digest, 16 kHz mono 16 bit, length). Raises BadInput naming file and line.
    """

    def __init__(self, loaded: Loaded[SuiteDeclaration]) -> None:
        self.declaration = loaded.declaration
        if loaded.folder is None:
            raise BadInput(f"suite {self.declaration.id}: nothing says where its data are")
        self._manifest = loaded.folder / MANIFEST
        data = self._read_manifest()
        self.digest = suite_digest(loaded, digest_bytes(data))
        self.samples: Sequence[Sample] = self._read_samples(data)

    @staticmethod
    def prepare(loaded: Loaded[SuiteDeclaration], source: Path | None, tell: OnPrepare) -> None:
        """Make canonical recordings of what lies on a hub, or of a copy of it. Raises BadInput naming the sample."""
        from orinbench_client.prepare.suite import prepare_recordings

        prepare_recordings(loaded, source, tell)

    def notes(self) -> list[str]:
        """Return nothing: the data are what is pinned."""
        return []

    def _read_manifest(self) -> bytes:
        try:
            data = self._manifest.read_bytes()
        except OSError as error:
            raise BadInput(f"{self._manifest}: cannot be read: {error.strerror}") from None
        declared = self.declaration.manifest_digest
        if declared is not None and digest_bytes(data) != declared:
            raise BadInput(
                f"{self._manifest}: its digest is {digest_bytes(data)}, the declaration of "
                f"{self.declaration.id} says {declared}: the file was changed or belongs to another version"
            )
        return data

    def _read_samples(self, data: bytes) -> list[Sample]:
        samples: dict[str, Sample] = {}
        for where, row in self._rows(data):
            if row.sample_id in samples:
                raise BadInput(f"{where}: sample_id {row.sample_id!r} was there before")
            samples[row.sample_id] = self._sample(where, row)
        if not samples:
            raise BadInput(f"{self._manifest}: the suite is empty: there is nothing to run")
        if self.declaration.samples not in (None, len(samples)):
            raise BadInput(
                f"{self._manifest}: {len(samples)} samples, the declaration of {self.declaration.id} "
                f"says {self.declaration.samples}"
            )
        return list(samples.values())

    def _rows(self, data: bytes) -> Iterator[tuple[str, _Row]]:
        for number, line in enumerate(data.splitlines(), 1):
            where = f"{self._manifest}:{number}"
            try:
                yield where, _Row.model_validate(json.loads(line))
            except ValidationError as error:
                problem = error.errors()[0]
                key = ".".join(str(part) for part in problem["loc"]) or "line"
                raise BadInput(f"{where}: {key}: {problem['msg']}") from None
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{where}: not JSON: {error}") from None

    def _sample(self, where: str, row: _Row) -> Sample:
        path = self._manifest.parent / row.audio
        if not stays_inside(row.audio):
            raise BadInput(f"{where}: audio {row.audio!r} lies outside the suite's folder")
        if path.suffix not in MEDIA_TYPES:
            raise BadInput(f"{where}: audio {row.audio!r} is neither .flac nor .wav")
        digest = "sha256:" + row.audio_sha256.removeprefix("sha256:")
        self._check_recording(where, row, path, digest)
        return Sample(
            sample_id=row.sample_id,
            digest=digest,
            size_bytes=path.stat().st_size,
            media_type=MEDIA_TYPES[path.suffix],
            content=path,
            reference=row.reference,
            audio_seconds=row.audio_seconds,
        )

    @staticmethod
    def _check_recording(where: str, row: _Row, path: Path, digest: str) -> None:
        try:
            found = digest_file(path)
        except OSError as error:
            raise BadInput(f"{where}: {path}: cannot be read: {error.strerror}") from None
        if found != digest:
            raise BadInput(f"{where}: {path}: its digest is {found}, the manifest says {digest}")
        seconds = require_canonical(path).frames / RATE_HZ
        if abs(seconds - row.audio_seconds) > 1e-3:
            raise BadInput(f"{where}: {path}: {seconds:g} s long, the manifest says {row.audio_seconds:g} s")
