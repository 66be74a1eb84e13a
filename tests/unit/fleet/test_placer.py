"""Which run goes where: the promises of the placement, held against any pool."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st
from orinbench_client.fleet.placer import Durations, Kind, place

BOARDS = ("a", "b", "c", "d")
waiting = st.dictionaries(st.integers(0, 30), st.frozensets(st.sampled_from(BOARDS)), max_size=12)
free = st.dictionaries(st.sampled_from(BOARDS), st.floats(0, 100), max_size=4)
lengths = st.lists(st.floats(0.1, 100), min_size=1, max_size=14)


def nothing_known(run: int, board: str) -> None:
    """No run was seen before."""


def simulate(seconds: Mapping[int, float], boards: int, expected: Callable[[int, str], float | None]) -> float:
    """Return when the last run ends if each board that becomes free gets what is placed on it."""
    names = BOARDS[:boards]
    ends = [(0.0, name) for name in names]
    todo = dict.fromkeys(seconds, names)
    last = 0.0
    while todo:
        now, board = heapq.heappop(ends)
        placed = place(todo, {board: 0.0}, expected)
        assert placed is not None
        del todo[placed[0]]
        last = max(last, now + seconds[placed[0]])
        heapq.heappush(ends, (now + seconds[placed[0]], board))
    return last


@given(waiting, free)
def test_only_where_it_may(runs: dict[int, frozenset[str]], boards: dict[str, float]) -> None:
    """A run is placed exactly when a free board may take one, and only on such a board."""
    placed = place(runs, boards, nothing_known)

    assert (placed is not None) is any(set(boards) & able for able in runs.values())
    if placed is not None:
        run, board = placed
        assert board in boards
        assert board in runs[run]


@given(waiting, free)
def test_whoever_has_the_least_choice_goes_first(runs: dict[int, frozenset[str]], boards: dict[str, float]) -> None:
    """No run that fewer boards may take waits behind the one that is placed."""
    placed = place(runs, boards, nothing_known)

    if placed is not None:
        choices = [len(able) for able in runs.values() if able & set(boards)]
        assert len(runs[placed[0]]) == min(choices)


@given(lengths, st.integers(1, 4))
def test_without_knowledge_it_is_list_scheduling(seconds: list[float], boards: int) -> None:
    """In the given order, and never longer than Graham's bound: 2 - 1/m times what no schedule can beat."""
    runs = dict(enumerate(seconds))
    least = max(sum(seconds) / boards, max(seconds))

    placed = place(dict.fromkeys(runs, BOARDS), dict.fromkeys(BOARDS, 0.0), nothing_known)
    assert placed == (0, "a")
    assert simulate(runs, boards, nothing_known) <= (2 - 1 / boards) * least * (1 + 1e-9)


@given(lengths, st.integers(1, 4))
def test_with_knowledge_the_longest_goes_first(seconds: list[float], boards: int) -> None:
    """The longest expected first: what waits is never longer than what is placed, and the end is LPT's."""
    runs = dict(enumerate(seconds))
    placed = place(dict.fromkeys(runs, BOARDS), {"a": 0.0}, lambda run, board: runs[run])

    assert placed is not None
    assert runs[placed[0]] == max(seconds)
    loads = [0.0] * boards
    for took in sorted(seconds, reverse=True):
        loads[loads.index(min(loads))] += took
    assert abs(simulate(runs, boards, lambda run, board: runs[run]) - max(loads)) < 1e-6


def test_unknown_first_then_where_it_ends_first() -> None:
    """A run of unknown length goes before known ones; a known one goes where it is expected to end first."""
    seconds = {("known", "a"): 30.0, ("known", "b"): 20.0}

    def expected(run: str, board: str) -> float | None:
        return seconds.get((run, board))

    assert place({"known": BOARDS, "unknown": BOARDS}, {"a": 0, "b": 0}, expected) == ("unknown", "a")
    assert place({"known": BOARDS}, {"a": 0, "b": 0}, expected) == ("known", "b")
    assert place({"known": BOARDS}, {"a": 0, "b": 11}, expected) == ("known", "a")


def test_durations_of_the_board_before_those_of_others() -> None:
    """The mean of a board's own runs counts, else that of all; another limit of samples is another length."""
    durations = Durations()
    kind = Kind("suite", "model", None)
    for board, seconds in (("a", 10.0), ("a", 20.0), ("b", 60.0)):
        durations.add(kind, board, seconds)

    assert durations.expected(kind, "a") == 15
    assert durations.expected(kind, "c") == 30
    assert durations.expected(kind._replace(limit=3), "a") is None
