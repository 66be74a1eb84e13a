"""What is done at one board, wherever it is done from: in this process, or in a Dask worker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from orinbench.v1.board_pb2 import BOARD_STATE_DRAINING, BOARD_STATE_UNAVAILABLE, BOARD_STATE_WEDGED
from orinbench.v1.record_pb2 import FAILURE_CLASS_CRASHED, FAILURE_CLASS_HUNG, RUN_STATE_SUCCEEDED
from orinbench.v1.run_pb2 import Run, RunOptions
from orinbench_profiles import is_folder

from orinbench_client.bundles.native import read_run
from orinbench_client.errors import BadInput, BoardRefused, BoardUnreachable
from orinbench_client.fleet.cells import LABEL, Cell, counts, is_boards_fault
from orinbench_client.fleet.placer import Kind
from orinbench_client.follow.progress import Progress
from orinbench_client.follow.session import follow
from orinbench_client.sdk import Client, Model, Patience, Submission, find_address, open_model, require_board, submit
from orinbench_client.suites import Suite, open_suite

# A board that does not say within this time what it is, is not used now.
LOOK_S = 5.0
# As many of a board's newest runs are looked at.
_RUNS = 500
# A daemon sends something every 10 s.
_SILENCE_S = 35.0
Note = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """A cell as it travels: by names and digests, so that whoever does it opens suite and model where it is."""

    suite: str
    suite_digest: str
    model: str
    model_digest: str
    request_id: str
    options: RunOptions
    profile: str
    give_up_s: float

    @classmethod
    def of(cls, cell: Cell, profile: str, give_up_s: float) -> Job:
        """Return the job of a cell on a board of `profile`."""
        digests = {"suite_digest": cell.suite.digest, "model_digest": cell.model.digest}
        return cls(
            suite=_from_anywhere(cell.suite_name),
            model=_from_anywhere(cell.model_name),
            request_id=cell.request_id,
            options=cell.options,
            profile=profile,
            give_up_s=give_up_s,
            **digests,
        )


class Known(NamedTuple):
    """A run that a board has. `ended` with a result that `counts`; `seconds` it took, None while it goes on."""

    name: str
    request_id: str
    kind: Kind
    ended: bool
    counts: bool
    seconds: float | None


@dataclass(frozen=True)
class Sight:
    """A board as it was found: who it is, what it can, the seconds until a run would begin, and its newest runs."""

    key_id: str
    profile: str
    runtimes: frozenset[str]
    wait_s: float
    runs: tuple[Known, ...]


@dataclass(frozen=True)
class Measured:
    """An ended run: its bundle, and why its board is to be left out (empty: it is not).

    `doubtful`: it broke down before its first sample, which may lie in the model or in the board.
    """

    bundle: Path
    fault: str = ""
    doubtful: bool = False


class Lost(BoardUnreachable):
    """Contact was lost for good while a board has the run `run` of ours."""

    def __init__(self, message: str, run: str = "") -> None:
        super().__init__(message)
        self.run = run


async def look(board: str, profile: str) -> Sight:
    """Return what a board is now.

    Raises BoardUnreachable where nobody answers or the daemon goes down, BoardRefused for a board that takes no runs
    or is not of `profile` (empty: of any), BadInput for an address that is none.
    """
    async with Client(find_address(board), LOOK_S) as client:
        found = await client.get_board()
        require_board(found, profile)
        if found.state == BOARD_STATE_DRAINING:
            raise BoardUnreachable(f"{found.name} is going down: {found.state_reason}")
        if found.state in (BOARD_STATE_WEDGED, BOARD_STATE_UNAVAILABLE):
            raise BoardRefused(f"{found.name} takes no runs: {found.state_reason}")
        runs = []
        async with aclosing(client.list_runs()) as listed:
            async for run in listed:
                runs.append(_known(run))
                if len(runs) == _RUNS:
                    break
        runtimes = frozenset(found.runtimes)
        return Sight(found.key_id, found.hardware_profile, runtimes, found.expected_wait_s, tuple(runs))


async def measure(board: str, job: Job, results: Path, note: Note) -> Measured:
    """Have a board do a job and put its bundle into `results`. Done again, it takes up the same run.

    Raises Lost after `give_up_s` without contact, BoardUnreachable where there was none, BoardRefused, BadInput, and
    RunFailed where the board left out records.
    """
    suite, model = await asyncio.to_thread(_opened, job)
    async with Client(find_address(board)) as client:
        submission = Submission(suite, model, job.profile, job.options)
        run = await submit(client, submission, job.request_id, lambda *_: None)
        note(f"run {run.name.removeprefix('runs/')}: {run.plan.model_id} on {run.plan.suite_id}")
        patience = Patience(min(_SILENCE_S, job.give_up_s / 2), job.give_up_s)
        try:
            bundle = await follow(client, run, suite, results, _Notes(note), patience)
        except BoardUnreachable as error:
            raise Lost(str(error), run.name) from None
    ended = read_run(bundle)
    if not is_boards_fault(ended):
        broke_down = ended.failure.failure_class in (FAILURE_CLASS_CRASHED, FAILURE_CLASS_HUNG)
        return Measured(bundle, doubtful=broke_down and not ended.accepted_samples)
    return Measured(bundle, f"run {bundle.name}: {ended.failure.message or ended.failure.reason}: see {bundle}")


async def cancel(board: str, run: str, reason: str) -> None:
    """Stop a run. Raises BoardRefused, BoardUnreachable."""
    async with Client(find_address(board), LOOK_S) as client:
        await client.cancel_run(run, reason)


class _Notes:
    """Of a followed run only what people should see at once: several runs go on beside it."""

    def __init__(self, note: Note) -> None:
        self._note = note

    def update(self, progress: Progress) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say it."""
        self._note(text)


def _opened(job: Job) -> tuple[Suite, Model]:
    suite, model = _suite(job.suite), _model(job.model)
    for what, found, wanted in (
        (f"suite {job.suite}", suite.digest, job.suite_digest),
        (f"model {job.model}", model.digest, job.model_digest),
    ):
        if found != wanted:
            raise BadInput(f"{what}: has the digest {found} here, {wanted} is wanted: have the same version everywhere")
    return suite, model


_suite, _model = cache(open_suite), cache(open_model)


def _from_anywhere(name: str) -> str:
    """Return a name that leads to the same folder or file from every working directory."""
    path, colon, variant = name.partition(":")
    return f"{Path(path).absolute()}{colon}{variant}" if is_folder(path) or path.endswith(".toml") else name


def _known(run: Run) -> Known:
    limit = run.plan.options.limit if run.plan.options.HasField("limit") else None
    ended = bool(run.record_count)
    return Known(
        name=run.name,
        request_id=run.plan.options.labels.get(LABEL, ""),
        kind=Kind(run.plan.suite_digest, run.plan.model_digest, limit),
        ended=ended,
        counts=counts(run),
        seconds=seconds_of(run) if run.state == RUN_STATE_SUCCEEDED else None,
    )


def seconds_of(run: Run) -> float | None:
    """Return how long a run had its board, in seconds; None while it has it, or where it never did."""
    if not run.HasField("start_time") or not run.HasField("end_time"):
        return None
    return (run.end_time.ToNanoseconds() - run.start_time.ToNanoseconds()) / 1e9
