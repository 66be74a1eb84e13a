"""The same through Dask: a real scheduler and real workers, of which one dies too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orinbench_client.fleet.cells import LABEL

from tests.integration.cli.program import program_in
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
    thaw_late,
)
from tests.integration.harness import Daemon

LIMIT = 4


@contextmanager
def dask(folder: Path, environment: dict[str, str], *words: str, ready: str) -> Iterator[subprocess.Popen[str]]:
    """A process of Dask, from the line that says it is ready to its end."""
    log = folder / f"dask-{words[0]}-{words[-1]}.log"
    command = [sys.executable, "-m", "dask", *words[:-1], "--no-dashboard"]
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        seen = []
        for line in process.stderr:
            seen.append(line)
            if ready in line:
                break
        else:
            raise AssertionError(f"{words}: it ended: {''.join(seen)}")
        # What it says from now on is read by nobody, and would fill the pipe.
        with log.open("w"):
            yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_every_run_once_through_dask(folder: Path) -> None:
    """Twelve runs by two workers; a worker, a board's daemon die, another freezes: each run has one result."""
    with four_boards(folder) as (daemons, program):
        tokens = " ".join(f"board:{name}=1" for name in NAMES)
        address = folder / "scheduler.json"
        to = ("--scheduler-file", str(address))
        worker = ("worker", *to, "--no-nanny", "--nthreads", "4", "--resources", tokens)
        with (
            dask(folder, program.environment, "scheduler", *to, "--port", "0", "1", ready="Scheduler at:"),
            dask(folder, program.environment, *worker, "1", ready="Registered to") as first,
            dask(folder, program.environment, *worker, "2", ready="Registered to"),
        ):
            scheduler = json.loads(address.read_text())["address"]
            wanted = ["fleet", "--suite", "fa-demo-v1", "--limit", str(LIMIT), "--repeat", "2"]
            wanted += models(folder, 150, 200, 250, 300, 350, 400)
            fleet = program.start(*wanted, "--give-up-after", str(GIVE_UP_S), "--scheduler", scheduler, "--json")
            killed, frozen = faults(daemons, fleet)
            first.kill()
            thaw_late(daemons, fleet)
            code, out, said = fleet.end()

        assert code == 0, said
        runs = check_results(folder, cells(out), LIMIT)
        assert len(runs) == 12
        assert killed not in {run.name for run in runs}
        check_stray(daemons["board-d"], frozen, said)
        ideal = best_schedule_s(runs, 2)
        print(f"twelve runs in {span_s(runs):.1f} s; two boards need {ideal:.1f} s at best")
        assert span_s(runs) <= 1.3 * ideal
        # What the dead worker was at was found again, not begun anew.
        for name in ("board-a", "board-b", "board-d"):
            labels = Counter(run.plan.options.labels[LABEL] for run in runs_of(daemons[name]).values())
            assert set(labels.values()) == {1}


def test_what_was_resumed_takes_the_place_of_what_failed(folder: Path, daemon: Daemon) -> None:
    """A run fails by its board and is resumed there; the same command through Dask then has the good bundle."""
    board, address = f"unix:{daemon.socket}", folder / "scheduler.json"
    to = ("--scheduler-file", str(address))
    worker = ("worker", *to, "--no-nanny", "--nthreads", "1", "--resources", f"board:{board}=1", "1")
    engines = damage(daemon, "bwrap: no permission to make a namespace")
    with (
        program_in(folder, daemon) as program,
        dask(folder, program.environment, "scheduler", *to, "--port", "0", "1", ready="Scheduler at:"),
        dask(folder, program.environment, *worker, ready="Registered to"),
    ):
        scheduler = json.loads(address.read_text())["address"]
        wanted = ["fleet", "--suite", "fa-demo-v1", "--limit", str(LIMIT), *models(folder, 0), "--board", board]
        wanted += ["--request-id", "x", "--scheduler", scheduler, "--json"]
        program.fails(4, *wanted)
        (failed,) = (folder / "results" / "fa-demo-v1").iterdir()
        repair(daemon, engines)
        program.good("resume", failed.name)
        program.good("watch", failed.name, "--results", "elsewhere")
        (found,) = cells(program.good(*wanted))

    assert (found["run"], found["state"]) == (failed.name, "succeeded")
    (run,) = check_results(folder, [found], LIMIT)
    assert len(run.segments) == 2
