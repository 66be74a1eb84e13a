"""Boards of a suite with variants and many tasks: paired differences, energy of right answers, all suites on a page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from orinbench_client.boards.graded import build_graded
from orinbench_client.boards.output import make_files
from orinbench_client.boards.selection import group_runs
from orinbench_client.bundles.model import Labelled, ScoredRun
from orinbench_client.parsa.scorer import ParsaScorer
from orinbench_client.scoring.grades import Grading
from orinbench_client.statistics import draw_indices, percentile_interval

from tests.unit.boards.runs import SAMPLES, make_run

SCORER = ParsaScorer("parsa-1")
LABELS: list[list[object]] = [["male", [], None], ["female", [], None]]


def reference(task: str, answer: str, kind: str = "label", metric: str = "accuracy") -> str:
    """A right answer as the suite gives it."""
    return json.dumps(
        {"dimension": "speech", "task": task, "kind": kind, "metric": metric, "answer": answer, "labels": LABELS}
    )


REFERENCES = {
    f"s{place:02}": reference("gender", ("male", "female")[place % 2])
    if place < SAMPLES // 2
    else reference("asr", "سلام دنیا", "transcript", "wer")
    for place in range(SAMPLES)
}


def graded(condition: str, replies: list[str], references: dict[str, str] = REFERENCES, model: str = "m") -> ScoredRun:
    """A run of one condition that gave these replies; every sample took a joule and a half."""
    given = zip(references.items(), replies, strict=True)
    grades = [SCORER.grade(sample_id, reply, answer) for (sample_id, answer), reply in given]
    run = make_run(model, run=f"{model}-{condition}", suite=condition[0], energy=1.5)
    grading = Grading(
        "parsa-1",
        "sha256:" + "f" * 64,
        {"condition": condition},
        grades,
        SCORER.floors(references),
        SCORER.made_with(references),
    )
    return replace(run, scored_by="parsa-1", counts=None, grading=grading)


HEARD = ["male"] * (SAMPLES // 2) + ["سلام"] * (SAMPLES // 2)
READ = ["male", "female"] * (SAMPLES // 4) + ["سلام دنیا"] * (SAMPLES // 2)


def test_a_difference_is_paired_by_sample() -> None:
    """Its interval is that of drawing the same samples of both runs; all runs of the model share the draws."""
    (group,) = group_runs([graded("zero-shot", HEARD), graded("text-only", READ)])
    rows = {row["task"]: row for row in build_graded(group)["boards"]["contrasts"]}

    right = np.array([place % 2 == 0 for place in range(SAMPLES // 2)], dtype=float)
    drawn = np.concatenate([right[indices].mean(axis=1) - 1.0 for indices in draw_indices(SAMPLES // 2)])
    assert rows["gender"]["difference"] == -0.5
    assert rows["gender"]["ci"] == pytest.approx(list(percentile_interval(drawn)))
    assert rows["gender"]["resolved"]
    assert (rows["asr"]["first"], rows["asr"]["second"], rows["asr"]["difference"]) == (0.5, 0, 0.5)


def test_other_data_or_another_model_make_no_pair() -> None:
    """Runs are compared only where model and right answers are the same."""
    other = {**REFERENCES, "s00": reference("gender", "female")}
    for second in (graded("text-only", READ, other), graded("text-only", READ, model="n")):
        (group,) = group_runs([graded("zero-shot", HEARD), second])
        assert "contrasts" not in build_graded(group)["boards"]


def test_energy_of_a_right_answer_counts_only_tasks_that_have_some() -> None:
    """Ten classified samples of 1.5 J with five right are 3 J each; the transcripts' energy is left out."""
    (group,) = group_runs([graded("zero-shot", HEARD)])
    boards = build_graded(group)["boards"]
    assert boards["energy"]["rows"][0]["energy_j_per_correct_answer"] == 3.0
    assert [(row["task"], row["energy_j_per_correct_answer"]) for row in boards["energy-by-cell"]] == [("gender", 3.0)]


def test_one_page_has_what_every_suite_says_of_a_model() -> None:
    """A row a model: the error rate of one suite, the tasks above their floor of another, nothing averaged."""
    asr = make_run("m", run="asr")
    asr = replace(asr, facts=replace(asr.facts, suite=Labelled("asr-suite", asr.facts.suite.digest)))
    files = make_files([asr, graded("zero-shot", HEARD), graded("text-only", READ)])

    (row,) = json.loads(files["summary.json"])["models"]
    assert row["suites"]["asr-suite"]["metric"] == "CER"
    said = row["suites"]["a-suite (text-only)"]
    assert (said["cells"], said["above_floor"], said["refused"], said["n"]) == (2, 2, 0, SAMPLES)
    assert "1 of 2 tasks above their floor; 20 replies" in files["summary.md"].decode()
    assert b"summary.md" in files["leaderboards.md"]


@pytest.mark.parametrize(("field", "column"), [("contract", "execution"), ("hardware", "hardware")])
def test_what_has_another_digest_has_a_row_of_its_own(field: str, column: str) -> None:
    """One model measured under two contracts, or profiles, of the same name: neither figure takes the other's place."""
    one: dict[str, Any] = {field: "1"}
    two: dict[str, Any] = {field: "2"}
    files = make_files([make_run("m", run="one", edits=1, **one), make_run("m", run="two", edits=7, **two)])

    first, second = json.loads(files["summary.json"])["models"]
    assert (first[column][-9:], second[column][-9:]) == ("@11111111", "@22222222")
    assert first["suites"]["a-suite"]["score"] < second["suites"]["a-suite"]["score"]
    page = files["summary.md"].decode()
    assert "@11111111" in page
    assert "@22222222" in page
    assert ("| Execution |" in page) == (column == "execution")
