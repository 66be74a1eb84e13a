"""What a suite gives: inputs for the board, references for the scorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import entry_points
from itertools import product
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from orinbench_profiles import (
    DeclarationError,
    FolderSource,
    HubSource,
    Loaded,
    PackagedSource,
    SuiteDeclaration,
    canonical_json,
    digest_bytes,
    list_declarations,
    load_suite,
)

from orinbench_client.errors import BadInput
from orinbench_client.suites.prepared import prepared_folder

GROUP = "orinbench.suites"
# Hears what is done, and how many bytes of how many are.
OnPrepare = Callable[[str, int, int], None]
# Found also where the package is not installed, such as in a checkout.
_OURS = {
    "asr": "orinbench_client.suites.asr:AsrSuite",
    "parse": "orinbench_client.parse.suite:ParseSuite",
    "parsa": "orinbench_client.parsa.suite:ParsaSuite",
}


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


@runtime_checkable
class Prepared(Protocol):
    """A suite whose data are fetched, or made of a user's own copy."""

    @staticmethod
    def prepare(loaded: Loaded[SuiteDeclaration], source: Path | None, tell: OnPrepare) -> None:
        """Get the data, from the copy in `source` if one is given, whole or not at all; `tell` hears how far it is.

        Raises BadInput naming file and line.
        """

    def notes(self) -> list[str]:
        """Return what a user should know of the data that were made."""


def find_suite(name: str) -> Loaded[SuiteDeclaration]:
    """Load the declaration of a suite by our name or from a folder with suite.toml. Raises BadInput.

    The folder of a suite from a hub is where its prepared data are, or would be.
    """
    try:
        loaded = load_suite(name)
    except DeclarationError as error:
        raise BadInput(str(error)) from None
    if isinstance(loaded.declaration.source, HubSource):
        return replace(loaded, folder=prepared_folder(loaded))
    return loaded


def verify_suite(loaded: Loaded[SuiteDeclaration]) -> Suite:
    """Read and verify the data of a suite. Raises BadInput naming file and line."""
    if isinstance(loaded.declaration.source, HubSource) and loaded.folder is not None and not loaded.folder.exists():
        ours = loaded.declaration.id in list_declarations("suites")
        name = loaded.declaration.id if ours else loaded.home
        raise BadInput(f"suite {loaded.declaration.id} is not prepared here: orinbench prepare --suite {name}")
    return _suite_class(loaded.declaration.task)(loaded)


def _unheard(what: str, done: int, total: int) -> None:
    del what, done, total


def prepare_suite(loaded: Loaded[SuiteDeclaration], source: Path | None, tell: OnPrepare = _unheard) -> None:
    """Get the data of a suite that has any to get. Raises BadInput, also for a source the suite has no use for."""
    suite_class = _suite_class(loaded.declaration.task)
    if not isinstance(loaded.declaration.source, PackagedSource | FolderSource) and issubclass(suite_class, Prepared):
        suite_class.prepare(loaded, source, tell)
    elif source is not None:
        raise BadInput(f"suite {loaded.declaration.id} has its data beside its declaration: it needs no --source")


def open_suite(name: str) -> Suite:
    """Load and verify a suite by our name or from a folder with suite.toml. Raises BadInput."""
    return verify_suite(find_suite(name))


def open_variant(name: str, digest: str) -> Suite:
    """Open the variant of a suite that has `digest`; where none has, the suite as it is named. Raises BadInput."""
    suite = open_suite(name)
    for words in product(*(suite.declaration.variants or {}).values()):
        found = open_suite(f"{name}:{','.join(words)}") if words else suite
        if found.digest == digest:
            return found
    return suite


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
    """Return the digest of a declaration bound to its manifest and to what is chosen of its variants."""
    return bound_digest(loaded.declaration, manifest_digest)


def bound_digest(declaration: SuiteDeclaration, manifest_digest: str) -> str:
    """Return suite_digest of a declaration that was not loaded from a file."""
    chosen = {axis: [word] for axis, word in declaration.variant.items()} or None
    bound = declaration.model_copy(update={"manifest_digest": manifest_digest, "variants": chosen})
    return digest_bytes(canonical_json(bound.model_dump(mode="json", exclude_none=True)))


def suite_family(declaration: SuiteDeclaration) -> str:
    """Return the digest that all variants of a suite have in common."""
    common = declaration.model_copy(update={"manifest_digest": None, "variants": None})
    return digest_bytes(canonical_json(common.model_dump(mode="json", exclude_none=True)))


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
