"""How long a worker may be silent."""

from __future__ import annotations

import pytest
from orinbench.internal.v1 import worker_pb2
from orinbenchd.config import Deadlines
from orinbenchd.worker.deadlines import DeadlineKeeper

LIMITS = Deadlines(start_s=1, load_s=2, first_sample_s=10, sample_floor_s=5)


def _keeper(**bounds: float) -> DeadlineKeeper:
    keeper = DeadlineKeeper(LIMITS)
    keeper.enter(worker_pb2.Phase(kind=worker_pb2.PHASE_KIND_SAMPLING, **bounds))  # type: ignore[arg-type]
    return keeper


def test_each_phase_has_its_own() -> None:
    """Before it has said anything, and while it loads, other limits hold than for a sample."""
    keeper = DeadlineKeeper(LIMITS)
    before = keeper.seconds()
    keeper.enter(worker_pb2.Phase(kind=worker_pb2.PHASE_KIND_LOADING))

    assert (before, keeper.seconds()) == (1, 2)


def test_the_first_sample_may_take_what_it_declares() -> None:
    """Longer audio and more tokens give the first sample more time, in proportion."""
    assert _keeper().seconds() == 10
    assert _keeper(audio_seconds=30).seconds() - 10 == pytest.approx(30 * (_keeper(audio_seconds=1).seconds() - 10))
    assert _keeper(max_tokens=400).seconds() - 10 == pytest.approx(400 * (_keeper(max_tokens=1).seconds() - 10))
    assert _keeper(audio_seconds=30, max_tokens=400).seconds() > _keeper(max_tokens=400).seconds()


def test_later_ones_follow_the_median() -> None:
    """One slow sample among many does not stretch the deadline, the usual pace does, and the floor holds."""
    keeper = _keeper()
    for window_s in (1.0, 1.0, 1.0, 500.0):
        keeper.sample(window_s)
    usual = keeper.seconds()
    fast = _keeper()
    fast.sample(0.001)

    assert 1 < usual < 500
    assert fast.seconds() == 5
