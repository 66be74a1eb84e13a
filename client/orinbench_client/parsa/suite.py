"""PARSA-Bench as a suite: prepared data, a condition, and the chats made of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orinbench_profiles import Loaded, OwnCopySource, SuiteDeclaration, canonical_json, digest_bytes

from orinbench_client.errors import BadInput
from orinbench_client.parsa.prepared import (
    MANIFEST,
    PreparedRow,
    audio_path,
    folder_of,
    prepare,
    read_prepared,
)
from orinbench_client.parsa.prompts import Asker
from orinbench_client.parsa.settings import VARIANT, TaskSettings, read_settings
from orinbench_client.suites.base import Attachment, OnPrepare, Sample, suite_digest
from orinbench_client.suites.chat import MEDIA_TYPE, chat_input


class ParsaSuite:
    """The samples of one condition, of data that were prepared before. Raises BadInput."""

    def __init__(self, loaded: Loaded[SuiteDeclaration]) -> None:
        self.declaration = loaded.declaration
        self._settings = read_settings(self.declaration)
        self._folder = folder_of(self.declaration)
        data = self._read_manifest()
        self.digest = suite_digest(loaded, digest_bytes(data))
        self._rows = {task.id: list[PreparedRow]() for task in self._settings.tasks}
        for row in read_prepared(self._folder, data):
            self._rows[row.task].append(row)
        self.samples: Sequence[Sample] = [
            sample for task in self._settings.tasks for sample in self._samples_of(task, self._rows[task.id])
        ]

    @staticmethod
    def prepare(loaded: Loaded[SuiteDeclaration], source: Path | None, tell: OnPrepare) -> None:
        """Make the prepared data of a user's copy, if one is given. Raises BadInput naming file and line."""
        del tell
        if source is not None:
            prepare(read_settings(loaded.declaration), source, folder_of(loaded.declaration))

    def notes(self) -> list[str]:
        """Return what a user should know of the data: tasks of another size than expected, or without transcripts."""
        silent = [name for name, rows in self._rows.items() if all(row.transcript is None for row in rows)]
        return [
            *(
                f"{task.id}: {len(self._rows[task.id])} samples, {task.samples.value} expected"
                for task in self._settings.tasks
                if len(self._rows[task.id]) != task.samples.value
            ),
            *(f"{name}: no transcripts, so text-only asks with neither recording nor transcript" for name in silent),
        ]

    def _read_manifest(self) -> bytes:
        try:
            return (self._folder / MANIFEST).read_bytes()
        except OSError:
            raise BadInput(f"suite {self.declaration.id} is not prepared: {_how_to_get(self.declaration)}") from None

    def _samples_of(self, task: TaskSettings, rows: Sequence[PreparedRow]) -> list[Sample]:
        asker = Asker(self._settings, task, self.declaration.variant[VARIANT], rows)
        tokens = self._settings.max_tokens.value["steps" if asker.thinks else "direct"]
        return [self._sample(task, asker, row, tokens) for row in rows]

    def _sample(self, task: TaskSettings, asker: Asker, row: PreparedRow, max_tokens: int) -> Sample:
        messages, heard = asker.ask(row)
        data = chat_input(messages)
        return Sample(
            sample_id=row.sample_id,
            digest=digest_bytes(data),
            size_bytes=len(data),
            media_type=MEDIA_TYPE,
            content=data,
            reference=canonical_json(_reference(task, row)).decode(),
            audio_seconds=math.fsum(each.audio_seconds for each in heard) or None,
            max_tokens=max_tokens,
            attachments=tuple(self._attachment(each) for each in heard),
        )

    def _attachment(self, row: PreparedRow) -> Attachment:
        return Attachment(row.audio_digest, row.audio_bytes, "audio/wav", audio_path(self._folder, row))


def _reference(task: TaskSettings, row: PreparedRow) -> dict[str, Any]:
    """Return what the scorer needs of a sample and its task: see scoring/parsa.py."""
    reference: dict[str, Any] = {
        "dimension": task.dimension,
        "task": task.id,
        "kind": row.kind,
        "metric": "choice-accuracy" if row.kind == "choice" else task.metric.value,
        "answer": row.answer,
    }
    if row.kind == "choice":
        reference["options"] = row.options
    if row.kind == "label" and task.labels is not None:
        reference["labels"] = [[label.name, label.aliases, label.numbers] for label in task.labels.value]
    if task.tokenizer is not None:
        reference["tokenizer"] = task.tokenizer.value
    return reference


def _how_to_get(declaration: SuiteDeclaration) -> str:
    source = declaration.source
    if not isinstance(source, OwnCopySource):
        return "its source must be of the kind own-copy"
    return (
        f"its data are {source.repository} on {source.host} ({source.terms}). Accept the conditions there, download "
        f"your copy, then: orinbench prepare --suite {declaration.id} --source DIR"
    )
