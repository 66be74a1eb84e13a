"""What ranks where: groups, eligibility by axis, order, fronts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from orinbench_client.boards.build import build_board
from orinbench_client.boards.figures import Figures
from orinbench_client.boards.output import folder_name
from orinbench_client.boards.pareto import Point, dominates
from orinbench_client.boards.selection import Group, group_runs
from orinbench_client.boards.summary import summarise
from orinbench_client.bundles.model import AXES, Labelled, ScoredRun
from orinbench_client.errors import BadInput
from orinbench_client.statistics import percentile_interval

from tests.unit.boards.runs import SAMPLES, make_run, violated


def board_of(*runs: ScoredRun) -> dict[str, Any]:
    """The one board that the runs make."""
    (group,) = group_runs(runs)
    return build_board(group)


def of_suite(name: str, run: ScoredRun) -> ScoredRun:
    """The run under another name of its suite."""
    return replace(run, facts=replace(run.facts, suite=Labelled(name, run.facts.suite.digest)))


def ranked(board: dict[str, Any], name: str = "accuracy") -> list[str]:
    return [row["model_id"] for row in board["boards"].get(name, {"rows": []})["rows"]]


def causes(board: dict[str, Any]) -> dict[str, tuple[tuple[str, ...], str]]:
    return {entry["run_id"]: (tuple(entry["axes"]), entry["cause"]) for entry in board["unranked"]}


@pytest.mark.parametrize("field", ["suite", "hardware", "contract"])
def test_groups_differ_by_each_part_of_the_key(field: str) -> None:
    """Another suite digest, hardware profile or execution contract is another board."""
    other: dict[str, Any] = {field: "9"}
    runs = [make_run("a"), make_run("b"), make_run("c", **other)]

    assert [len(group.runs) for group in group_runs(runs)] in ([2, 1], [1, 2])


@pytest.mark.parametrize("seed", range(3))
def test_order_of_the_folder_does_not_matter(seed: int) -> None:
    """The board is the same whatever order the runs are found in."""
    runs = [make_run(f"model-{index}", edits=index % 3) for index in range(7)]
    shuffled = random.Random(seed).sample(runs, len(runs))

    assert board_of(*runs) == board_of(*shuffled)


def test_accuracy_order_and_ties() -> None:
    """CER first, then WER, then the model's id."""
    runs = [
        make_run("d", edits=2),
        make_run("b", edits=1),
        make_run("a", edits=1),
        make_run("c", edits=1, word_edits=0),
    ]

    assert ranked(board_of(*runs)) == ["c", "a", "b", "d"]


def test_failed_run_is_listed_where_its_board_is() -> None:
    """A failed run makes no board of its own beside others: it is listed with its cause, on every axis."""
    board = board_of(make_run("a"), make_run("b", state="failed", failure="oom: no memory", hardware="0"))

    assert ranked(board) == ["a"]
    assert causes(board) == {"run-b": (AXES, "oom: no memory")}


def test_failed_runs_alone_still_make_a_board() -> None:
    """With nothing but failures there is a board that says so, without a figure."""
    board = board_of(make_run("a", state="failed", failure="hung: no progress"))

    assert ranked(board) == []
    assert board["boards"]["accuracy"]["comparisons"] == []
    assert set(board["boards"]) == {"accuracy"}
    assert causes(board) == {"run-a": (AXES, "hung: no progress")}


def test_run_of_a_suite_without_a_board_is_listed_too() -> None:
    """A failed run and a forged one, alone of their suites, are each listed with their cause beside another's board."""
    failed = of_suite("b-suite", make_run("b", suite="1", state="failed", failure="oom: no memory"))
    forged = of_suite("c-suite", make_run("c", suite="2", causes=("the signature does not hold",)))
    boards = {group.suite.name: build_board(group) for group in group_runs([make_run("a"), failed, forged])}

    assert {suite: ranked(board) for suite, board in boards.items()} == {"a-suite": ["a"], "b-suite": [], "c-suite": []}
    assert causes(boards["a-suite"]) == {}
    assert causes(boards["b-suite"]) == {"run-b": (AXES, "oom: no memory")}
    assert causes(boards["c-suite"]) == {"run-c": (AXES, "the signature does not hold")}


def test_run_without_score() -> None:
    """A run that was never scored is listed, not ranked as wrong."""
    board = board_of(make_run("a"), make_run("b", scored=False))

    assert "orinbench score" in causes(board)["run-b"][1]


def test_last_native_run_of_a_model_ranks() -> None:
    """Of several native runs of one model the one that ended last ranks; the others name it."""
    board = board_of(make_run("a", run="one", end_ns=5), make_run("a", run="two", end_ns=7), make_run("b"))

    assert [run["run_id"] for run in board["runs"]] == ["two", "run-b"]
    assert causes(board) == {"one": (AXES, "superseded by two, a later run of the model")}


def test_later_run_that_does_not_count_supersedes_nothing() -> None:
    """A later run that failed or is void leaves the earlier one in its place."""
    void = make_run("a", run="void", end_ns=9, violations=[violated("INCOMPLETE", AXES)])
    board = board_of(make_run("a", end_ns=5), make_run("a", run="bad", end_ns=8, state="failed"), void)

    assert ranked(board) == ["a"]
    assert set(causes(board)) == {"bad", "void"}


def test_violation_voids_its_axes_only() -> None:
    """A throttled run keeps accuracy and memory, loses speed and energy, and says why."""
    board = board_of(make_run("a"), make_run("b", violations=[violated("THROTTLED", ["speed", "energy"])]))

    assert ranked(board) == ["a", "b"]
    assert ranked(board, "memory") == ["a", "b"]
    assert ranked(board, "speed") == ranked(board, "energy") == ["a"]
    assert causes(board) == {"run-b": (("speed", "energy"), "seen: THROTTLED")}
    assert [point["model_id"] for point in board["boards"]["pareto"]["cer_rtf"]["points"]] == ["a"]


def test_memory_violation_hides_the_efficiency() -> None:
    """A run void on memory has no efficiency beside its accuracy either."""
    board = board_of(make_run("a", violations=[violated("MEMORY_METHOD", ["memory"])]))

    assert "memory_efficiency" not in board["boards"]["accuracy"]["rows"][0]
    assert "memory" not in board["boards"]


def test_accuracy_rows_are_reproducible() -> None:
    """Two runs with the same outputs but another id, resident set and time have the same accuracy rows."""
    first = board_of(make_run("a", run="one", peak=2, method="process-rss", window_ms=50))
    second = board_of(make_run("a", run="two", peak=3, method="process-rss", window_ms=90))

    assert first["boards"]["accuracy"] == second["boards"]["accuracy"]
    assert first["boards"]["memory"] != second["boards"]["memory"]


def test_development_profile() -> None:
    """On a development profile complete runs rank among themselves under a heading; incomplete ones do not."""
    development = violated("DEVELOPMENT_PROFILE", AXES)
    board = board_of(
        make_run("a", violations=[development, violated("ISOLATION_LOW", AXES)]),
        make_run("b", violations=[development, violated("RESUMED", ["speed", "energy"])]),
        make_run("c", violations=[development, violated("INCOMPLETE", AXES)]),
    )

    assert board["heading"] == "development profile, not comparable"
    assert ranked(board) == ["a", "b"]
    assert ranked(board, "speed") == ["a"]
    assert causes(board)["run-c"] == (AXES, "seen: INCOMPLETE")


def test_one_run_of_development_frees_no_other() -> None:
    """A run that calls its profile one for development stands apart: no other's board and causes change by it."""
    forged = make_run("a", run="forged", edits=0, violations=[violated("DEVELOPMENT_PROFILE", AXES)])
    runs = [make_run("a"), make_run("b", violations=[violated("SIMULATED", AXES)])]
    official, own = (build_board(group) for group in group_runs([*runs, forged]))
    summary = summarise([official, own])

    assert official == board_of(*runs)
    assert (official["heading"], ranked(official), list(causes(official))) == (None, ["a"], ["run-b"])
    assert (own["heading"], ranked(own)) == ("development profile, not comparable", ["a"])
    assert [row["hardware"] for row in summary["models"]] == ["a-board", "a-board, development profile, not comparable"]
    assert len({folder_name(group) for group in group_runs([*runs, forged])}) == 2


def test_official_violations_void_everything_elsewhere() -> None:
    """On any other profile a simulated run ranks nowhere."""
    board = board_of(make_run("a"), make_run("b", violations=[violated("SIMULATED", AXES)]))

    assert board["heading"] is None
    assert ranked(board) == ["a"]


def test_memory_methods_are_never_ranked_together() -> None:
    """Each method has ranks of its own, and two methods have no common Pareto front."""
    board = board_of(
        make_run("a", peak=4),
        make_run("b", peak=2),
        make_run("c", peak=1, method="process-rss"),
        make_run("d", peak=None),
    )
    rows = board["boards"]["memory"]["rows"]

    assert board["boards"]["memory"]["methods"] == ["process-rss", "torch-reserved"]
    assert [(row["memory_method"], row["rank"], row["model_id"]) for row in rows] == [
        ("process-rss", 1, "c"),
        ("torch-reserved", 1, "b"),
        ("torch-reserved", 2, "a"),
    ]
    assert "cer_memory" not in board["boards"]["pareto"]


def test_absent_readings_have_no_board() -> None:
    """Without time, energy or memory there are no such boards: nothing is shown as zero."""
    board = board_of(make_run("a", peak=None, timed=False, energy=None))

    assert set(board["boards"]) == {"accuracy"}
    assert not [name for name in board["boards"]["accuracy"]["rows"][0] if "memory" in name or "gib" in name]


def test_speed_figures() -> None:
    """RTF is window over audio, throughput its inverse, p90 a sample's; the quicker run is first."""
    board = board_of(make_run("slow", window_ms=300), make_run("quick", window_ms=100))
    quick, slow = board["boards"]["speed"]["rows"]

    assert (quick["model_id"], slow["model_id"]) == ("quick", "slow")
    assert quick["rtf"] == pytest.approx(0.01, rel=0.1)
    assert quick["throughput_x"] == pytest.approx(1 / quick["rtf"])
    assert quick["rtf_ci"][0] <= quick["rtf"] <= quick["rtf_ci"][1]
    assert quick["window_p50_s"] <= quick["window_p90_s"]


def test_energy_figures() -> None:
    """Energy is per hour of audio where there is audio, and per sample always."""
    (row,) = board_of(make_run("a", energy=2.0))["boards"]["energy"]["rows"]

    assert row["energy_j"] == pytest.approx(2.0 * SAMPLES)
    assert row["energy_j_per_sample"] == pytest.approx(2.0)
    assert row["energy_j_per_audio_hour"] == pytest.approx(2.0 / 10 * 3600)
    assert row["energy_j_per_audio_hour_ci"] == pytest.approx([720.0, 720.0])


def test_text_suite_ranks_by_seconds_a_sample() -> None:
    """Without audio there is no RTF: speed and energy rank by sample."""
    board = board_of(make_run("a", audio=False, window_ms=200), make_run("b", audio=False, window_ms=100))

    assert ranked(board, "speed") == ["b", "a"]
    assert board["boards"]["speed"]["ranked_by"] == "window_mean_s"
    assert board["boards"]["energy"]["ranked_by"] == "energy_j_per_sample"
    assert "rtf" not in board["boards"]["speed"]["rows"][0]


def test_comparison_words() -> None:
    """Neighbours are compared in the published words: resolved only if the interval excludes zero."""
    board = board_of(make_run("a", edits=1), make_run("b", edits=1), make_run("c", edits=9))
    first, second = board["boards"]["accuracy"]["comparisons"]

    assert (first["resolved"], first["verdict"]) == (False, "No clear difference")
    assert (second["resolved"], second["verdict"]) == (True, "First model has lower CER")
    assert first["ci"] == [0.0, 0.0]


def test_paired_interval_is_paired() -> None:
    """The interval of a difference is that of the per-replicate differences, not of two intervals."""
    one, two = make_run("a", edits=3), make_run("b", edits=5)
    figures = Figures([one, two])
    indices = np.random.default_rng(20250731).integers(0, SAMPLES, size=(10_000, SAMPLES), dtype=np.int64)
    rates = []
    for run in (one, two):
        assert run.counts is not None
        edits, units = run.counts.character_edits, run.counts.character_units
        rates.append(edits[indices].sum(axis=1) / units[indices].sum(axis=1))

    assert percentile_interval(rates[0] - rates[1]) == figures.cer_difference("run-a", "run-b")


def test_unsupported_dominance() -> None:
    """A run that is better on both counts dominates; whether the samples support it is said apart."""
    board = board_of(make_run("a", edits=1, peak=1), make_run("b", edits=1, peak=2), make_run("c", edits=9, peak=3))
    edges = {
        (edge["dominating"], edge["dominated"]): edge["supported"]
        for edge in board["boards"]["pareto"]["cer_memory"]["dominance"]
    }

    assert edges == {("a", "b"): False, ("a", "c"): True, ("b", "c"): True}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_dominance_is_a_strict_order(pairs: list[tuple[int, int]]) -> None:
    """Nothing dominates itself or what dominates it, dominance is transitive, and some point is undominated."""
    points = [Point(str(index), str(index), cer, cost) for index, (cer, cost) in enumerate(pairs)]
    for one in points:
        assert not dominates(one, one)
        for two in points:
            assert not (dominates(one, two) and dominates(two, one))
            assert all(dominates(one, three) for three in points if dominates(one, two) and dominates(two, three))

    assert not points or any(not any(dominates(other, one) for other in points) for one in points)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.sampled_from(["ok", "failed", "stale", "dev", "old"]), min_size=1, max_size=8))
def test_every_run_is_somewhere(kinds: Sequence[str]) -> None:
    """Whatever runs come together, each is ranked or listed with a cause."""
    runs = [_run_of(kind, index) for index, kind in enumerate(kinds)]
    groups: list[Group] = group_runs(runs)
    ranked_ids = {run.facts.run_id for group in groups for run in group.runs}
    listed_ids = {entry.run.run_id for group in groups for entry in group.unranked}

    assert {run.facts.run_id for run in runs} == ranked_ids | listed_ids
    assert all(entry.cause for group in groups for entry in group.unranked)


def _run_of(kind: str, index: int) -> ScoredRun:
    options: dict[str, dict[str, Any]] = {
        "ok": {},
        "failed": {"state": "failed"},
        "stale": {"causes": ("stale",)},
        "dev": {"hardware": "1", "violations": [violated("DEVELOPMENT_PROFILE", AXES)]},
        "old": {"suite": "2"},
    }
    return make_run(f"model-{index % 3}", run=f"run-{index}", end_ns=index, **options[kind])


def test_other_samples_under_one_digest() -> None:
    """Runs that claim one suite digest and have other samples stop the board: something is forged or damaged."""
    with pytest.raises(BadInput, match="not the same samples"):
        board_of(make_run("a"), make_run("b", prefix="other"))
