"""Named score files beside a bundle: ``scores/<name>.jsonl`` per sample, ``scores/<name>.json`` in sum.

A name binds the digests of suite, normaliser and scorer. What bears a name never changes: the same name with other
content is an error, another normaliser is another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, get_args

from orinbench_profiles.digest import canonical_json, digest_bytes, digest_file
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from orinbench_client.bundles.files import read_lines, write_file
from orinbench_client.bundles.model import Counts, IntArray
from orinbench_client.errors import BadInput
from orinbench_client.metrics import EditCounts
from orinbench_client.scoring.diagnostics import check_diagnostics
from orinbench_client.scoring.score import SCORER, SCORER_DIGEST, Score, ScoreLine, counts_of
from orinbench_client.text import Normalizer, get_normalizer
from orinbench_client.text.rules import UNICODE_VERSION

FOLDER = "scores"
_Kind = Literal["substitutions", "deletions", "insertions", "units"]
_KINDS: tuple[_Kind, ...] = get_args(_Kind)
#: The sums of edits by kind, and of the units of the references: all of them, none negative.
Totals = Annotated[dict[_Kind, Annotated[int, Field(ge=0)]], Field(min_length=len(_KINDS))]


def _named(made_by: dict[str, str]) -> dict[str, str]:
    if not {"name", "digest"} <= made_by.keys():
        raise ValueError("must have a name and a digest")
    return made_by


#: What made a score: its name and digest, and what else made it.
Maker = Annotated[dict[str, str], AfterValidator(_named)]


@dataclass(frozen=True)
class ScoredTexts:
    """What a score was made of: the suite, the texts by digest, and the normaliser the suite declares as its own."""

    suite_id: str
    suite_digest: str
    texts_digest: str
    suite_normalizer: str


class ScoreSummary(BaseModel):
    """The content of ``scores/<name>.json``. `texts_digest` binds the texts, `lines_digest` the lines beside it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    schema_: Literal["orinbench-score-1"] = Field(alias="schema")
    name: str
    suite_id: str
    suite_digest: str
    suite_normalizer: str
    texts_digest: str
    normalizer: Maker
    scorer: Maker
    samples: Annotated[int, Field(ge=1)]
    lines_digest: str
    words: Totals
    characters: Totals
    wer: float
    cer: float
    diagnostics: Annotated[dict[str, Any], AfterValidator(check_diagnostics)]

    @property
    def made_by(self) -> str:
        """The normaliser's name."""
        return self.normalizer["name"]

    @property
    def by_default(self) -> str:
        """The normaliser that counts unless another one is asked for: the suite's own."""
        return self.suite_normalizer

    def expected_name(self, suite_digest: str) -> str:
        """Return the name this score would have if it were made now. Raises BadInput for an unknown normaliser."""
        return score_name(suite_digest, get_normalizer(self.made_by))


class _Named(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def lines_digest(self) -> str: ...


def score_name(suite_digest: str, normalizer: Normalizer) -> str:
    """Return the name of a score: the normaliser, and what binds suite, normaliser and scorer."""
    bound = {"normalizer": normalizer.digest, "scorer": SCORER_DIGEST, "suite": suite_digest}
    return f"{normalizer.name}-{digest_bytes(canonical_json(bound))[7:19]}"


def has_score(bundle: Path, suite_digest: str, normalizer: Normalizer) -> bool:
    """Tell whether a bundle has the score of this suite, normaliser and scorer."""
    return (bundle / FOLDER / f"{score_name(suite_digest, normalizer)}.json").is_file()


def write_score(bundle: Path, texts: ScoredTexts, score: Score, diagnostics: Mapping[str, object]) -> ScoreSummary:
    """Write a score and return its summary. The same score again is no error.

    Raises BadInput when the name is there with other content.
    """
    name = score_name(texts.suite_digest, score.normalizer)
    lines = b"".join(canonical_json(_line(index, line)) for index, line in enumerate(score.lines))
    summary = _summary(name, texts, score, diagnostics, digest_bytes(lines))
    write_named(bundle, name, lines, canonical_json(summary.model_dump(by_alias=True)))
    return summary


def write_named(bundle: Path, name: str, lines: bytes, summary: bytes) -> None:
    """Write the two files of a score. Raises BadInput when the name is there with other content."""
    path = bundle / FOLDER / f"{name}.json"
    # The summary last: it names the digest of the lines, so a score is whole once its summary is there.
    for target, content in {path.with_suffix(".jsonl"): lines, path: summary}.items():
        if not path.exists():
            write_file(target, content)
        elif not target.exists() or target.read_bytes() != content:
            raise BadInput(f"{target}: a score of this name is there with other content: move it away to score anew")


def _line(index: int, line: ScoreLine) -> dict[str, object]:
    return {
        "index": index,
        "sample_id": line.sample_id,
        "reference": line.reference,
        "prediction": line.prediction,
        "words": line.words,
        "characters": line.characters,
    }


def _summary(
    name: str, texts: ScoredTexts, score: Score, diagnostics: Mapping[str, Any], lines_digest: str
) -> ScoreSummary:
    counts = score.counts()
    normalizer = score.normalizer
    return ScoreSummary(
        schema="orinbench-score-1",
        name=name,
        suite_id=texts.suite_id,
        suite_digest=texts.suite_digest,
        suite_normalizer=texts.suite_normalizer,
        texts_digest=texts.texts_digest,
        normalizer={"name": normalizer.name, "digest": normalizer.digest, "unicode": UNICODE_VERSION},
        scorer={**SCORER, "digest": SCORER_DIGEST},
        samples=len(score.lines),
        lines_digest=lines_digest,
        words=_totals(counts.words),
        characters=_totals(counts.characters),
        wer=counts.wer,
        cer=counts.cer,
        diagnostics=dict(diagnostics),
    )


def _totals(counts: IntArray) -> dict[_Kind, int]:
    return {kind: int(total) for kind, total in zip(_KINDS, counts.sum(axis=0), strict=True)}


def read_score_lines(bundle: Path, summary: ScoreSummary) -> list[ScoreLine]:
    """Return the scored samples of a score. Raises BadInput when they are not those the summary names."""
    return [_score_line(value, place) for place, value in read_lines_of(bundle, summary)]


def read_lines_of(bundle: Path, summary: _Named) -> Iterator[tuple[str, Any]]:
    """Yield the lines of a score with their places. Raises BadInput when they are not those the summary names."""
    return read_lines(lines_path(bundle, summary))


def lines_path(bundle: Path, summary: _Named) -> Path:
    """Return the file of a score's lines. Raises BadInput when it is not the one the summary names."""
    path = bundle / FOLDER / f"{summary.name}.jsonl"
    if not path.is_file() or digest_file(path) != summary.lines_digest:
        raise BadInput(f"{path}: missing or changed since it was written: remove both files of the score, score anew")
    return path


def _score_line(value: Any, place: str) -> ScoreLine:
    try:
        words, characters = EditCounts(*value["words"]), EditCounts(*value["characters"])
        line = ScoreLine(value["sample_id"], value["reference"], value["prediction"], words, characters)
        sound = all(type(text) is str for text in line[:3])
        sound = sound and all(type(count) is int and count >= 0 for count in words + characters)
    except (KeyError, TypeError):
        sound = False
    if not sound or not words.units or not characters.units:
        raise BadInput(f"{place}: not a line of a score")
    return line


def read_counts(bundle: Path, summary: ScoreSummary) -> Counts:
    """Return the edit counts of a score. Raises BadInput when they do not add up to what the summary says."""
    counts = counts_of(read_score_lines(bundle, summary))
    sums = (len(counts.sample_ids), _totals(counts.words), _totals(counts.characters))
    if (summary.samples, summary.words, summary.characters) != sums:
        raise BadInput(f"{bundle / FOLDER}: the lines of {summary.name} do not add up to its sums: score anew")
    return counts
