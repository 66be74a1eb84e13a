"""What a suite gives: inputs for the board, references for the scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, cast

from orinbench_profiles import (
    DeclarationError,
    Loaded,
    SuiteDeclaration,
    canonical_json,
    digest_bytes,
    load_suite,
)

from orinbench_client.errors import BadInput

GROUP = "orinbench.suites"
# Found also where the package is not installed, such as in a checkout.
_OURS = {"asr": "orinbench_client.suites.asr:AsrSuite"}


@dataclass(frozen=True)
class Attachment:
    """A file an input refers to by position, such as the audio of a chat: held in a file or in memory."""

    digest: str
    size_bytes: int
    media_type: str
    content: Path | bytes


@dataclass(frozen=True)
class Sample:
    """One sample: its input, addressed by digest and held in a file or in memory, and the right answer.

    Samples may share attachments. `audio_seconds` is the length of all the audio of input and attachments.
    """

    sample_id: str
    digest: str
    size_bytes: int
    media_type: str
    content: Path | bytes
    reference: str
    audio_seconds: float | None = None
    max_tokens: int | None = None
    attachments: tuple[Attachment, ...] = ()


class Suite(Protocol):
    """A verified suite. The constructor takes the declaration and raises BadInput for bad data."""

    def __init__(self, loaded: Loaded[SuiteDeclaration]) -> None: ...

    @property
    def declaration(self) -> SuiteDeclaration:
        """What the suite says of itself."""

    @property
    def digest(self) -> str:
        """Digest of the declaration together with the references it leads to."""

    @property
    def samples(self) -> Sequence[Sample]:
        """The samples in order."""


def find_suite(name: str) -> Loaded[SuiteDeclaration]:
    """Load the declaration of a suite by our name or from a folder with suite.toml. Raises BadInput."""
    try:
        return load_suite(name)
    except DeclarationError as error:
        raise BadInput(str(error)) from None


def verify_suite(loaded: Loaded[SuiteDeclaration]) -> Suite:
    """Read and verify the data of a suite. Raises BadInput naming file and line."""
    return _suite_class(loaded.declaration.task)(loaded)


def open_suite(name: str) -> Suite:
    """Load and verify a suite by our name or from a folder with suite.toml. Raises BadInput."""
    return verify_suite(find_suite(name))


def inputs_manifest(samples: Sequence[Sample]) -> bytes:
    """Return the inputs manifest the board gets: one canonical JSON line a sample, without references."""
    return b"".join(canonical_json(_input_line(sample)) for sample in samples)


def input_files(samples: Sequence[Sample]) -> Sequence[Sample | Attachment]:
    """Return what the board needs beside the manifest: every input and attachment, each content once."""
    files: dict[str, Sample | Attachment] = {}
    for sample in samples:
        files.setdefault(sample.digest, sample)
        files.update((attachment.digest, attachment) for attachment in sample.attachments)
    return list(files.values())


def references(suite: Suite) -> Mapping[str, str]:
    """Return the right answer by sample id, in the suite's order."""
    return {sample.sample_id: sample.reference for sample in suite.samples}


def suite_digest(loaded: Loaded[SuiteDeclaration], manifest_digest: str) -> str:
    """Return the digest of a declaration bound to its manifest, whether or not it names one itself."""
    bound = loaded.declaration.model_copy(update={"manifest_digest": manifest_digest})
    return digest_bytes(canonical_json(bound.model_dump(mode="json", exclude_none=True)))


def _input_line(sample: Sample) -> dict[str, object]:
    line: dict[str, object] = {"sample_id": sample.sample_id, "input": _artifact(sample)}
    if sample.attachments:
        line["attachments"] = [_artifact(attachment) for attachment in sample.attachments]
    if sample.audio_seconds is not None:
        line["audio_seconds"] = sample.audio_seconds
    if sample.max_tokens is not None:
        line["max_tokens"] = sample.max_tokens
    return line


def _artifact(named: Sample | Attachment) -> dict[str, object]:
    return {"digest": named.digest, "bytes": named.size_bytes, "media_type": named.media_type}


def _suite_class(task: str) -> type[Suite]:
    if task in _OURS:
        module, _, attribute = _OURS[task].partition(":")
        return cast("type[Suite]", getattr(import_module(module), attribute))
    for entry in entry_points(group=GROUP, name=task):
        return cast("type[Suite]", entry.load())
    known = sorted({*_OURS, *(entry.name for entry in entry_points(group=GROUP))})
    raise BadInput(f"no suite code for the task {task!r}: this installation knows {', '.join(known)}")
