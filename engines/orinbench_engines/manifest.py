"""The inputs manifest: JSON Lines, one sample a line in the order of the run, and never a reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

from orinbench_profiles.schema import Declaration, Digest
from pydantic import Field, ValidationError

from orinbench_engines.artifacts import Artifacts
from orinbench_engines.contract import Attachment
from orinbench_engines.failures import WorkerFailure, input_failure
from orinbench_engines.validation import first_problem

_PROGRESS_EVERY = 256


class _Artifact(Declaration):
    digest: Digest
    bytes: Annotated[int, Field(ge=0)]


class InputArtifact(_Artifact):
    """Where a sample's bytes are and what they are."""

    media_type: Literal["audio/flac", "audio/wav", "text/plain", "application/vnd.orinbench.chat+json"]


class AttachmentArtifact(_Artifact):
    """Where the bytes of an attachment are and what they are."""

    media_type: Literal["audio/flac", "audio/wav"]


class Input(Declaration):
    """One sample. `audio_seconds` and `max_tokens` bound what it may take.

    `attachments` are files the input refers to by position; samples may share them.
    """

    sample_id: Annotated[str, Field(min_length=1)]
    input: InputArtifact
    attachments: tuple[AttachmentArtifact, ...] = ()
    audio_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None

    @property
    def artifacts(self) -> list[tuple[str, _Artifact]]:
        """The input and its attachments, each with its name in an error."""
        named: list[tuple[str, _Artifact]] = [(f"the input of sample {self.sample_id}", self.input)]
        for number, attachment in enumerate(self.attachments):
            named.append((f"attachment {number} of sample {self.sample_id}", attachment))
        return named


class Manifest:
    """Reads a manifest line by line, so that its length does not matter.

    A run may take fewer samples than there are lines, if its options say so; the rest is not looked at.
    """

    def __init__(self, path: Path, artifacts: Artifacts, planned_samples: int) -> None:
        self._path = path
        self._artifacts = artifacts
        self._planned = planned_samples

    def verify(self, first_index: int, progress: Callable[[], None]) -> None:
        """Check every line, and from first_index on inputs and attachments; `progress` is called often.

        What is wrong ends a run before it begins, and reading between the timed windows stays short: no digest is
        computed there, and the files are in the page cache. Raises WorkerFailure (input, board).
        """
        count = 0
        shared: set[str] = set()
        for index, declared in self.inputs(0):
            count += 1
            if index % _PROGRESS_EVERY == 0:
                progress()
            if index >= first_index:
                self._verify(declared, shared)
        if count < self._planned:
            problem = f"the inputs manifest has {count} samples, but {self._planned} are planned"
            raise input_failure("SAMPLE_COUNT", problem)

    def inputs(self, first_index: int) -> Iterator[tuple[int, Input]]:
        """Yield (index, input) from first_index to the last planned. Raises WorkerFailure (input) at a bad line."""
        with self._path.open("rb") as file:
            for index, line in enumerate(islice(file, first_index, self._planned), first_index):
                yield index, _parse(index, line)

    def _verify(self, declared: Input, shared: set[str]) -> None:
        for what, artifact in declared.artifacts:
            # The same few recordings may be attached to every sample.
            if artifact.digest not in shared:
                self._artifacts.read_verified(artifact.digest, what)
        shared.update(attachment.digest for attachment in declared.attachments)

    def read(self, declared: Input) -> tuple[bytes, tuple[Attachment, ...]]:
        """Return the bytes of an input and its attachments, verified before. Raises WorkerFailure (input, board)."""
        data, *attached = (self._read(what, artifact) for what, artifact in declared.artifacts)
        types = (attachment.media_type for attachment in declared.attachments)
        return data, tuple(Attachment(*pair) for pair in zip(attached, types, strict=True))

    def _read(self, what: str, artifact: _Artifact) -> bytes:
        data = self._artifacts.read(artifact.digest, what)
        if len(data) != artifact.bytes:
            raise input_failure("DIGEST_MISMATCH", f"{what} changed while the run was going on")
        return data


def _parse(index: int, line: bytes) -> Input:
    try:
        return Input.model_validate_json(line)
    except ValidationError as error:
        raise _invalid(index, error) from None


def _invalid(index: int, error: ValidationError) -> WorkerFailure:
    return input_failure("MANIFEST_INVALID", f"inputs manifest, line {index + 1}: {first_problem(error)}")
