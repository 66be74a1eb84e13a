"""Named scores made of grades, beside a bundle like those made of edits: ``scores/<name>.jsonl`` and ``.json``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from orinbench_profiles import SuiteDeclaration
from orinbench_profiles.digest import canonical_json, digest_bytes
from orinbench_profiles.schema import Name
from pydantic import BaseModel, ConfigDict, Field

from orinbench_client.bundles.model import Labelled
from orinbench_client.errors import BadInput
from orinbench_client.scoring.grades import Floor, Grade, Grading, Scorer, State, find_scorer, stats_of
from orinbench_client.scoring.store import Maker, lines_path, write_named
from orinbench_client.suites.base import suite_family

_STATES = get_args(State)


@dataclass(frozen=True)
class GradedTexts:
    """What grades were made of: suite, declaration, and texts by digest; the floors, and what else made them."""

    suite: Labelled
    declaration: SuiteDeclaration
    texts_digest: str
    floors: Sequence[Floor]
    made_with: Mapping[str, str]


class StoredFloor(BaseModel):
    """A floor in the summary of a score."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    labels: dict[str, str]
    answer: str
    value: float


class GradeSummary(BaseModel):
    """The content of ``scores/<name>.json``. `value` is None where the scorer has no figure for all samples."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    schema_: Literal["orinbench-grades-1"] = Field(default="orinbench-grades-1", alias="schema")
    name: str
    suite_id: str
    suite_digest: str
    suite_family: str
    suite_scorer: str
    # Its words become names of files.
    variant: dict[Name, Name]
    texts_digest: str
    scorer: Maker
    samples: Annotated[int, Field(ge=1)]
    lines_digest: str
    states: dict[str, int]
    metric: str | None
    value: float | None
    floors: list[StoredFloor]

    @property
    def made_by(self) -> str:
        """The scorer's name."""
        return self.scorer["name"]

    @property
    def by_default(self) -> str:
        """The scorer that counts unless another one is asked for: the suite's own."""
        return self.suite_scorer

    def expected_name(self, suite_digest: str) -> str:
        """Return the name this score would have if it were made now. Raises BadInput for an unknown scorer."""
        return grades_name(suite_digest, find_scorer(self.made_by))


def grades_name(suite_digest: str, scorer: Scorer) -> str:
    """Return the name of a score: the scorer, and what binds it to the suite."""
    bound = {"scorer": scorer.digest, "suite": suite_digest}
    return f"{scorer.name}-{digest_bytes(canonical_json(bound))[7:19]}"


def write_grades(bundle: Path, texts: GradedTexts, grades: Sequence[Grade], scorer: Scorer) -> GradeSummary:
    """Write a score and return its summary. The same score again is no error.

    Raises BadInput when the name is there with other content, and when there is nothing to grade.
    """
    if not grades:
        raise BadInput(f"{bundle}: {scorer.name} grades none of its samples")
    lines = b"".join(canonical_json(grade._asdict()) for grade in grades)
    metric = next(iter(scorer.metrics({})), None)
    summary = GradeSummary(
        name=grades_name(texts.suite.digest, scorer),
        suite_id=texts.suite.name,
        suite_digest=texts.suite.digest,
        suite_family=suite_family(texts.declaration),
        suite_scorer=texts.declaration.scorer,
        variant=texts.declaration.variant,
        texts_digest=texts.texts_digest,
        scorer={"name": scorer.name, "digest": scorer.digest, **texts.made_with},
        samples=len(grades),
        lines_digest=digest_bytes(lines),
        states=dict(Counter(grade.state for grade in grades)),
        metric=None if metric is None else metric.name,
        value=None if metric is None else metric.value(stats_of([grade.stats for grade in grades])),
        floors=[StoredFloor(**{**floor._asdict(), "labels": dict(floor.labels)}) for floor in texts.floors],
    )
    write_named(bundle, summary.name, lines, canonical_json(summary.model_dump(by_alias=True)))
    return summary


def read_grading(bundle: Path, summary: GradeSummary) -> Grading:
    """Return the grades of a score. Raises BadInput when they are not those that the summary names and describes."""
    path = lines_path(bundle, summary)
    labels = len(find_scorer(summary.made_by).axes)
    # Its digest says that the file is as it was written here, so that it can be read in one go: several times faster.
    try:
        grades = [_grade(value) for value in json.loads(b"[" + path.read_bytes().rstrip().replace(b"\n", b",") + b"]")]
        cells = {(grade.labels, len(grade.stats)) for grade in grades}
        sound = all(len(own) == labels and all(type(label) is str for label in own) for own, _ in cells)
        # Grades of one cell are added up.
        sound = sound and len(cells) == len({own for own, _ in cells}) and all(map(_is_sound, grades))
    except (ValueError, KeyError, TypeError):
        sound = False
    if not sound or len(grades) != summary.samples or not grades:
        raise BadInput(f"{path}: not the lines of a score")
    floors = [Floor(floor.labels, floor.answer, floor.value) for floor in summary.floors]
    return Grading(summary.made_by, summary.suite_family, summary.variant, grades, floors, summary.scorer)


def _is_sound(grade: Grade) -> bool:
    said = type(grade.sample_id) is type(grade.rule) is str and grade.state in _STATES
    return said and all(type(number) is int for number in grade.stats)


def _grade(value: Any) -> Grade:
    return Grade(
        value["sample_id"],
        tuple(value["labels"]),
        value["state"],
        value["rule"],
        value["answer"],
        tuple(value["stats"]),
    )
