"""Chaos: daemon, worker and clients are killed and frozen at random while runs go through; then the books are checked.

    python -m tests.faults.chaos --seconds 30 --seed 1 [--kills 300]

Prints one JSON line; the exit code is 0 if nothing was lost, nothing came twice and every promise held.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
from orinbench.v1 import board_pb2, record_pb2, run_pb2
from orinbench_client.bundles.native import read_native

from tests.faults.validators import Size, bounded, exclusive, samples_of, whole
from tests.integration.harness import Daemon, Wire, connect

SAMPLES = 120
CLIENTS = 2
_PATIENCE_S = 300.0
_PROGRESS_S = 8.0
# How long a worker whose run is over may take to be gone.
_GONE_S = 10.0


@dataclass
class Books:
    """What is counted. `problems` says in words what `violations` counts."""

    kills: Counter[str] = field(default_factory=Counter)
    freezes: int = 0
    runs: int = 0
    samples: int = 0
    lost: int = 0
    duplicated: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether every promise was kept."""
        return not (self.lost or self.duplicated or self.problems)

    def line(self, seed: int) -> str:
        """Return the books as one line of JSON."""
        return json.dumps(
            {
                "kills": self.kills.total(),
                "of": dict(sorted(self.kills.items())),
                "freezes": self.freezes,
                "runs": self.runs,
                "samples": self.samples,
                "lost": self.lost,
                "duplicated": self.duplicated,
                "violations": len(self.problems),
                "problems": self.problems,
                "seed": seed,
            }
        )


class Follower:
    """A client process, started anew under the same request id as often as it is killed."""

    def __init__(self, daemon: Daemon, results: Path, request_id: str, plan: Path) -> None:
        self.request_id = request_id
        self._command = [sys.executable, "-m", "tests.faults.follower", str(daemon.socket), str(results)]
        self._command += [request_id, str(plan)]
        self._errors = results.parent / "clients"
        self.start()

    def start(self) -> None:
        """Start it."""
        with self._errors.open("a") as errors:
            self.process = subprocess.Popen(self._command, stderr=errors)

    @property
    def done(self) -> bool:
        """Whether its run is in a bundle. A client that failed by itself is a bug, and says so."""
        code = self.process.poll()
        assert code in (None, 0, -signal.SIGKILL), f"a client ended with {code}: {self._errors.read_text()[-2000:]}"
        return code == 0


class Chaos:
    """One seeded session in a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.books = Books()
        self._random = random.Random(seed)
        self._folder = folder
        self._results = folder / "results"
        self._results.mkdir()
        self._daemon = Daemon(folder, deadlines={"stop_s": 2.0})
        self._plan = folder / "plan"
        self._followers: list[Follower] = []
        self._requests: list[str] = []

    def run(self, seconds: float, kills: int) -> Books:
        """Kill for so long, and until there were so many kills; then let everything end and check it."""
        self._daemon.start()
        try:
            with connect(self._daemon) as wire:
                self._plan.write_bytes(wire.plan(SAMPLES, delay_ms=3).SerializeToString())
            ends = time.monotonic() + seconds
            while time.monotonic() < ends or self.books.kills.total() < kills:
                self._keep_busy()
                self._let_it_work()
                self._strike()
            self._wait_for_all()
            self._check()
            self._check_leaks()
        finally:
            for follower in self._followers:
                follower.process.kill()
                follower.process.wait()
            self._daemon.close()
        return self.books

    def _keep_busy(self) -> None:
        self._followers = [follower for follower in self._followers if not follower.done]
        while len(self._followers) < CLIENTS:
            self._requests.append(f"chaos-{len(self._requests)}")
            self._followers.append(Follower(self._daemon, self._results, self._requests[-1], self._plan))

    def _let_it_work(self) -> None:
        """Strike at any moment, but often enough only after a few samples: else no run would ever end."""
        if self._random.random() < 0.65:
            time.sleep(self._random.uniform(0.02, 0.6))
            return
        wanted = self._accepted() + self._random.randrange(1, SAMPLES // 2)
        ends = time.monotonic() + _PROGRESS_S
        while self._accepted() < wanted and time.monotonic() < ends:
            time.sleep(0.02)

    def _accepted(self) -> int:
        """How many samples all runs have together."""
        with connect(self._daemon) as wire:
            page = wire.runs.ListRuns(run_pb2.ListRunsRequest(page_size=200))
            return sum(run.accepted_samples for run in page.runs)

    def _strike(self) -> None:
        target = self._random.choice(["daemon", "worker", "worker", "client"])
        process = self._victim(target)
        if process is None:
            return
        if self._random.random() < 0.15:
            self._freeze(process)
        else:
            self._kill(target, process)

    def _victim(self, target: str) -> psutil.Process | None:
        if target == "client":
            self._struck = self._random.choice(self._followers)
            return None if self._struck.done else psutil.Process(self._struck.process.pid)
        if target == "daemon":
            return psutil.Process(self._daemon.pid)
        return self._worker()

    def _freeze(self, process: psutil.Process) -> None:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
            time.sleep(self._random.uniform(0.05, 0.8))
            process.resume()
            self.books.freezes += 1

    def _kill(self, target: str, process: psutil.Process) -> None:
        self.books.kills[target] += 1
        if target == "daemon":
            if self._random.random() < 0.3 and (worker := self._worker()) is not None:
                # It cannot see the end of its daemon: the next daemon must not start another beside it.
                with suppress(psutil.NoSuchProcess):
                    worker.suspend()
            self._daemon.kill()
            self._daemon.start()
        elif target == "client":
            process.kill()
            self._struck.process.wait()
            self._struck.start()
        else:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def _worker(self) -> psutil.Process | None:
        """The process that runs the model, None while there is none."""
        try:
            return self._daemon.worker
        except (ValueError, psutil.Error):
            return None

    def _wait_for_all(self) -> None:
        ends = time.monotonic() + _PATIENCE_S
        for follower in self._followers:
            follower.process.wait(ends - time.monotonic())
            assert follower.done, f"{follower.request_id} was not followed to its end"

    def _check(self) -> None:
        plan = run_pb2.RunPlan.FromString(self._plan.read_bytes())
        histories = []
        with connect(self._daemon) as wire:
            for request_id in self._requests:
                run = wire.create(plan, request_id)
                history = list(wire.watch(run.name))
                histories.append(history)
                self._count(history)
                self._hold(partial(self._judge, run, history))
            self._hold(lambda: exclusive(histories))
            self._hold(lambda: self._count_runs(wire))

    def _count(self, history: list[record_pb2.Record]) -> None:
        indices = [sample.index for sample in samples_of(history)]
        self.books.runs += 1
        self.books.samples += len(indices)
        self.books.lost += len(set(range(SAMPLES)) - set(indices))
        self.books.duplicated += len(indices) - len(set(indices))

    def _judge(self, run: run_pb2.Run, history: list[record_pb2.Record]) -> None:
        verdict = whole(history, SAMPLES)
        assert verdict.state == record_pb2.RUN_STATE_SUCCEEDED
        _, bundle = read_native(self._results / run.plan.suite_id / run.name.removeprefix("runs/"))
        assert bundle.digest.value == verdict.record_digest, f"{run.name}: the client has other records"
        assert len(bundle.samples) == SAMPLES

    def _count_runs(self, wire: Wire) -> None:
        names, token = [], ""
        while True:
            page = wire.runs.ListRuns(run_pb2.ListRunsRequest(page_token=token))
            names += [run.name for run in page.runs]
            token = page.next_page_token
            if not token:
                break
        assert len(names) == len(self._requests), f"{len(self._requests)} requests made {len(names)} runs"

    def _check_leaks(self) -> None:
        """The last daemon works on in peace; what it holds must not grow with the runs, and no worker may be left."""
        with connect(self._daemon) as wire:
            before, after = self._size_after_runs(wire, 2), self._size_after_runs(wire, 8)
        self._hold(lambda: bounded(before, after))
        until = time.monotonic() + _GONE_S
        while (orphans := [process.pid for process in workers_of(self._folder)]) and time.monotonic() < until:
            time.sleep(0.1)
        self._hold(lambda: _expect(not orphans, f"workers left behind: {orphans}"))
        scratch = [path.name for path in (self._folder / "data").glob("worker-*")]
        self._hold(lambda: _expect(not scratch, f"scratch folders left behind: {scratch}"))

    def _size_after_runs(self, wire: Wire, runs: int) -> Size:
        for _ in range(runs):
            whole(list(wire.watch(wire.create(wire.plan(20)).name)), 20)
        wait_until_idle(wire)
        return size_of(self._daemon)

    def _hold(self, promise: Callable[[], None]) -> None:
        try:
            promise()
        except AssertionError as error:
            self.books.problems.append(str(error)[:500])


def wait_until_idle(wire: Wire) -> None:
    """Wait until the daemon has let go of the board."""
    while wire.board.GetBoard(board_pb2.GetBoardRequest()).board.state != board_pb2.BOARD_STATE_IDLE:
        time.sleep(0.01)


def size_of(daemon: Daemon) -> Size:
    """Return what a daemon holds now."""
    process = psutil.Process(daemon.pid)
    children = len(process.children(recursive=True))
    return Size(process.num_fds(), process.num_threads(), children, process.memory_info().rss)


def workers_of(folder: Path) -> list[psutil.Process]:
    """Return the worker processes whose scratch folder is below a folder, whoever their parent is."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("TMPDIR", "").startswith(str(folder / "data" / "worker-")):
                found.append(process)
    return found


def _expect(holds: bool, otherwise: str) -> None:
    assert holds, otherwise


def main() -> int:
    """Run one session from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to strike")
    parser.add_argument("--kills", type=int, default=0, help="go on until there were so many")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(2), "big"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        books = Chaos(Path(folder), options.seed).run(options.seconds, options.kills)
        if not books.clean:
            print((Path(folder) / "log").read_text()[-20_000:], file=sys.stderr)
    print(books.line(options.seed))
    return 0 if books.clean else 1


if __name__ == "__main__":
    sys.exit(main())
