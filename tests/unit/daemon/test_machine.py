"""The run's state machine, as a table and as a walk."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench.v1 import record_pb2 as pb
from orinbenchd.runs import machine as m

EVENTS = [
    m.BoardFree(),
    m.WorkerReady(),
    m.AllAccepted(),
    m.Summarised(),
    m.DiskFull(),
    m.DiskRoom(),
    m.CancelAsked("enough"),
    m.WorkerGone(),
    m.DaemonDied(),
    m.ResumeAsked(),
    *(m.Failed(pb.Failure(failure_class=name, reason="X")) for name in pb.FailureClass.keys()[1:]),
]


def entered(instructions: list[m.Instruction]) -> list[pb.RunState]:
    """Return the states that are journaled."""
    return [item.state for item in instructions if isinstance(item, m.Enter)]


def walk(*events: object) -> m.Status:
    """Apply events to a new run."""
    status = m.Status(pb.RUN_STATE_QUEUED)
    for event in events:
        status, _ = m.handle(status, event)
    return status


def test_the_plain_life_of_a_run() -> None:
    """A run goes through the five states in order and is finished once."""
    status = m.Status(pb.RUN_STATE_QUEUED)
    states, finishes = [], 0
    for event in (m.BoardFree(), m.WorkerReady(), m.AllAccepted(), m.Summarised()):
        status, instructions = m.handle(status, event)
        states += entered(instructions)
        finishes += sum(isinstance(item, m.Finish) for item in instructions)

    assert states == [
        pb.RUN_STATE_PREPARING,
        pb.RUN_STATE_RUNNING,
        pb.RUN_STATE_FINISHING,
        pb.RUN_STATE_SUCCEEDED,
    ]
    assert finishes == 1


@given(st.lists(st.sampled_from(EVENTS), max_size=40))
def test_no_walk_leaves_the_rules(events: list[object]) -> None:
    """On any walk: journaled states are where the run is, an end is finished exactly once, segments stay in bounds."""
    status = m.Status(pb.RUN_STATE_QUEUED)
    for event in events:
        before = status
        try:
            status, instructions = m.handle(status, event)
        except m.Impossible:
            continue
        states = entered(instructions)
        assert states[-1:] in ([status.state], [])
        assert bool(states) == (status.state != before.state)
        finishes = [item for item in instructions if isinstance(item, m.Finish)]
        assert len(finishes) == (status.state in m.TERMINAL and before.state not in m.TERMINAL)
        if finishes:
            assert instructions[-1] == finishes[0]
        assert (status.failure is not None) == (status.state == pb.RUN_STATE_FAILED)
        assert status.segments - before.segments == isinstance(event, m.BoardFree)


@given(st.sampled_from([pb.RUN_STATE_SUCCEEDED, pb.RUN_STATE_CANCELLED]), st.sampled_from(EVENTS))
def test_success_and_cancellation_are_final(state: pb.RunState, event: object) -> None:
    """No event changes a succeeded or cancelled run."""
    status = m.Status(state, 1)
    try:
        after, instructions = m.handle(status, event)
    except m.Impossible:
        return
    assert (after, instructions) == (status, [])


def test_three_segments_by_itself_and_no_more() -> None:
    """A daemon that dies in each segment gives the run up at the third, as infrastructure."""
    die = (m.BoardFree(), m.DaemonDied())
    assert walk(*die, *die).state == pb.RUN_STATE_QUEUED

    status = walk(*die, *die, *die)
    assert status.state == pb.RUN_STATE_FAILED
    assert status.failure is not None
    assert status.failure.failure_class == pb.FAILURE_CLASS_INFRASTRUCTURE


@pytest.mark.parametrize("number", [n for n in pb.FailureClass.values() if n])
def test_only_some_failures_can_be_resumed(number: pb.FailureClass) -> None:
    """Hung, crashed, board and infrastructure may go on; model, OOM, policy and input are final."""
    failed = walk(m.BoardFree(), m.Failed(pb.Failure(failure_class=number)))
    if number in m.RESUMABLE:
        assert m.handle(failed, m.ResumeAsked())[0].state == pb.RUN_STATE_QUEUED
    else:
        with pytest.raises(m.Impossible, match="final"):
            m.handle(failed, m.ResumeAsked())


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_whatever_comes_to_a_running_run_may_come_while_it_waits_for_room(event: object) -> None:
    """The disk fills at any moment, also behind the last sample: no event that a run can take fells a paused one."""
    running = walk(m.BoardFree(), m.WorkerReady())
    paused = walk(m.BoardFree(), m.WorkerReady(), m.DiskFull())
    try:
        m.handle(running, event)
    except m.Impossible:
        return
    m.handle(paused, event)


def test_every_state_survives_the_death_of_the_daemon() -> None:
    """In every state that is no end, a restart leads somewhere: nothing can be stuck."""
    for number in pb.RunState.values():
        if number and number not in m.TERMINAL:
            m.handle(m.Status(cast("pb.RunState", number), 1), m.DaemonDied())
