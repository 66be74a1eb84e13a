"""Boards of graded runs: what is ranked by what, what a correct answer costs, and who is not ranked."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from orinbench_client.boards.graded import build_graded
from orinbench_client.boards.output import make_files
from orinbench_client.boards.render import to_markdown
from orinbench_client.boards.selection import group_runs
from orinbench_client.bundles.model import Sample, ScoredRun
from orinbench_client.errors import BadInput
from orinbench_client.report.charts import board_charts
from orinbench_client.scoring.grades import (
    Grade,
    Grading,
    RunningGrades,
    find_scorer,
    grade_samples,
    ratio_metric,
    stats_of,
)

from tests.unit.boards.runs import SAMPLES, make_run, violated

SCORER = find_scorer("parse-upstream")
REFERENCES = {
    f"s-{index:02}": json.dumps(
        {
            "type": "boolean",
            "approach": "multihop",
            "subtype": "simple" if index % 2 else "negation",
            "difficulty": "Easy",
            "answer": index % 4 != 0,
            "options": [],
            "strategy": "zero_shot",
            "example": False,
            "stored": False,
        }
    )
    for index in range(SAMPLES)
}
YES, NO, NOTHING = '{"answer": "yes"}', '{"answer": "no"}', "hm"


def graded(model: str, replies: list[str], variant: str = "persian", **facts: Any) -> ScoredRun:
    """A run that gave `replies`, over and over."""
    samples = [Sample(key, replies[index % len(replies)]) for index, key in enumerate(REFERENCES)]
    grades = grade_samples(samples, REFERENCES, SCORER)
    floors, made_with = SCORER.floors(REFERENCES), SCORER.made_with(REFERENCES)
    grading = Grading(SCORER.name, "sha256:" + "f" * 64, {"language": variant}, grades, floors, made_with)
    run = make_run(model, suite={"persian": "1", "english": "2"}[variant], **facts)
    return replace(run, scored_by=SCORER.name, counts=None, grading=grading)


def board_of(*runs: ScoredRun) -> dict[str, Any]:
    """The document of the one board they make."""
    (group,) = group_runs(runs)
    return build_graded(group)


def test_energy_of_a_correct_answer() -> None:
    """Two runs of the same energy: a correct answer of the better one costs less, and it is ranked first."""
    board = board_of(graded("a", [YES], energy=2.0), graded("b", [NO], energy=2.0))["boards"]["energy"]

    assert board["ranked_by"] == "energy_j_per_correct_answer"
    assert [row["model"] for row in board["rows"]] == ["a", "b"]
    costs = [row["energy_j_per_correct_answer"] for row in board["rows"]]
    assert costs == pytest.approx([2.0 / 0.75, 2.0 / 0.25])


def test_never_right_has_no_energy_a_correct_answer() -> None:
    """Where no answer is right there is no such figure, neither infinite nor zero: the others are ranked by it."""
    document = board_of(graded("a", [NOTHING]), graded("b", [YES]), graded("c", [NO]))
    board = document["boards"]["energy"]

    assert board["ranked_by"] == "energy_j_per_correct_answer"
    assert [(row["model"], row.get("rank")) for row in board["rows"]] == [("b", 1), ("c", 2), ("a", None)]
    assert "energy_j_per_correct_answer" not in board["rows"][-1]
    assert re.search(r"\n\|  \| a \|  \| 1.500 \|", to_markdown(document))
    (chart,) = [chart for chart in board_charts(document, "") if chart.name.startswith("energy")]
    assert ">c<" in chart.svg
    assert ">a<" not in chart.svg


def test_nobody_right_is_ranked_by_nothing() -> None:
    """A board on which no model is ever right shows their energy and ranks nobody by it."""
    board = board_of(graded("a", [NOTHING]), graded("b", [NOTHING]))["boards"]["energy"]

    assert "ranked_by" not in board
    assert not any("rank" in row for row in board["rows"])


def test_memory_is_ranked_by_what_it_brings() -> None:
    """Less memory does not help a model that is always wrong; methods are ranked apart."""
    runs = [graded("right", [YES], peak=4), graded("wrong", [NOTHING], peak=1)]
    board = board_of(*runs, graded("other", [YES], peak=1, method="process-rss"))["boards"]["memory"]

    assert board["methods"] == ["process-rss", "torch-reserved"]
    assert [(row["model"], row["rank"], row["score_pct_per_gib"]) for row in board["rows"]] == [
        ("other", 1, 75.0),
        ("right", 1, 75.0 / 4),
        ("wrong", 2, 0.0),
    ]


def test_absent_readings_make_no_board() -> None:
    """Without readings there is no board of them; nothing is empty or zero."""
    board = board_of(graded("a", [YES], peak=None, timed=False, energy=None))

    assert {"accuracy", "cells", "difficulty", "floors"} == set(board["boards"])


def test_variants_share_a_board_and_are_ranked_apart() -> None:
    """Runs of two variants of one suite stand in one document, each ranked among its own."""
    board = board_of(graded("a", [YES]), graded("b", [NO]), graded("a", [NO], "english", run="other"))

    rows = board["boards"]["accuracy"]["rows"]
    assert [(row["language"], row["model"], row["rank"]) for row in rows] == [
        ("english", "a", 1),
        ("persian", "a", 1),
        ("persian", "b", 2),
    ]
    assert [len(variant["runs"]) for variant in board["variants"]] == [1, 2]
    assert len(board["boards"]["accuracy"]["comparisons"]) == 1


def test_unranked_runs_alone_make_a_board_that_says_so() -> None:
    """Where no run can be ranked, every file is still made, and names run and cause."""
    files = make_files([graded("a", [YES], violations=[violated("INCOMPLETE", ["accuracy"])])])

    document = json.loads(files["leaderboard.json"])
    assert document["boards"] == {}
    assert [row["cause"] for row in document["unranked"]] == ["seen: INCOMPLETE"]
    assert "No run is ranked." in files["leaderboard.md"].decode()


def test_later_run_of_a_model_replaces_the_earlier_in_its_variant_alone() -> None:
    """Of two runs of one model the later counts; a run of another variant is no later run of it."""
    runs = [graded("a", [YES], run="one", end_ns=1), graded("a", [NO], run="two", end_ns=2)]
    board = board_of(*runs, graded("a", [YES], "english", run="three", end_ns=3))

    assert {run["run_id"] for variant in board["variants"] for run in variant["runs"]} == {"two", "three"}
    assert [row["run_id"] for row in board["unranked"]] == ["one"]


def test_equal_outputs_are_equal_rows() -> None:
    """Two runs with the same outputs have the same accuracy and cells, whatever else was measured."""
    boards = [
        board_of(graded("a", [YES, NO], run=name, energy=e))["boards"] for name, e in (("one", 1.0), ("two", 9.0))
    ]

    for name in ("accuracy", "cells", "difficulty", "floors"):
        assert boards[0][name] == boards[1][name]
    assert boards[0]["energy"] != boards[1]["energy"]


def test_running_figure() -> None:
    """While a run goes on its score so far is shown with an interval inside 0 and 1, and what could not be read."""
    running = RunningGrades(REFERENCES, SCORER)
    assert not running.figures
    for index, key in enumerate(REFERENCES):
        running.add(key, NOTHING if index == 7 else YES)

    ((name, rate),) = running.figures
    assert (name, running.remark) == ("score", "1 unparsable")
    assert rate.value == pytest.approx(14 / 20)
    assert rate.interval is not None
    assert 0 < rate.interval.lo < rate.value < rate.interval.hi <= 1


def test_other_samples_under_one_digest() -> None:
    """As many grades of other samples are not compared: something is forged or damaged."""
    run = graded("b", [NO])
    assert run.grading is not None
    grades = [grade._replace(sample_id=run.grading.grades[0].sample_id) for grade in run.grading.grades]

    with pytest.raises(BadInput, match="not the same samples"):
        board_of(graded("a", [YES]), replace(run, grading=replace(run.grading, grades=grades)))


def test_lower_is_better_metric() -> None:
    """A metric such as a word error rate is a ratio of sums, may exceed 1, and knows that less is better."""
    metric = ratio_metric("wer", higher_is_better=False)
    stats = stats_of([Grade("a", (), "ok", "", None, (9, 4)).stats, (0, 2)])

    assert (metric.value(stats), metric.higher_is_better) == (1.5, False)
