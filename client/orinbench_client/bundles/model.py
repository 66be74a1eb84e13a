"""The one form in memory that scores and boards read, whatever the bundle on the disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from orinbench_client.scoring.grades import Grading

IntArray = npt.NDArray[np.int64]
Axis = Literal["accuracy", "memory", "speed", "energy"]
AXES: tuple[Axis, ...] = ("accuracy", "memory", "speed", "energy")
Origin = Literal["orinbench", "peste-1", "peste-2", "parse-upstream"]
#: What a signature is worth to whoever reads the bundle.
Standing = Literal["trusted", "unknown", "invalid"]
SUCCEEDED = "succeeded"


@dataclass(frozen=True)
class Sample:
    """What a model said to one sample. `audio_seconds` is None where the input is no audio or its length unknown.

    `answer` is the text without what a thinking model thought, as its adapter told them apart; None where it did not.
    """

    sample_id: str
    text: str
    audio_seconds: float | None = None
    answer: str | None = None

    @property
    def reply(self) -> str:
        """What is to be graded."""
        return self.text if self.answer is None else self.answer


@dataclass(frozen=True)
class Labelled:
    """The digest by which something is compared, and the name by which it is shown."""

    name: str
    digest: str


@dataclass(frozen=True)
class Violation:
    """Something that voids axes of a run: UPPER_SNAKE reason, words for people, the axes."""

    reason: str
    message: str
    voids: frozenset[Axis]


@dataclass(frozen=True)
class Memory:
    """Peak memory. `method` names how the headline number was taken; `peak_bytes` is that number, None if unread.

    The other readings, in bytes, stand beside it; None where there is none.
    """

    method: str
    peak_bytes: int | None
    reserved_bytes: int | None = None
    allocated_bytes: int | None = None
    rss_bytes: int | None = None


@dataclass(frozen=True)
class ModelFacts:
    """What is known of the model as loaded; None where it is not."""

    parameter_count: int | None = None
    checkpoint_bytes: int | None = None
    native_dtype: str | None = None


@dataclass(frozen=True)
class Timing:
    """How long a run took: nanoseconds of the timed windows and of the audio.

    `windows_ns` and `audio_ns` are per sample, int64 (samples,), None where only totals were recorded or the input
    is no audio. The totals are always there, `total_audio_ns` where there is audio.
    """

    total_window_ns: int
    total_audio_ns: int | None
    windows_ns: IntArray | None = None
    audio_ns: IntArray | None = None


@dataclass(frozen=True)
class Counts:
    """Per-sample edit counts of a score, int64 (samples, 4): substitutions, deletions, insertions, reference units."""

    sample_ids: tuple[str, ...]
    words: IntArray
    characters: IntArray
    #: Contiguous (samples,) sums, as the bootstrap takes them.
    word_edits: IntArray = field(init=False)
    word_units: IntArray = field(init=False)
    character_edits: IntArray = field(init=False)
    character_units: IntArray = field(init=False)

    def __post_init__(self) -> None:
        for name, counts in (("word", self.words), ("character", self.characters)):
            object.__setattr__(self, f"{name}_edits", np.ascontiguousarray(counts[:, :3].sum(axis=1)))
            object.__setattr__(self, f"{name}_units", np.ascontiguousarray(counts[:, 3]))

    @property
    def wer(self) -> float:
        """Corpus word error rate."""
        return int(self.word_edits.sum()) / int(self.word_units.sum())

    @property
    def cer(self) -> float:
        """Corpus character error rate."""
        return int(self.character_edits.sum()) / int(self.character_units.sum())


@dataclass(frozen=True)
class RunFacts:
    """What a bundle says of its run, its samples and scores apart.

    `causes` are reasons for which the run cannot be ranked at all, found when it was imported or read. `end_ns`
    orders runs of one model (since the epoch, 0 where not recorded). `energy_uj` is int64 (samples,) in microjoules.
    `unread` names an axis whose readings are there but unusable, with the cause. `key_id` is the key of the board that
    signed the run, "" where none did; `standing` is what that is worth, None where boards do not sign (imports).
    `first`: the submitter asked for so many samples of the suite's beginning only; None for all of them.
    """

    run_id: str
    origin: Origin
    suite: Labelled
    model: Labelled
    hardware: Labelled
    contract: Labelled
    state: str
    failure: str | None = None
    causes: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()
    memory: Memory | None = None
    timing: Timing | None = None
    energy_uj: IntArray | None = None
    unread: Mapping[Axis, str] = field(default_factory=dict)
    facts: ModelFacts = field(default_factory=ModelFacts)
    end_ns: int = 0
    key_id: str = ""
    standing: Standing | None = None
    #: By what name the key is trusted, where it is.
    signer: str = ""
    first: int | None = None


@dataclass(frozen=True)
class ScoredRun:
    """A run with one of its scores: what boards are made of. Without a score both `counts` and `grading` are None.

    `scored_by` is the normaliser whose edits are in `counts`, or the scorer whose grades are in `grading`.
    """

    facts: RunFacts
    scored_by: str
    counts: Counts | None = None
    diagnostics: Mapping[str, object] = field(default_factory=dict)
    grading: Grading | None = None
