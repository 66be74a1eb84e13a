"""What a suite, a model and a hardware profile may say. Unknown keys are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
MemoryMethod = Literal["torch-reserved", "tensorrt-pool", "onnxruntime-pool", "process-rss"]
Isolation = Literal["none", "network", "sandbox"]


class Declaration(BaseModel):
    """Base of all declarations: immutable, and a key nobody knows is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PackagedSource(Declaration):
    """Data that come with this package, relative to its folder."""

    kind: Literal["packaged"]
    """Which of the sources this is."""
    path: str
    """Relative to this package's folder."""


def plain_path(path: str) -> str:
    """Return `path` if it is relative and stays where it begins. Raises ValueError."""
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"{path!r} must be a plain relative path")
    return path


class FolderSource(Declaration):
    """Data in a folder, relative to the declaration file (a user's own declaration).

    Where the folder is, is the user's own business: it is neither sent nor part of a digest.
    """

    kind: Literal["folder"]
    """Which of the sources this is."""
    path: Annotated[str, Field(exclude=True)] = "."
    """Relative to the declaration file."""


class HubSource(Declaration):
    """Data on a Hugging Face hub at a pinned revision.

    `include` names files there whose digests nobody knows yet: by name, or by a pattern in which * and ? never match
    a slash. The board that fetches them writes their digests down.
    """

    kind: Literal["huggingface"]
    """Which of the sources this is."""
    repository: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")]
    """`OWNER/NAME`."""
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    """The commit, all 40 digits."""
    config: str | None = None
    """Of a data set: its configuration."""
    split: str | None = None
    """Of a data set: its split."""
    include: list[Annotated[str, AfterValidator(plain_path)]] = []
    """Of a model: its files, by name or by pattern, where no digests are known yet."""


class GithubSource(Declaration):
    """Files of a GitHub repository at a pinned commit; which ones, and their blob ids, the task's settings say."""

    kind: Literal["github"]
    """Which of the sources this is."""
    repository: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$")]
    """`OWNER/NAME`."""
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    """The commit, all 40 digits."""


class OwnCopySource(Declaration):
    """Data a user must get for himself, under the terms of their owners; they are read from his copy."""

    kind: Literal["own-copy"]
    """Which of the sources this is."""
    host: str
    """Where the owners publish them."""
    repository: str
    """What they are called there."""
    terms: str
    """What one agrees to."""


Source = Annotated[
    PackagedSource | FolderSource | HubSource | GithubSource | OwnCopySource, Field(discriminator="kind")
]


class SuiteDeclaration(Declaration):
    """A suite: where its samples come from and how they are scored.

    `samples` is how many there must be, absent where that is not published; `manifest_digest` is the digest of
    manifest.jsonl, which names every sample, the digest of its input and its reference. `accepts_digests` are digests
    of other tools' specifications that stand for this suite. `variants` are questions a suite leaves open, such as the
    language of its prompts, each with its answers, the default first: every choice of them is a suite with a digest of
    its own.
    """

    id: Name
    """Its name; in results the folder of its runs."""
    title: str
    """For people."""
    description: str
    """For people."""
    task: Name
    """What reads it: `asr`, `parse`, `parsa`, or an entry point `orinbench.suites` of your own."""
    language: str
    """Of the right answers, as ISO 639-1 has it."""
    license: str
    """Of the data, as SPDX has it where it does."""
    source: Source
    """Where the data come from."""
    samples: Annotated[int, Field(ge=1)] | None = None
    """How many there must be."""
    manifest_digest: Digest | None = None
    """SHA-256 of `manifest.jsonl`."""
    normalizer: Name | None = None
    """What both texts go through before edits are counted."""
    scorer: Name
    """What grades answers, by name; `asr-edits-1` counts edits."""
    metrics: Annotated[list[Name], Field(min_length=1)]
    """The figures of its score."""
    warning: str | None = None
    """What people are told beside every result."""
    accepts_digests: list[Digest] = []
    """Digests of other tools' specifications that stand for this suite."""
    settings: dict[str, Any] = {}
    """The task's own."""
    variants: dict[Name, Annotated[list[Name], Field(min_length=1)]] | None = None
    """Questions left open, each with its answers, the default first."""

    @model_validator(mode="after")
    def _words_are_unique(self) -> SuiteDeclaration:
        words = [word for choices in (self.variants or {}).values() for word in choices]
        twice = sorted({word for word in words if words.count(word) > 1})
        if twice:
            raise ValueError(f"variants name a word twice: {', '.join(twice)}")
        return self

    @property
    def variant(self) -> dict[str, str]:
        """What is chosen of each of the variants."""
        return {axis: choices[0] for axis, choices in (self.variants or {}).items()}

    def choose(self, words: list[str]) -> SuiteDeclaration:
        """Return the declaration with `words` chosen of its variants. Raises ValueError for one that is not there."""
        variants = dict(self.variants or {})
        for word in words:
            axis = next((axis for axis, choices in variants.items() if word in choices), None)
            if axis is None:
                open_ = "; ".join(f"{axis}: {', '.join(choices)}" for axis, choices in variants.items())
                raise ValueError(f"suite {self.id} has no variant {word!r}: {open_ or 'it has none'}")
            variants[axis] = [word]
        return self.model_copy(update={"variants": variants or None})


class ModelFile(Declaration):
    """One file of a model. `path` is relative to the source and is the name the adapter sees."""

    path: Annotated[str, AfterValidator(plain_path)]
    """Relative to the source; the name that the adapter sees."""
    digest: Digest
    """SHA-256 of the content."""
    bytes: Annotated[int, Field(ge=0)]
    """Its size."""


class ModelDeclaration(Declaration):
    """A model: its files by digest, and the engine, adapter and runtime that run it.

    Files on a hub may be named without digests (source.include). What is run then is another declaration: the same
    with the digests of what the board fetched, and with the first one's digest in `resolves`.

    `options` belong to the adapter, which refuses those it does not know. `dtype` is the checkpoint's native one;
    nothing is ever cast.
    """

    id: Name
    """Its name on boards."""
    title: str
    """For people."""
    license: str
    """Of the weights, as SPDX has it where it does."""
    engine: Name
    """An entry point `orinbench.engines`."""
    adapter: Name
    """An entry point `orinbench.adapters`."""
    runtime: Name = "default"
    """The environment that runs it, as the board calls it."""
    dtype: str
    """The checkpoint's own type."""
    source: Source | None = None
    """Where the files come from."""
    files: list[ModelFile] = []
    """Every file, with its digest."""
    warmup: Annotated[int, Field(ge=0, le=100)] = 3
    """Inferences before the first that is measured."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """The most a sample may generate; also bounds its deadline."""
    options: dict[str, Any] = {}
    """Of engine and adapter, which refuse those they do not know."""
    accepts_digests: list[Digest] = []
    """Digests of other tools' specifications that stand for this model."""
    resolves: Digest | None = None
    """Written by the board: the digest of the declaration whose files it fetched."""

    @property
    def unresolved(self) -> bool:
        """Whether its files lie on a hub and their digests are not known yet."""
        return isinstance(self.source, HubSource) and not self.files

    @model_validator(mode="after")
    def _no_path_twice(self) -> ModelDeclaration:
        paths = [file.path for file in self.files]
        twice = sorted({path for path in paths if paths.count(path) > 1})
        if twice:
            raise ValueError(f"file named twice: {', '.join(twice)}")
        return self

    @model_validator(mode="after")
    def _files_are_named_once(self) -> ModelDeclaration:
        hub = self.source if isinstance(self.source, HubSource) else None
        if self.resolves is not None and not (hub and self.files):
            raise ValueError("resolves belongs to a declaration whose files came from a hub")
        if hub is not None and self.resolves is None and bool(hub.include) == bool(self.files):
            raise ValueError("name the files on the hub either by source.include or, with digests, by [[files]]")
        return self


class HardwareProfile(Declaration):
    """What a board must be for its numbers to be comparable.

    A condition that is not given is not checked. `module_power_rails` are the rails that add up to module power;
    empty where power cannot be read. Temperatures in degrees Celsius, memory and disk in GiB.
    """

    id: Name
    """Its name on boards."""
    title: str
    """For people."""
    official: bool = False
    """Whether its numbers may stand on official boards; what does not match it refuses runs."""
    development: bool = False
    """Whether its numbers are comparable with nothing else."""
    device: Literal["cpu", "cuda"]
    """Where models run."""
    compatible: list[str] = []
    """Strings of the device tree, one of which the board must have."""
    cpu_count: int | None = None
    """CPUs, offline ones too."""
    memory_gib_min: float | None = None
    """The least memory, GiB."""
    memory_gib_max: float | None = None
    """The most memory, GiB."""
    l4t_release: str | None = None
    """The board's L4T, such as 36.4.7."""
    cuda_version: str | None = None
    """The host's CUDA, such as 12.6."""
    power_mode: str | None = None
    """The mode that is set before a run, by name."""
    lock_clocks: bool = False
    """Whether clocks are locked at their highest."""
    module_power_rails: list[str] = []
    """Rails that add up to module power; empty where it cannot be read."""
    power_sensor_window_s: float | None = None
    """The time over which the power sensor averages, seconds."""
    memory_methods: Annotated[list[MemoryMethod], Field(min_length=1)]
    """The methods by which memory may be ranked."""
    temperature_limit_c: float | None = None
    """The hottest a sensor may be, °C."""
    free_disk_gib: float = 1.0
    """Free disk before a run, GiB."""
    free_memory_gib: float | None = None
    """Free memory before a run, GiB."""
    gpu_clients: Literal["tegra", "nvml", "none"] = "none"
    """How processes that hold the GPU are found."""
    competitor_poll_s: Annotated[float, Field(gt=0)] = 1.0
    """Seconds between two looks for them."""
    isolation_floor: Isolation = "none"
    """The least isolation of workers."""
    energy_coverage_floor: Annotated[float, Field(ge=0, le=1)] = 0.95
    """The share of the windows that power readings must cover."""

    @model_validator(mode="after")
    def _not_both(self) -> HardwareProfile:
        if self.official and self.development:
            raise ValueError("a profile is official or for development, not both")
        return self
