"""Runs held against gates: what passes is on the run's board, and what is absent or void never passes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from orinbench_client.boards.build import build_board
from orinbench_client.boards.graded import build_graded
from orinbench_client.boards.selection import group_runs
from orinbench_client.bundles.model import AXES, Labelled, ScoredRun
from orinbench_client.ci.baseline import Finished, baseline_of, difference
from orinbench_client.ci.gates import parse_gate
from orinbench_client.ci.job import Case, Job, describe, judged
from orinbench_client.ci.judge import judge
from orinbench_client.ci.junit import junit
from orinbench_client.ci.metrics import METRICS
from orinbench_client.ci.summary import summary
from orinbench_client.errors import BadInput, BoardUnreachable

from tests.unit.boards.runs import make_run, violated
from tests.unit.boards.test_graded import NO, NOTHING, YES, graded
from tests.unit.ci.junit_file import read_junit


def finished(run: ScoredRun) -> Finished:
    """A run as a job has it; these have no bundle."""
    return Finished(Path("results") / run.facts.run_id, run)


def verdict(run: ScoredRun, gate: str, baseline: ScoredRun | None = None) -> tuple[bool, float | None, str]:
    """Whether a run meets a gate, by what figure, and what stood against it."""
    (found,) = judge(finished(run), [parse_gate(gate)], finished(baseline) if baseline else None)
    return found.met, found.value, found.why


def _numbers(document: Any) -> Iterator[float]:
    if isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from _numbers(part)
    elif isinstance(document, int | float):
        yield document


ASR = make_run("a")
GRADED = graded("a", [YES, NOTHING])


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_figure_is_that_of_the_board(name: str) -> None:
    """Every figure there is meets a gate at its own value and misses one just below it; it stands on the board."""
    found = 0
    for run, build in ((ASR, build_board), (GRADED, build_graded)):
        met, value, why = verdict(run, f"{name} >= 0")
        if value is None:
            assert (met, why.startswith("absent: ")) == (False, True)
            continue
        found += 1
        assert value / METRICS[name].scale in set(_numbers(build(group_runs([run])[0])))
        assert verdict(run, f"{name} <= {value:.17g}")[0]
        assert not verdict(run, f"{name} < {value:.17g}")[0]
    assert found


@pytest.mark.parametrize(
    ("gate", "changes"),
    [
        ("cer <= 9", {"scored": False}),
        ("score >= 0", {}),
        ("peak_memory_gib <= 9", {"peak": None}),
        ("peak_reserved_gib <= 9", {"peak": None}),
        ("peak_reserved_gib <= 9", {"method": "process-rss"}),
        ("rtf <= 9", {"audio": False}),
        ("p90_ms <= 9e9", {"timed": False}),
        ("energy_j <= 9e9", {"energy": None}),
        ("energy_j_per_audio_hour <= 9e9", {"audio": False}),
    ],
)
def test_what_is_absent_never_passes(gate: str, changes: dict[str, Any]) -> None:
    """A figure that the run does not have fails its gate as absent, although 0 would meet it."""
    met, value, why = verdict(make_run("a", **changes), gate)

    assert (met, value) == (False, None)
    assert why.startswith("absent: ")


@pytest.mark.parametrize("axis", AXES)
def test_what_is_void_never_passes(axis: str) -> None:
    """A violation fails the gates of the axes it voids, by its own words, and no other's."""
    gates = {"accuracy": "cer <= 9", "memory": "peak_memory_gib <= 9", "speed": "rtf <= 9", "energy": "energy_j <= 9e9"}
    run = make_run("a", violations=[violated("THROTTLED", [axis])])  # type: ignore[list-item]

    # Without its accuracy a run is ranked nowhere.
    void = set(gates) if axis == "accuracy" else {axis}
    for name, gate in gates.items():
        met, _, why = verdict(run, gate)
        assert met == (name not in void)
        assert ("seen: THROTTLED" in why) == (name in void)


def test_an_incomplete_run_says_so() -> None:
    """A run of part of a suite fails every gate, and the word INCOMPLETE's cause is there."""
    run = make_run("a", scored=False, violations=[violated("INCOMPLETE", AXES)])

    assert "seen: INCOMPLETE" in verdict(run, "cer <= 9")[2]
    assert "seen: INCOMPLETE" in verdict(run, "rtf <= 9")[2]


def test_cells_of_a_graded_run() -> None:
    """A cell of a table is named by its axes; without such a cell, table or metric the gate fails and says which."""
    cell = "type=boolean, approach=multihop"

    met, value, _ = verdict(graded("a", [YES]), f"score[{cell}, subtype=simple] >= 1")
    assert (met, value) == (True, 1.0)
    met, value, _ = verdict(GRADED, f"unparsable[{cell}, subtype=simple] <= 0")
    assert met == (value == 0)
    for gate, said in (
        (f"score[{cell}, subtype=none] >= 0", "table cells has no such cell"),
        ("score[type=boolean] >= 0", "no table has just the axes type; cells has type, approach, subtype"),
        (f"bleu[{cell}, subtype=simple] >= 0", "the cell has score, not bleu"),
        (f"score_ci[{cell}, subtype=simple] >= 0", "the cell has score, not score_ci"),
    ):
        met, value, why = verdict(GRADED, gate)
        assert (met, value) == (False, None)
        assert said in why
    assert "its suite is not graded" in verdict(ASR, "score[type=boolean] >= 0")[2]


def test_a_graded_run_that_is_clearly_worse_is_a_regression() -> None:
    """Against a baseline that is right more often the gate fails; against itself, or a worse one, it does not."""
    good, bad = graded("a", [YES]), graded("a", [NO])

    assert not verdict(bad, "regression", good)[0]
    assert verdict(good, "regression score", bad)[0]
    assert verdict(good, "regression", good)[:2] == (True, 0.0)
    assert verdict(good, "regression wer", good)[2].startswith("absent: ")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"suite": "9"}, "another suite"),
        ({"hardware": "9"}, "another hardware profile"),
        ({"contract": "9"}, "another execution contract"),
    ],
)
def test_a_baseline_of_something_else_is_refused(changes: dict[str, Any], what: str) -> None:
    """A baseline of another suite version, profile or contract is bad input, and the line names which with both."""
    with pytest.raises(BadInput, match=what):
        difference(finished(make_run("b", **changes)), finished(ASR), "cer")


def test_which_baseline_is_meant() -> None:
    """The one of the run's suite, or of its suite and model; where that is none or several it is bad input."""
    one, two, other = finished(make_run("a")), finished(make_run("b")), finished(make_run("z", suite="9"))
    suite, variant = one.run.facts.suite, other.run.facts.suite

    assert baseline_of([one], suite, "z") is one
    assert baseline_of([one, two, other], suite, "b") is two
    assert baseline_of([one, two, other], variant, "b") is other
    with pytest.raises(BadInput, match="2 baselines are of suite a-suite"):
        baseline_of([one, two], suite, "z")
    with pytest.raises(BadInput, match="needs a baseline of that suite"):
        baseline_of([one], Labelled("another", suite.digest), "a")


def test_development_and_simulation_are_shown() -> None:
    """Text, summary and JUnit carry the marks of a run under a development profile and on a simulated board."""
    run = make_run("a", violations=[violated("DEVELOPMENT_PROFILE", AXES), violated("SIMULATED", AXES)])
    job = Job([judged(finished(run), [parse_gate("cer <= 9")], [])])

    assert job.exit_code == 0
    for shown in (describe(job), summary(job), junit(job).decode()):
        assert "development profile, not comparable" in shown
        assert "SIMULATED" in shown


def test_an_official_profile_does_not_count_a_simulated_board() -> None:
    """Where figures are comparable, those of a simulated board are void, and the gate says that."""
    run = make_run("a", violations=[violated("SIMULATED", AXES)])

    assert verdict(run, "cer <= 9") == (False, None, "absent: seen: SIMULATED")


def test_junit_of_everything() -> None:
    """Met, missed, absent and never judged, with names that XML must escape or cannot hold, fit the schema."""
    gates = [parse_gate(text) for text in ("cer <= 9", "cer < 0", "energy_j <= 9e9", 'x[a="<&\u0001>"] >= 1')]
    case = judged(finished(make_run("a", energy=None)), gates, [])
    gone = Case("<s>", "&", gates[:1], error=BoardUnreachable("no \x00 answer"))
    found = read_junit(junit(Job([case, gone])))

    assert found["cer < 0"] == "failure: 0.0625"
    assert (found["energy_j <= 9000000000"] or "").startswith("failure: absent: ")
    assert found["cer <= 9"] == "error: no \ufffd answer"
    assert Job([case, gone]).exit_code == 5
    assert len(found) == 4
    # Two runs of one suite with one model: the schema wants their cases to have names of their own.
    assert read_junit(junit(Job([case, case])))


def test_a_summary_is_markdown_whatever_the_names() -> None:
    """A name with a bar, a tag or a line feed stays in its cell."""
    run = make_run("a|<b>\n# c")
    text = summary(Job([judged(finished(run), [parse_gate("cer <= 9")], [])]))

    assert "\n# c" not in text
    assert re.search(r"(?<!\\)<b>", text) is None
    assert [line.replace(r"\|", "").count("|") for line in text.splitlines() if line.startswith("| ")] == [4, 4]
