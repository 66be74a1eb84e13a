"""The order of the queue: whoever waits has a turn, and nobody takes another's."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from orinbenchd.runs.queue import HIGHEST, LOWEST, PATIENCE, Turns, Waiting, in_order

_NAMES = st.sampled_from(["ann", "bob", "ci"])


@st.composite
def _queues(draw: st.DrawFn) -> list[Waiting]:
    rows = draw(st.lists(st.tuples(_NAMES, st.integers(LOWEST, HIGHEST), st.booleans()), max_size=30))
    queue = [Waiting(number, *row) for number, row in enumerate(rows)]
    return draw(st.permutations(queue))


_TURNS = st.builds(
    Turns,
    st.dictionaries(st.integers(LOWEST, HIGHEST), st.integers(0, 50)),
    st.permutations(["ann", "bob", "ci"]).map(tuple),
)


def _begun(queue: Sequence[Waiting], turns: Turns = Turns()) -> list[Waiting]:  # noqa: B008  # it is frozen
    """Take the first one until none is left, as the daemon does."""
    left, begun = list(queue), []
    while left:
        first = in_order(left, turns)[0]
        turns = turns.after(first, left)
        left.remove(first)
        begun.append(first)
    return begun


@given(_queues(), _TURNS)
def test_what_is_shown_is_what_comes(queue: list[Waiting], turns: Turns) -> None:
    """The order that is shown holds every run once, whatever order they are given in, and is how they then begin."""
    shown = in_order(queue, turns)

    assert sorted(shown) == sorted(queue)
    assert shown == in_order(sorted(queue), turns)
    assert shown == _begun(queue, turns)


@given(_queues(), _TURNS)
def test_nobody_overtakes_themselves(queue: list[Waiting], turns: Turns) -> None:
    """Interrupted runs come first; of one submitter and priority the runs begin in order of submission."""
    shown = in_order(queue, turns)

    interrupted = [run.interrupted for run in shown]
    assert interrupted == sorted(interrupted, reverse=True)
    for submitter in ("ann", "bob", "ci"):
        for priority in range(LOWEST, HIGHEST + 1):
            own = [
                run.number
                for run in shown
                if (run.submitter, run.priority, run.interrupted) == (submitter, priority, False)
            ]
            assert own == sorted(own)


@given(st.lists(_NAMES, min_size=1, max_size=30))
def test_submitters_take_turns(names: list[str]) -> None:
    """In one priority nobody begins a second run while another who waits has not begun as many, whoever came first."""
    begun = _begun([Waiting(number, name) for number, name in enumerate(names)])

    for place in range(len(begun)):
        left = {run.submitter for run in begun[place:]}
        had = {name: sum(run.submitter == name for run in begun[:place]) for name in left}
        assert max(had.values()) - min(had.values()) <= 1


@given(st.integers(LOWEST, HIGHEST), st.integers(LOWEST, HIGHEST))
def test_no_priority_starves(low: int, high: int) -> None:
    """A run waits for a bounded number of others, although one of a higher priority always waits too."""
    patient, turns = Waiting(0, "ann", low), Turns()
    for number in range(1, (HIGHEST - LOWEST + 1) * PATIENCE + 2):
        queue = [patient, Waiting(number, "bob", high)]
        first = in_order(queue, turns)[0]
        if first == patient:
            return
        turns = turns.after(first, queue)
    raise AssertionError("it never had its turn")


def test_a_higher_priority_goes_first() -> None:
    """Without a long wait the higher priority begins first, whoever submitted it and when."""
    queue = [Waiting(1, "ann"), Waiting(2, "ann", -1), Waiting(3, "bob", 2), Waiting(4, "ann", 0, True)]

    assert [run.number for run in in_order(queue, Turns(served=("bob",)))] == [4, 3, 1, 2]
