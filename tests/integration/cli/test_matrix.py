"""Models × suites through one board, against a real daemon."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.program import Orinbench, null_model, program_in
from tests.integration.harness import Daemon

SUITE = ("matrix", "--suite", "fa-demo-v1", "--limit", "2")


@pytest.fixture
def program(shared: Daemon, tmp_path: Path) -> Iterator[Orinbench]:
    """The program in a folder of its own."""
    with program_in(tmp_path, shared) as program:
        yield program


def test_every_model_on_every_suite(program: Orinbench, tmp_path: Path) -> None:
    """Each cell is a run with a bundle; the same command with the same id takes up the same runs."""
    matrix = (*SUITE, "--model", "fa-demo-tiny", "--model", "fa-demo-small", "--request-id", "m", "--json")
    first, again = ([json.loads(line) for line in program.good(*matrix).splitlines()] for _ in range(2))

    assert [outcome["model"] for outcome in first] == ["fa-demo-tiny", "fa-demo-small"]
    assert {outcome["state"] for outcome in first} == {"succeeded"}
    assert all((tmp_path / outcome["bundle"] / "run.json").is_file() for outcome in first)
    assert again == first


def test_one_that_is_refused_stops_no_other(program: Orinbench, tmp_path: Path) -> None:
    """What the board refuses is a line of its own, the others run, and the exit code tells it."""
    refused = tmp_path / "refused.toml"
    text = Path(null_model(tmp_path, 0)).read_text().replace('engine = "null"', 'engine = "null"\nruntime = "nemo"')
    refused.write_text(text)

    done = program.call(*SUITE, "--model", str(refused), "--model", "fa-demo-tiny")

    assert done.returncode == 4, done.stderr
    assert [line.split()[:3] for line in done.stdout.splitlines()[1:]] == [
        ["slow", "fa-demo-v1", "refused"],
        ["fa-demo-tiny", "fa-demo-v1", "succeeded"],
    ]
    assert "orinbench: 1 of 2 runs were refused: model slow needs the runtime 'nemo'" in done.stderr


def test_interrupt_says_how_to_go_on(program: Orinbench, tmp_path: Path) -> None:
    """Ctrl-C leaves the runs to themselves; the line it gives takes all of them up again."""
    started = program.start(*SUITE, "--model", null_model(tmp_path, 1500), "--model", "fa-demo-tiny")
    started.until("running")
    started.press(signal.SIGINT)
    said = started.until("  orinbench matrix ")
    assert started.end()[0] == 130

    words = said.split()
    assert words[:2] == ["orinbench", "matrix"]
    found = [json.loads(line) for line in program.good(*words[1:], "--json").splitlines()]
    assert [outcome["state"] for outcome in found] == ["succeeded", "succeeded"]
