"""The samples of a run: what was right beside what the model said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from orinbench_client.bundles.model import ScoredRun
from orinbench_client.bundles.results import Bundle, find_score
from orinbench_client.errors import BadInput
from orinbench_client.metrics import error_rate
from orinbench_client.report.facts import Samples
from orinbench_client.scoring.compare import aligned_pieces
from orinbench_client.scoring.score import ScoreLine
from orinbench_client.scoring.store import ScoreSummary, read_score_lines
from orinbench_client.suites import open_variant, references

#: What is longer is cut in the page: the bundle has all of it.
LONGEST_TEXT = 4000
#: Texts whose words make a larger table are not aligned: a model that repeats itself without end has one such.
_LARGEST_ALIGNMENT = 250_000


class References:
    """Right answers of suites, opened once each: the client's own, never from the board's part of a bundle."""

    def __init__(self) -> None:
        self._opened: dict[str, tuple[Mapping[str, str], str]] = {}

    def of(self, bundle: Bundle) -> tuple[Mapping[str, str], str]:
        """Return the right answer by sample id; where there are none, nothing and the reason in words."""
        if bundle.references is not None:
            return bundle.references, ""
        digest = bundle.facts.suite.digest
        if digest not in self._opened:
            self._opened[digest] = _open(bundle.facts.suite.name, digest)
        return self._opened[digest]


def _open(name: str, digest: str) -> tuple[Mapping[str, str], str]:
    try:
        suite = open_variant(name, digest)
    except BadInput as error:
        return {}, f"No references: {error}"
    if suite.digest != digest:
        return {}, f"No references: the run was made on another version of {name} than the one here ({digest[7:19]})."
    return references(suite), ""


def samples_of(run: ScoredRun, bundle: Bundle, answers: References) -> Samples:
    """Return the samples of a run with what its score says of them. Raises BadInput for a damaged score."""
    if run.counts is not None:
        return _edits(run, bundle)
    if run.grading is not None:
        return _grades(run, bundle, answers)
    found, note = answers.of(bundle)
    cost = _costs(run, bundle)
    rows = [[one.sample_id, found.get(one.sample_id), _cut(one.text), *cost[one.sample_id]] for one in bundle.samples]
    return Samples("texts", rows, note or "Not scored.")


def _costs(run: ScoredRun, bundle: Bundle) -> dict[str, list[float | None]]:
    """Return milliseconds of the timed window, joules and seconds of audio by sample; None for what was not read."""
    timing, energy = run.facts.timing, run.facts.energy_uj
    windows = timing.windows_ns if timing else None
    return {
        sample.sample_id: [
            None if windows is None else round(int(windows[place]) / 1e6, 2),
            None if energy is None else round(int(energy[place]) / 1e6, 3),
            sample.audio_seconds,
        ]
        for place, sample in enumerate(bundle.samples)
    }


def _replies(bundle: Bundle, scored: Sequence[str]) -> dict[str, str]:
    """Return what was graded, by sample. Raises BadInput for a score of samples that the run does not have."""
    said = {sample.sample_id: sample.reply for sample in bundle.samples}
    for sample_id in scored:
        if sample_id not in said:
            raise BadInput(f"{bundle.path}: its score has a sample {sample_id!r}, the run has none: score it anew")
    return said


def _edits(run: ScoredRun, bundle: Bundle) -> Samples:
    """Rows: id, pieces of the word alignment, raw text, CER, WER, and the costs."""
    _, summary = find_score(bundle.path, run.scored_by)
    assert isinstance(summary, ScoreSummary)  # noqa: S101 - what the counts were read from
    lines = read_score_lines(bundle.path, summary)
    said = _replies(bundle, [line.sample_id for line in lines])
    costs = _costs(run, bundle)
    rows = [
        [
            line.sample_id,
            _pieces(line),
            None if said[line.sample_id] == line.prediction else _cut(said[line.sample_id]),
            round(error_rate(line.characters.edits, line.characters.units), 4),
            round(error_rate(line.words.edits, line.words.units), 4),
            *costs[line.sample_id],
        ]
        for line in lines
    ]
    return Samples("edits", rows)


def _pieces(line: ScoreLine) -> list[list[str]]:
    """Return the alignment: [kind, text], or of a substitution [kind, reference, prediction]."""
    if line.reference.count(" ") * line.prediction.count(" ") > _LARGEST_ALIGNMENT:
        return [["D", _cut(line.reference)], ["I", _cut(line.prediction)]]
    return [
        ["S", step.reference, step.prediction] if step.kind == "S" else [step.kind, step.reference or step.prediction]
        for step in aligned_pieces(line)
    ]


def _grades(run: ScoredRun, bundle: Bundle, answers: References) -> Samples:
    """Rows: id, labels, reference, reply, answer, state, rule, and the costs."""
    assert run.grading is not None  # noqa: S101 - its caller looked
    found, note = answers.of(bundle)
    said = _replies(bundle, [grade.sample_id for grade in run.grading.grades])
    costs = _costs(run, bundle)
    rows: list[Sequence[Any]] = [
        [
            grade.sample_id,
            ", ".join(grade.labels),
            _cut(_right(found[grade.sample_id])) if grade.sample_id in found else None,
            _cut(said[grade.sample_id]),
            None if grade.answer is None else _cut(_plain(grade.answer)),
            grade.state,
            grade.rule,
            *costs[grade.sample_id],
        ]
        for grade in run.grading.grades
    ]
    return Samples("grades", rows, note)


def _right(reference: str) -> str:
    """Return the answer in a reference, with the options there were, numbered as in prompts."""
    try:
        value = json.loads(reference)
        answer, options = _plain(value["answer"]), value.get("options") or []
    except (ValueError, TypeError, KeyError, AttributeError):
        return reference
    return "\n".join([answer, *(f"{number}. {option}" for number, option in enumerate(options, start=1))])


def _plain(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _cut(text: str) -> str:
    more = len(text) - LONGEST_TEXT
    return text if more <= 0 else f"{text[:LONGEST_TEXT]} … (and {more} more characters: see the bundle)"
