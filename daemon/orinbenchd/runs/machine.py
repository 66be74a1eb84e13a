"""The life of a run as a pure state machine: events in, instructions out, no input or output.

    QUEUED → PREPARING → RUNNING ⇄ PAUSED → FINISHING → SUCCEEDED | FAILED
    QUEUED, PREPARING, RUNNING, PAUSED → CANCELLING → CANCELLED
    the daemon died in PREPARING … FINISHING → QUEUED at the head, at most three segments by itself, then FAILED
    a run that died with every sample accepted goes from PREPARING to FINISHING: there is nothing left to compute
    FAILED as hung, crashed, board or infrastructure → QUEUED, when somebody asks

The table `_TABLE` at the end is the whole truth; an event that is not in it for a state raises Impossible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from orinbench.v1 import record_pb2 as pb

MAX_SEGMENTS = 3
# Why a run failed whose records were lost with a damaged journal: final, although the class is infrastructure.
JOURNAL_DAMAGED = "JOURNAL_DAMAGED"
TERMINAL = frozenset({pb.RUN_STATE_SUCCEEDED, pb.RUN_STATE_FAILED, pb.RUN_STATE_CANCELLED})
RESUMABLE = frozenset(
    {
        pb.FAILURE_CLASS_HUNG,
        pb.FAILURE_CLASS_CRASHED,
        pb.FAILURE_CLASS_BOARD,
        pb.FAILURE_CLASS_INFRASTRUCTURE,
    }
)


class Impossible(Exception):
    """The event cannot happen in this state."""


@dataclass(frozen=True)
class Status:
    """Where a run stands: its state, how many segments it has begun, and why it failed if it did."""

    state: pb.RunState
    segments: int = 0
    failure: pb.Failure | None = None


# Events: what happened.


@dataclass(frozen=True)
class BoardFree:
    """It is this run's turn."""


@dataclass(frozen=True)
class WorkerReady:
    """The model is loaded, proven and warm."""


@dataclass(frozen=True)
class AllAccepted:
    """Every planned sample has a durable result."""


@dataclass(frozen=True)
class Summarised:
    """Last energy, summary and violations are written."""


@dataclass(frozen=True)
class DiskFull:
    """The journal cannot be written."""


@dataclass(frozen=True)
class DiskRoom:
    """The journal can be written again."""


@dataclass(frozen=True)
class Failed:
    """The segment cannot go on."""

    failure: pb.Failure


@dataclass(frozen=True)
class CancelAsked:
    """Somebody wants it to stop."""

    reason: str


@dataclass(frozen=True)
class WorkerGone:
    """The worker of a run that is being cancelled has ended."""


@dataclass(frozen=True)
class DaemonDied:
    """The daemon starts and finds the run unfinished."""


@dataclass(frozen=True)
class ResumeAsked:
    """Somebody wants a failed run to go on."""


# Instructions: what to do about it, in order.


@dataclass(frozen=True)
class Enter:
    """Write the state into the journal."""

    state: pb.RunState
    reason: str = ""
    failure: pb.Failure | None = None


@dataclass(frozen=True)
class StartWorker:
    """Preflight, power mode, worker, model."""


@dataclass(frozen=True)
class StopWorker:
    """End the worker."""


@dataclass(frozen=True)
class Summarise:
    """Close the last windows and sum up."""


@dataclass(frozen=True)
class Finish:
    """Write the verdict: the last record."""


Instruction = Enter | StartWorker | StopWorker | Summarise | Finish
Outcome = tuple[Status, list[Instruction]]


def handle(status: Status, event: object) -> Outcome:
    """Return the new status and what to do. Raises Impossible."""
    try:
        rule = _TABLE[status.state, type(event)]
    except KeyError:
        state = pb.RunState.Name(status.state).removeprefix("RUN_STATE_")
        raise Impossible(f"{type(event).__name__} in state {state}") from None
    return rule(status, event)


def _to(state: pb.RunState, reason: str = "", *then: Instruction) -> Callable[[Status, Any], Outcome]:
    return lambda status, _event: (replace(status, state=state), [Enter(state, reason), *then])


def _begin(status: Status, _event: BoardFree) -> Outcome:
    begun = replace(status, state=pb.RUN_STATE_PREPARING, segments=status.segments + 1)
    return begun, [Enter(pb.RUN_STATE_PREPARING, "the board is free"), StartWorker()]


def _fail(status: Status, event: Failed) -> Outcome:
    failed = replace(status, state=pb.RUN_STATE_FAILED, failure=event.failure)
    enter = Enter(pb.RUN_STATE_FAILED, event.failure.reason, event.failure)
    return failed, [enter, Finish()]


def _cancel(status: Status, event: CancelAsked) -> Outcome:
    cancelling = Enter(pb.RUN_STATE_CANCELLING, event.reason)
    return replace(status, state=pb.RUN_STATE_CANCELLING), [cancelling, StopWorker()]


def _cancel_queued(status: Status, event: CancelAsked) -> Outcome:
    cancelling, cancelled = Enter(pb.RUN_STATE_CANCELLING, event.reason), Enter(pb.RUN_STATE_CANCELLED)
    return replace(status, state=pb.RUN_STATE_CANCELLED), [cancelling, cancelled, Finish()]


def _recover(status: Status, _event: DaemonDied) -> Outcome:
    if status.segments < MAX_SEGMENTS:
        queued = Enter(pb.RUN_STATE_QUEUED, "the daemon was restarted")
        return replace(status, state=pb.RUN_STATE_QUEUED), [queued]
    failure = pb.Failure(
        failure_class=pb.FAILURE_CLASS_INFRASTRUCTURE,
        reason="TOO_MANY_SEGMENTS",
        message=f"the daemon died in each of {status.segments} segments; look at its log before resuming the run",
    )
    failed = Enter(pb.RUN_STATE_FAILED, failure.reason, failure)
    return replace(status, state=pb.RUN_STATE_FAILED, failure=failure), [failed, Finish()]


def _resume(status: Status, _event: ResumeAsked) -> Outcome:
    failure = status.failure
    if failure is None or not resumable(failure):
        name = pb.FailureClass.Name(failure.failure_class if failure else 0).removeprefix("FAILURE_CLASS_")
        raise Impossible(f"a run that failed as {name} is final")
    queued = Enter(pb.RUN_STATE_QUEUED, "resumed by request")
    return replace(status, state=pb.RUN_STATE_QUEUED, failure=None), [queued]


def resumable(failure: pb.Failure) -> bool:
    """Tell whether a run that failed so may go on when somebody asks."""
    return failure.failure_class in RESUMABLE and failure.reason != JOURNAL_DAMAGED


def _stay(status: Status, _event: object) -> Outcome:
    return status, []


_CANCELLED = _to(pb.RUN_STATE_CANCELLED, "", Finish())

_TABLE: dict[tuple[pb.RunState, type], Callable[[Status, Any], Outcome]] = {
    (pb.RUN_STATE_QUEUED, BoardFree): _begin,
    (pb.RUN_STATE_QUEUED, CancelAsked): _cancel_queued,
    (pb.RUN_STATE_QUEUED, DaemonDied): _stay,
    (pb.RUN_STATE_QUEUED, DiskFull): _stay,
    (pb.RUN_STATE_QUEUED, DiskRoom): _stay,
    (pb.RUN_STATE_PREPARING, WorkerReady): _to(pb.RUN_STATE_RUNNING),
    (pb.RUN_STATE_PREPARING, AllAccepted): _to(pb.RUN_STATE_FINISHING, "every sample was accepted before", Summarise()),
    (pb.RUN_STATE_PREPARING, Failed): _fail,
    (pb.RUN_STATE_PREPARING, CancelAsked): _cancel,
    (pb.RUN_STATE_PREPARING, DaemonDied): _recover,
    (pb.RUN_STATE_PREPARING, DiskFull): _stay,
    (pb.RUN_STATE_PREPARING, DiskRoom): _stay,
    (pb.RUN_STATE_RUNNING, AllAccepted): _to(pb.RUN_STATE_FINISHING, "", Summarise()),
    (pb.RUN_STATE_RUNNING, Failed): _fail,
    (pb.RUN_STATE_RUNNING, CancelAsked): _cancel,
    (pb.RUN_STATE_RUNNING, DiskFull): _to(pb.RUN_STATE_PAUSED, "the disk is full"),
    (pb.RUN_STATE_RUNNING, DiskRoom): _stay,
    (pb.RUN_STATE_RUNNING, DaemonDied): _recover,
    (pb.RUN_STATE_PAUSED, DiskRoom): _to(pb.RUN_STATE_RUNNING, "there is room again"),
    (pb.RUN_STATE_PAUSED, DiskFull): _stay,
    (pb.RUN_STATE_PAUSED, AllAccepted): _to(pb.RUN_STATE_FINISHING, "", Summarise()),
    (pb.RUN_STATE_PAUSED, Failed): _fail,
    (pb.RUN_STATE_PAUSED, CancelAsked): _cancel,
    (pb.RUN_STATE_PAUSED, DaemonDied): _recover,
    (pb.RUN_STATE_FINISHING, Summarised): _to(pb.RUN_STATE_SUCCEEDED, "", Finish()),
    (pb.RUN_STATE_FINISHING, Failed): _fail,
    (pb.RUN_STATE_FINISHING, DaemonDied): _recover,
    (pb.RUN_STATE_FINISHING, DiskFull): _stay,
    (pb.RUN_STATE_FINISHING, DiskRoom): _stay,
    (pb.RUN_STATE_CANCELLING, WorkerGone): _CANCELLED,
    (pb.RUN_STATE_CANCELLING, Failed): _CANCELLED,
    (pb.RUN_STATE_CANCELLING, CancelAsked): _stay,
    (pb.RUN_STATE_CANCELLING, DaemonDied): _CANCELLED,
    (pb.RUN_STATE_CANCELLING, DiskFull): _stay,
    (pb.RUN_STATE_CANCELLING, DiskRoom): _stay,
    (pb.RUN_STATE_CANCELLED, CancelAsked): _stay,
    (pb.RUN_STATE_FAILED, ResumeAsked): _resume,
}
