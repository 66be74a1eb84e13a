"""`orinbench demo`, whole and broken off."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.integration.cli.program import Orinbench, program_in


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Orinbench]:
    """The program in a folder of its own, with no board anywhere."""
    with program_in(tmp_path, str(tmp_path / "none.sock")) as program:
        yield program


def descendants(pid: int) -> list[psutil.Process]:
    """Return what a process has started, and what that has."""
    return psutil.Process(pid).children(recursive=True)


def test_demo_twice(program: Orinbench, tmp_path: Path) -> None:
    """The demo runs both models through a daemon; a second one gives the same texts and accuracy rows to the byte."""
    boards = [demo_board(program, tmp_path) for _ in range(2)]

    assert boards[0] == boards[1]
    assert len({texts_of(path) for path in (tmp_path / "results/demo/fa-demo-v1").glob("fa-demo-small-*")}) == 1
    assert len(list((tmp_path / "results/demo/fa-demo-v1").glob("fa-demo-*/scores/*.json"))) == 4


def demo_board(program: Orinbench, folder: Path) -> tuple[str, str]:
    """Run the demo; return the rows of its accuracy board as JSON and as the Markdown table people see."""
    out = program.good("demo")
    assert "the daemon is stopped" in out
    assert "leaderboard: results/demo/leaderboard" in out
    assert "report, to open in a browser: results/demo/report/report.html" in out
    assert (folder / "results/demo/report/report.html").is_file()
    leaderboard = folder / "results" / "demo" / "leaderboard"
    rows = json.loads((leaderboard / "leaderboard.json").read_text())["boards"]["accuracy"]["rows"]
    assert [row["model_id"] for row in rows] == ["fa-demo-small", "fa-demo-tiny"]
    table = (leaderboard / "leaderboard.md").read_text().partition("## Accuracy")[2].partition("##")[0]
    assert "fa-demo-tiny" in table
    return json.dumps(rows), table


def texts_of(bundle: Path) -> tuple[str, ...]:
    """Return what a model said to each sample."""
    return tuple(json.loads(line)["text"] for line in (bundle / "samples.jsonl").read_text().splitlines())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_broken_off_leaves_no_process(program: Orinbench, number: signal.Signals) -> None:
    """Ctrl-C or SIGTERM in the middle of a run ends the daemon and its worker."""
    started = program.start("demo")
    started.until("running")
    processes = descendants(started.process.pid)
    assert len(processes) >= 2
    started.press(number)
    code, _, errors = started.end()

    assert code == 128 + number
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not alive


def test_daemon_that_does_not_start(program: Orinbench, tmp_path: Path) -> None:
    """When the daemon cannot start, its own last words are the error."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nif '-m' in sys.orig_argv and 'orinbenchd' in sys.orig_argv: sys.exit('no daemon today')\n"
    )
    path = program.environment.get("PYTHONPATH", "")
    program.environment["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{path}"

    assert "no daemon today" in program.fails(5, "demo")
