"""The prepared data of a suite: a manifest and canonical audio, made of a user's copy once and read by every run."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from orinbench_profiles import SuiteDeclaration, canonical_json, digest_bytes
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orinbench_client.answers.entities import Entity
from orinbench_client.errors import BadInput
from orinbench_client.parsa.audio import canonical_wav
from orinbench_client.parsa.settings import Kind, ParsaSettings
from orinbench_client.parsa.tables import Row, read_tables
from orinbench_client.suites.base import suite_family
from orinbench_client.suites.prepared import data_folder

MANIFEST = "manifest.jsonl"


class PreparedRow(BaseModel):
    """One line of the manifest: what a sample is, whatever the condition it is asked under."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample_id: str
    task: str
    kind: Kind
    audio_digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    audio_bytes: int
    audio_seconds: float
    transcript: str | None = None
    question: str | None = None
    options: tuple[str, ...] = ()
    answer: str | list[Entity]


def folder_of(declaration: SuiteDeclaration) -> Path:
    """Return where the prepared data of a suite lie, those of all variants: another declaration, another folder."""
    return data_folder(f"{declaration.id}-{suite_family(declaration)[7:19]}")


def audio_path(folder: Path, row: PreparedRow) -> Path:
    """Return where a row's recording lies."""
    return folder / "audio" / f"{row.audio_digest[7:]}.wav"


def prepare(settings: ParsaSettings, source: Path, folder: Path) -> None:
    """Make the prepared data of a user's copy, whole or not at all; what was there before is replaced.

    All tables are read and checked before the first recording is. Raises BadInput naming file and line.
    """
    if not source.is_dir():
        raise BadInput(f"{source}: no such folder")
    rows = list(read_tables(settings, source))
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".tmp-"))
    try:
        made.chmod(0o755)
        (made / "audio").mkdir()
        lines = b"".join(
            canonical_json(_prepared(row, made).model_dump(mode="json", exclude_none=True)) for row in rows
        )
        (made / MANIFEST).write_bytes(lines)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _prepared(row: Row, folder: Path) -> PreparedRow:
    try:
        data, seconds = canonical_wav(row.audio)
    except BadInput as error:
        raise BadInput(f"{row.where}: {error}") from None
    prepared = PreparedRow(
        sample_id=row.sample_id,
        task=row.task,
        kind=row.kind,
        audio_digest=digest_bytes(data),
        audio_bytes=len(data),
        audio_seconds=seconds,
        transcript=row.transcript,
        question=row.question,
        options=row.options,
        answer=row.answer,
    )
    audio_path(folder, prepared).write_bytes(data)
    return prepared


def read_prepared(folder: Path, data: bytes) -> Iterator[PreparedRow]:
    """Yield the rows of a manifest, whose recordings must be there. Raises BadInput naming the line."""
    for number, line in enumerate(data.splitlines(), 1):
        where = f"{folder / MANIFEST}:{number}"
        try:
            row = PreparedRow.model_validate(json.loads(line))
        except (ValidationError, ValueError):
            raise BadInput(f"{where}: damaged: prepare the suite again") from None
        path = audio_path(folder, row)
        if not path.is_file() or path.stat().st_size != row.audio_bytes:
            raise BadInput(f"{where}: {path}: missing or changed: prepare the suite again")
        yield row
