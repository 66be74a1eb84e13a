"""Four boards, the runs for them, and what must be true of a fleet whatever became of its boards."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from shutil import rmtree
from typing import Any

from orinbench.v1 import record_pb2, run_pb2
from orinbench_client.bundles.native import read_run
from orinbench_client.fleet.cells import LABEL
from orinbench_client.fleet.hands import seconds_of

from tests.integration.cli.program import Orinbench, Started, null_model, program_in
from tests.integration.harness import Daemon, connect

NAMES = ("board-a", "board-b", "board-c", "board-d")
GIVE_UP_S = 5


@contextmanager
def four_boards(folder: Path) -> Iterator[tuple[dict[str, Daemon], Orinbench]]:
    """Four daemons by name, and the program with all of them in its config file. Frozen ones go on before the end."""
    with ExitStack() as stack:
        daemons: dict[str, Daemon] = {}
        for name in NAMES:
            (folder / name[-1]).mkdir()
            daemons[name] = Daemon(folder / name[-1], name=name)
            stack.callback(daemons[name].close)
            stack.callback(_thaw, daemons[name])
        with ThreadPoolExecutor() as threads:
            list(threads.map(Daemon.start, daemons.values()))
        program = stack.enter_context(program_in(folder, daemons["board-a"]))
        for name, daemon in daemons.items():
            program.good("config", "set", f"{name}.address", str(daemon.socket))
        yield daemons, program


def _thaw(daemon: Daemon) -> None:
    if daemon.alive:
        daemon.send(signal.SIGCONT)


def models(folder: Path, *delays_ms: float) -> list[str]:
    """Write models that differ in how long they take for a sample; return the words that name them."""
    words = []
    for delay_ms in delays_ms:
        path = Path(null_model(folder, delay_ms))
        named = path.read_text().replace('"slow"', f'"slow-{delay_ms:g}"')
        path = path.rename(folder / f"slow-{delay_ms:g}.toml")
        path.write_text(named)
        words += ["--model", path.name]
    return words


def started_run(fleet: Started, board: str) -> str:
    """Return the name of the first run of a board."""
    begin = f"{board}: run "
    line = next((line for line in fleet.seen if line.startswith(begin)), None) or fleet.until(begin)
    return "runs/" + line.removeprefix(begin).partition(":")[0]


def in_the_middle(daemon: Daemon, run: str) -> None:
    """Wait until a run has some of its samples."""
    with connect(daemon) as wire:
        wire.until_sample(run, 1)


def runs_of(daemon: Daemon) -> dict[str, run_pb2.Run]:
    """Return the runs of a daemon by name."""
    with connect(daemon) as wire:
        return {run.name: run for run in wire.runs.ListRuns(run_pb2.ListRunsRequest(page_size=200)).runs}


def cells(out: str) -> list[dict[str, Any]]:
    """Return the outcomes that ``--json`` printed."""
    return [json.loads(line) for line in out.splitlines()]


def check_results(folder: Path, found: list[dict[str, Any]], limit: int) -> list[run_pb2.Run]:
    """Hold the results against the promise: every cell has one whole run, and nothing else is there."""
    bundles = [read_run(path.parent) for path in (folder / "results").glob("*/*/run.json")]
    assert {outcome["state"] for outcome in found} == {"succeeded"}
    assert {run.name.removeprefix("runs/") for run in bundles} == {outcome["run"] for outcome in found}
    assert len({(outcome["model"], outcome["repeat"]) for outcome in found}) == len(found) == len(bundles)
    assert set(Counter(run.plan.options.labels[LABEL] for run in bundles).values()) == {1}
    assert {run.accepted_samples for run in bundles} == {limit}
    assert not list((folder / "results").glob("*/.*"))
    return bundles


def check_stray(daemon: Daemon, run: str, said: str) -> None:
    """The run of a board that came back is named: cancelled, or over and not counted. So is one that came too late."""
    if "board-d: may still be at " in said:
        return
    (state,) = [each.state for name, each in runs_of(daemon).items() if name == run]
    cancelled = state in (record_pb2.RUN_STATE_CANCELLED, record_pb2.RUN_STATE_CANCELLING)
    assert f"run {run.removeprefix('runs/')} of " in said
    assert ("is done by another board: cancelled" if cancelled else "is done there too: not counted") in said


def span_s(runs: list[run_pb2.Run]) -> float:
    """Return the seconds from the first submission to the last end, by the boards' records."""
    first = min(run.create_time.ToNanoseconds() for run in runs)
    return (max(run.end_time.ToNanoseconds() for run in runs) - first) / 1e9


def best_schedule_s(runs: list[run_pb2.Run], boards: int) -> float:
    """Return the shortest possible time for the runs, of the lengths they had, on so many boards: by trying all."""
    seconds = [took for run in runs if (took := seconds_of(run)) is not None]
    assert len(seconds) == len(runs)
    # The first run is on the first board: boards are alike.
    ways = product(range(boards), repeat=len(seconds) - 1)
    return min(max(_loads(seconds, (0, *way), boards)) for way in ways)


def _loads(seconds: list[float], way: tuple[int, ...], boards: int) -> list[float]:
    loads = [0.0] * boards
    for took, board in zip(seconds, way, strict=True):
        loads[board] += took
    return loads


def faults(daemons: Mapping[str, Daemon], fleet: Started) -> tuple[str, str]:
    """Kill board-c for good and freeze board-d, both in the middle of a run; return the runs they had."""
    killed, frozen = (started_run(fleet, name) for name in ("board-c", "board-d"))
    in_the_middle(daemons["board-c"], killed)
    daemons["board-c"].kill()
    in_the_middle(daemons["board-d"], frozen)
    daemons["board-d"].send(signal.SIGSTOP)
    return killed, frozen


def thaw_late(daemons: Mapping[str, Daemon], fleet: Started) -> None:
    """Let board-d go on once its run has its result elsewhere."""
    begin = "board-d: given up for now, "
    line = next((line for line in fleet.seen if line.startswith(begin)), None) or fleet.until(begin)
    title = line.removeprefix(begin).partition(" goes to another board")[0]
    fleet.until(f": {title}: ended as ")
    daemons["board-d"].send(signal.SIGCONT)


def damage(daemon: Daemon, last_words: str = "") -> Path:
    """Have every worker of a daemon end at once, by other code in place of the link to ours; return what it led to."""
    engines = _engines(daemon)
    ours = engines.readlink()
    engines.unlink()
    engines.mkdir()
    (engines / "__init__.py").touch()
    (engines / "worker.py").write_text(f"raise SystemExit({last_words!r} or 1)\n")
    return ours


def repair(daemon: Daemon, ours: Path) -> None:
    """Put the link back that `damage` took."""
    rmtree(_engines(daemon))
    _engines(daemon).symlink_to(ours)


def _engines(daemon: Daemon) -> Path:
    return daemon.folder / "data" / "packages" / "orinbench_engines"
