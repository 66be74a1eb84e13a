"""A fleet of real daemons, some of which die, freeze, come back, or are no use."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.cli.program import Orinbench, program_in
from tests.integration.fleet.boards import (
    GIVE_UP_S,
    NAMES,
    best_schedule_s,
    cells,
    check_results,
    check_stray,
    damage,
    faults,
    four_boards,
    models,
    repair,
    runs_of,
    span_s,
    started_run,
    thaw_late,
)
from tests.integration.harness import Daemon, running

LIMIT = 6
SUITE = ("fleet", "--suite", "fa-demo-v1", "--limit", str(LIMIT))


@pytest.fixture
def pool(folder: Path) -> Iterator[tuple[dict[str, Daemon], Orinbench]]:
    """Four boards and the program."""
    with four_boards(folder) as both:
        yield both


def test_every_run_once_whatever_becomes_of_the_boards(pool: tuple[dict[str, Daemon], Orinbench], folder: Path) -> None:
    """Twelve runs on four boards, one killed and one frozen for long: each has one result, in good time."""
    daemons, program = pool
    wanted = [*SUITE, *models(folder, 150, 200, 250, 300, 350, 400), "--repeat", "2"]
    command = [*wanted, "--give-up-after", str(GIVE_UP_S), "--request-id", "f", "--json"]

    fleet = program.start(*command)
    _, frozen = faults(daemons, fleet)
    thaw_late(daemons, fleet)
    code, out, said = fleet.end()

    assert code == 0, said
    found = cells(out)
    runs = check_results(folder, found, LIMIT)
    assert len(runs) == 12
    assert {outcome["board"] for outcome in found} <= set(NAMES) - {"board-c"}
    check_stray(daemons["board-d"], frozen, said)
    # What is bearable of the lost time, and of what lies between runs, is 30 % of the best that two boards can do.
    ideal = best_schedule_s(runs, 2)
    print(f"twelve runs in {span_s(runs):.1f} s; two boards need {ideal:.1f} s at best")
    assert span_s(runs) <= 1.3 * ideal

    other = [word if word != str(LIMIT) else "5" for word in command]
    assert "is of this --request-id and other options" in program.fails(2, *other)
    again = cells(program.good(*command))
    assert [outcome["run"] for outcome in again] == [outcome["run"] for outcome in found]


def test_what_is_no_use_is_named_and_left_out(folder: Path, daemon: Daemon) -> None:
    """A board under two names, one that is not there, and one of another profile leave the work to the rest."""
    (folder / "other").mkdir()
    with program_in(folder, daemon) as program, running(folder / "other", name="other", profile="cuda-dev") as other:
        program.good("config", "set", "good.address", str(daemon.socket))
        pool = folder / "pool.toml"
        pool.write_text(f'boards = ["good", "{daemon.socket}", "/nowhere.sock", "{other.socket}"]\n')

        wanted = [*SUITE, *models(folder, 0), "--profile", "cpu-dev"]
        done = program.call(*wanted, "--pool", str(pool), "--json")
        alone = program.fails(4, *wanted, "--board", str(other.socket))

    assert done.returncode == 0, done.stderr
    assert [(cell["state"], cell["board"]) for cell in map(json.loads, done.stdout.splitlines())] == [
        ("succeeded", "good")
    ]
    assert f"unix:{daemon.socket}: left out: is the board good by another address" in done.stderr
    assert "unix:/nowhere.sock: skipped for now: cannot reach a board" in done.stderr
    assert f"unix:{other.socket}: left out: boards/other is measured under the profile cuda-dev" in done.stderr
    assert alone.startswith("orinbench: no board of 1 takes runs: boards/other is measured")


def test_what_no_board_takes_stops_no_other(folder: Path, daemon: Daemon) -> None:
    """A model that no board can run is refused by all; the others have their results."""
    with program_in(folder, daemon) as program:
        program.good("config", "set", "good.address", str(daemon.socket))
        refused = folder / "refused.toml"
        words = models(folder, 0)
        refused.write_text((folder / words[1]).read_text().replace('"none"\n', '"none"\nruntime = "nemo"\n', 1))

        done = program.call(*SUITE, *words, "--model", refused.name)

    assert done.returncode == 4, done.stderr
    rows = [line.split()[:4] for line in done.stdout.splitlines()[1:3]]
    assert rows == [["fa-demo-v1", "slow-0", "good", "succeeded"], ["fa-demo-v1", "slow-0", "refused"]]
    assert "good: it has no runtime 'nemo'" in done.stderr.splitlines()[-1]


def test_a_board_on_which_everything_breaks_down(folder: Path, daemon: Daemon) -> None:
    """It gets one run, not all that wait; where another board cannot do the run either, the run has failed."""
    (folder / "bad").mkdir()
    with program_in(folder, daemon) as program, running(folder / "bad", name="bad") as bad:
        program.good("config", "set", "bad.address", str(bad.socket))
        program.good("config", "set", "good.address", str(daemon.socket))
        damage(bad)

        out = program.call(*SUITE, *models(folder, 0, 1, 2), "--json")
        assert out.returncode == 0, out.stderr
        assert [(cell["state"], cell["board"]) for cell in cells(out.stdout)] == [("succeeded", "good")] * 3
        assert "broke down there before the first sample, and works on good" in out.stderr
        assert len(runs_of(bad)) == 1

        damage(daemon)
        out = program.call(*SUITE, *models(folder, 0), "--json")
        assert out.returncode == 3, out.stderr
        assert [cell["state"] for cell in cells(out.stdout)] == ["failed"]
        assert len(runs_of(bad)) == 2


def test_a_run_that_was_never_made_is_not_looked_for(folder: Path, daemon: Daemon) -> None:
    """Of a board that was lost before it got a run, and is there again, nothing is said at the end."""
    (folder / "idle").mkdir()
    with program_in(folder, daemon) as program, running(folder / "idle", name="idle") as idle:
        program.good("config", "set", "busy.address", str(daemon.socket))
        program.good("config", "set", "idle.address", str(idle.socket))
        boards = ("--board", "busy", "--board", "idle")
        fleet = program.start(*SUITE, *models(folder, 60_000), *boards, "--give-up-after", str(GIVE_UP_S))
        run = started_run(fleet, "busy")
        idle.kill()
        daemon.send(signal.SIGSTOP)
        fleet.until("idle: given up for now")
        daemon.send(signal.SIGCONT)
        fleet.until("busy: is there again")
        idle.start()
        fleet.until("idle: is there again")
        program.good("cancel", run.removeprefix("runs/"), "--host", "busy")
        code, _, said = fleet.end()

    assert code == 3, said
    assert "may still be at" not in said


@pytest.mark.parametrize("new_data", [True, False], ids=["left out", "away for good"])
def test_who_waits_for_another_board_goes_on_without_it(folder: Path, daemon: Daemon, new_data: bool) -> None:
    """A run breaks down on one board, and the other is lost before it tried it: the run failed, the rest is done."""
    (folder / "other").mkdir()
    other = Daemon(folder / "other", name="other")
    with program_in(folder, daemon) as program, ExitStack() as ends:
        ends.callback(other.close)
        other.start()
        program.good("config", "set", "first.address", str(daemon.socket))
        program.good("config", "set", "other.address", str(other.socket))
        engines = damage(daemon)

        boards = ("--board", "first", "--board", "other")
        fleet = program.start(*SUITE, *models(folder, 0, 500, 1), *boards, "--give-up-after", str(GIVE_UP_S), "--json")
        started_run(fleet, "other")
        any("another board tries it" in line for line in fleet.seen) or fleet.until("another board tries it")
        repair(daemon, engines)
        other.kill()
        if new_data:
            # A board that forgot the run, such as one that was set up anew.
            other = Daemon(folder / "other", name="other", data_dir="new")
            ends.callback(other.close)
            other.start()
        code, out, said = fleet.end()

    assert code == 3, said
    assert [(cell["state"], cell["board"]) for cell in cells(out)] == [
        ("failed", "first"),
        ("succeeded", "first"),
        ("succeeded", "first"),
    ]
    assert "first: no other board can try slow-0 on fa-demo-v1: it has failed" in said
