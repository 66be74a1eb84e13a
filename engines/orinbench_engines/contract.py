"""What an engine and an adapter are.

An engine owns the device, the precision and the memory meter. It loads a checkpoint and gives the adapter a
session to work with. The adapter owns the task: from the bytes of one sample to the final text. A model
declaration names one of each, and any adapter works with any engine whose session is of the kind it needs.

One sample a call: a batch is not something that can be asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from orinbench.v1.record_pb2 import MemoryReading, ModelFacts
from orinbench_profiles import ModelDeclaration
from pydantic import BaseModel, ConfigDict

from orinbench_engines.failures import model_failure

if TYPE_CHECKING:
    import numpy as np
    import torch

# Seed of every random generator: PESTE's execution contract.
SEED = 20250731


class Options(BaseModel):
    """What a declaration's `options` may say to an engine or an adapter. Nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True)
class Model:
    """A model as an engine gets it: the declaration, and its files by declared name, verified.

    A file lies under the name of its digest, so its own name says nothing. `device` is auto, cpu or cuda.
    `scratch` is a folder for the run's own files, `cache` one that outlives the run, None where there is none.
    """

    declaration: ModelDeclaration
    files: Mapping[str, Path]
    device: str
    scratch: Path
    cache: Path | None = None

    def only(self, suffix: str, chosen: str | None, option: str) -> str:
        """Return the name of the file that `chosen` names, or of the only one that ends in `suffix`.

        `option` is where the choice is declared. Raises WorkerFailure (model, FILE_MISSING).
        """
        wanted = suffix if chosen is None else chosen
        names = [name for name in self.files if name == chosen or (chosen is None and name.endswith(suffix))]
        if len(names) == 1:
            return names[0]
        raise model_failure(
            "FILE_MISSING",
            f"model {self.declaration.id}: {len(names)} of its files are {wanted!r}, there must be one or option "
            f"{option!r} must name it; its files: {', '.join(self.files) or 'none'}",
        )


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that an input refers to by its position, such as the audio of a chat: its encoded bytes."""

    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One input: its encoded bytes and attachments, and what the manifest declares of it.

    `audio_seconds` bounds all of its audio together.
    """

    index: int
    sample_id: str
    data: bytes
    media_type: str
    audio_seconds: float | None = None
    max_tokens: int | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(slots=True)
class Output:
    """What came of one sample.

    `text` is as the model said it, nothing trimmed. `structured` is anything that JSON can hold, or None.
    `stages` are (name, nanoseconds) in order: decode_audio, features, transfer, inference, decode_text.
    `audio_seconds` is the length as decoded.
    """

    text: str
    structured: Any = None
    stages: list[tuple[str, int]] = field(default_factory=list)
    audio_seconds: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    first_token_ns: int | None = None


class Stages:
    """A stopwatch for the parts of the timed window: each lap ends where the next begins."""

    __slots__ = ("_last", "laps")

    def __init__(self) -> None:
        self.laps: list[tuple[str, int]] = []
        self._last = monotonic_ns()

    def lap(self, name: str) -> None:
        """End the current stage and give it its name."""
        now = monotonic_ns()
        self.laps.append((name, now - self._last))
        self._last = now


class Session:
    """What an engine gives its adapter to work with. Each kind is a subclass; an adapter names those it needs."""


class GraphSession(Session, ABC):
    """A loaded graph: named arrays in, named arrays out.

    `inputs` and `outputs` give the shape by name; a dimension that is not fixed is None. `types` are the inputs'.
    """

    inputs: Mapping[str, tuple[int | None, ...]]
    outputs: Mapping[str, tuple[int | None, ...]]
    types: Mapping[str, np.dtype[Any]]

    def typed(self, inputs: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        """Return the arrays in the types that the graph takes: a float16 graph takes float16 features."""
        return {name: value.astype(self.types[name], copy=False) for name, value in inputs.items()}

    @abstractmethod
    def run(self, inputs: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        """Run the graph once and return all outputs in host memory, the device's work done."""

    def advance(
        self, inputs: dict[str, np.ndarray[Any, Any]], state: Mapping[str, Any], kept: Collection[str]
    ) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
        """Run the graph once; return its outputs in host memory but those named `kept`, and these as they are.

        What is kept is for the next call's `state`, which gives the other inputs by name (arrays at first). A session
        that can leaves it on the device; here it goes through the host.
        """
        outputs = self.run({**inputs, **state})
        left = {name: outputs.pop(name) for name in kept}
        return outputs, left


class TorchSession(Session, ABC):
    """A torch device for one checkpoint; the adapter says how the checkpoint is opened.

    `dtype` is the declared one, which every floating tensor of the checkpoint has.
    """

    device: torch.device
    dtype: torch.dtype

    @abstractmethod
    def pretrained(self, auto_class: str, unused: tuple[str, ...] = ()) -> Any:
        """Load the checkpoint with a class of transformers ("AutoModelForCTC"); return the model, adopted.

        A weight that the checkpoint lacks is an error, unless its name ends in one of `unused`: those that
        inference does not touch. Raises WorkerFailure (model, policy).
        """

    @abstractmethod
    def processor(self, auto_class: str = "AutoProcessor") -> Any:
        """Return what prepares inputs: AutoProcessor, AutoTokenizer or AutoFeatureExtractor of the checkpoint.

        Raises WorkerFailure (model) where a file it needs is not declared.
        """

    @abstractmethod
    def adopt(self, module: Any, weights: list[str]) -> None:
        """Put a module that is read from the files named `weights` on the device and enter it into the facts.

        Raises WorkerFailure (model) where it is not of the declared dtype, or not on the device alone.
        """

    @abstractmethod
    def note(self, sentence: str) -> None:
        """Enter a repair done in memory into the record."""

    @abstractmethod
    def computing(self) -> AbstractContextManager[None]:
        """Seed all generators, switch to inference mode; when left, the device has no work."""

    @abstractmethod
    def move(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tensors of a batch on the device, floating ones in the model's dtype."""


class AnswerSession(Session, ABC):
    """An engine that answers by itself and needs no adapter's help."""

    @abstractmethod
    def answer(self, sample: Sample) -> Output:
        """Return what there is for this sample."""


OptionsT = TypeVar("OptionsT", bound=Options)
SessionT = TypeVar("SessionT", bound=Session)


class Engine(ABC, Generic[OptionsT]):
    """A way to run models. Loads once, in a process of its own.

    `options_schema` is what a declaration may say to it; `packages` are the distributions whose versions, where
    installed, belong into the record.
    """

    options_schema: ClassVar[type[Options]] = Options
    packages: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: OptionsT) -> None:
        self.options = options

    @abstractmethod
    def load(self, model: Model) -> tuple[Session, ModelFacts]:
        """Load the checkpoint; the memory meter starts just before it.

        The facts say what the runtime reports after the load. Raises WorkerFailure or what the runtime throws.
        """

    @abstractmethod
    def memory(self) -> MemoryReading:
        """Return the peaks since before the checkpoint was loaded. Called after each sample: must be quick."""

    def settings(self) -> dict[str, str]:
        """Return the deterministic settings in force, by name."""
        return {}

    def close(self) -> None:
        """Let go of the device."""


class Adapter(ABC, Generic[SessionT, OptionsT]):
    """A task: how a sample becomes text.

    Options and packages are as an engine's; no name of an option may be both's. `needs` holds the kinds of
    session that it can work with.
    """

    options_schema: ClassVar[type[Options]] = Options
    packages: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[type[Session], ...]]

    def __init__(self, options: OptionsT) -> None:
        self.options = options

    @abstractmethod
    def open(self, model: Model, session: SessionT) -> None:
        """Take up the session and read the adapter's own files. Raises WorkerFailure."""

    @abstractmethod
    def infer(self, sample: Sample) -> Output:
        """Compute one sample, all of it inside the timed window; returns when the device has no work left.

        Raises WorkerFailure (input) where the sample is at fault.
        """
