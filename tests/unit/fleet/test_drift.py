"""Whether one of several boards is slower: figures, verdicts, and the table of a results folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from bench_cases.synthetic import make_references
from hypothesis import given, settings
from hypothesis import strategies as st
from orinbench.v1.record_pb2 import AXIS_SPEED
from orinbench.v1.run_pb2 import Run as ProtoRun
from orinbench_client.bundles.model import Labelled, Timing
from orinbench_client.cli.main import main
from orinbench_client.fleet.drift import MARGIN, Row, Run, compare_boards, verdict
from orinbench_client.statistics import Interval

from tests.unit.boards.runs import make_run, violated
from tests.unit.bundles.native_run import NativeRun
from tests.unit.report.bundles import write_run


def on(board: str, windows_ns: list[int], run: str = "", key: str = "") -> Run:
    """A run of a board with these timed windows."""
    facts = make_run("m", run=run or f"run-{board}", energy=None).facts
    windows = np.array(windows_ns, dtype=np.int64)
    audio = np.full(len(windows), 10**9, dtype=np.int64)
    timing = Timing(int(windows.sum()), int(audio.sum()), windows, audio)
    return Run(replace(facts, timing=timing), Labelled(board, key or board))


def by_board(runs: list[Run]) -> dict[str, Row]:
    """Compare, with a row a board."""
    return {row.board: row for row in compare_boards(runs)[0]}


def test_the_slow_one_of_three() -> None:
    """A board that takes a tenth longer is slower by this ratio, the others show no difference."""
    windows = [100_000_000 + 5_000_000 * index for index in range(20)]
    rows = by_board([on("a", windows), on("b", windows), on("c", [round(1.1 * each) for each in windows])])

    assert rows["c"].verdict == "slower"
    assert rows["c"].ratio == pytest.approx(1.1, abs=1e-6)
    assert rows["c"].rtf == pytest.approx(1.1 * sum(windows) / 20e9)
    assert {rows["a"].verdict, rows["b"].verdict} == {"no difference seen"}
    # Between the slow and the good one there is a median that the good one has too.
    assert rows["a"].ratio == 1


def test_a_fast_one() -> None:
    """Of four boards the one that needs four fifths of the time is faster."""
    windows = [100_000_000 + 5_000_000 * index for index in range(20)]
    rows = by_board([*(on(name, windows) for name in "abc"), on("d", [each * 4 // 5 for each in windows])])

    assert {name: row.verdict for name, row in rows.items()} == {
        **dict.fromkeys("abc", "no difference seen"),
        "d": "faster",
    }


def test_too_few() -> None:
    """One board alone, and boards with few samples, are not compared."""
    alone = by_board([on("a", [10**8] * 20)])
    short = by_board([on("a", [10**8] * 9), on("b", [2 * 10**8] * 9)])

    assert [row.verdict for row in [*alone.values(), *short.values()]] == ["too few"] * 3
    assert alone["a"].ratio is None


def test_several_runs_are_one_board() -> None:
    """The runs of a board count by their mean; boards of one name are told apart by their keys."""
    runs = [
        on("a", [10**8] * 20, "run-1", "sha256:1111111122"),
        on("a", [3 * 10**8] * 20, "run-2", "sha256:1111111122"),
        on("a", [2 * 10**8] * 20, "run-3", "sha256:3333333344"),
    ]
    rows = by_board(runs)

    assert {name: row.runs for name, row in rows.items()} == {"a (11111111)": 2, "a (33333333)": 1}
    assert rows["a (11111111)"].ratio == pytest.approx(1)


def test_void_speed_is_left_out() -> None:
    """A run whose speed is void, or that failed, is named with the cause; one on a development profile is not."""
    throttled = make_run("m", run="hot", violations=[violated("THROTTLED", ["speed"])])
    failed = make_run("m", run="bad", state="failed", failure="oom: no")
    development = make_run("m", run="dev", violations=[violated("DEVELOPMENT_PROFILE", ["speed", "accuracy"])])
    rows, left_out = compare_boards([Run(run.facts, Labelled("a", "a")) for run in (throttled, failed, development)])

    assert [(row.board, row.runs) for row in rows] == [("a", 1)]
    assert left_out == [("hot", "seen: THROTTLED"), ("bad", "oom: no")]


# The first bootstrap takes longer than the others.
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(10**6, 10**9), min_size=10, max_size=30), st.integers(1, 1000))
def test_the_unit_does_not_matter(windows: list[int], factor: int) -> None:
    """Boards that are alike show no difference, and a common factor in all windows changes nothing."""
    other = list(reversed(windows))
    first = by_board([on("a", windows), on("b", other)])["a"]
    second = by_board([on("a", [factor * each for each in windows]), on("b", [factor * each for each in other])])["a"]

    assert first.verdict == second.verdict == "no difference seen"
    assert first.ratio == second.ratio == 1
    assert first.interval == pytest.approx(second.interval)


@given(st.floats(0.5, 2), st.floats(0, 0.5))
def test_a_verdict_needs_the_whole_interval(low: float, width: float) -> None:
    """Slower and faster are told only when the whole interval lies beyond the margin, and never both."""
    found = verdict(Interval(low, low + width))

    assert (found == "slower") is (low > 1 + MARGIN)
    assert (found == "faster") is (low + width < 1 - MARGIN)


@dataclass
class _OnBoard(NativeRun):
    board: str = ""

    def run(self) -> ProtoRun:
        """The run, with its board."""
        run = super().run()
        run.board = f"boards/{self.board}"
        return run


def test_the_table_of_a_results_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command reads bundles, names what it leaves out, and gives a row a board, or JSON."""
    texts = make_references(12)
    for board, window_ms in (("orin-1", 100), ("orin-2", 100), ("orin-3", 130), ("برد", 100)):
        run = _OnBoard(run_id=f"run-{board[-1:]}", board=board, window_ms=window_ms, references=texts)
        if board == "برد":
            run.run_id, run.violations = "run-hot", [("THROTTLED", [AXIS_SPEED])]
        write_run(tmp_path, run, scored=False)

    assert main(["fleet", "drift", "--results", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "run-hot: left out: seen: THROTTLED" in err
    assert [line.split()[2] for line in out.splitlines()[1:]] == ["orin-1", "orin-2", "orin-3"]
    assert out.splitlines()[3].endswith("slower")
    assert "3.00 GiB" in out
    assert "7.5 J/sample" in out

    assert main(["fleet", "drift", "--results", str(tmp_path), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["verdict"] for row in rows] == ["no difference seen", "no difference seen", "slower"]
