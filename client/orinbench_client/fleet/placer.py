"""Which run goes to which free board next: a decision without I/O."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, TypeVar

C = TypeVar("C")
#: Seconds a run is expected to take on a board; None where nothing is known of it.
Expected = Callable[[C, str], "float | None"]


class Kind(NamedTuple):
    """Runs that should take equally long on one board: suite and model by digest, and the limit of samples or None."""

    suite: str
    model: str
    limit: int | None


class Durations:
    """What runs took, in seconds, by kind and board."""

    def __init__(self) -> None:
        self._seconds: dict[Kind, dict[str, list[float]]] = {}

    def add(self, kind: Kind, board: str, seconds: float) -> None:
        """Take note of a run that succeeded."""
        self._seconds.setdefault(kind, {}).setdefault(board, []).append(seconds)

    def expected(self, kind: Kind, board: str) -> float | None:
        """Return the mean of the runs of a kind on a board, else on all boards; None where there is none."""
        found = self._seconds.get(kind, {})
        seconds = found.get(board) or [each for several in found.values() for each in several]
        return sum(seconds) / len(seconds) if seconds else None


def place(
    waiting: Mapping[C, Collection[str]], free: Mapping[str, float], expected: Expected[C]
) -> tuple[C, str] | None:
    """Return the next run and its board; None when no free board may take any that waits.

    `waiting` are the runs in their order, each with the boards that may take it; `free` the boards without a run of
    ours, each with the seconds until it would begin one.

    List scheduling (Graham 1966): no board stays free while it may take a run. Runs that fewer boards may take go
    first (least flexible job first), then those of unknown length in their order, then the longest expected first
    (LPT, Graham 1969). Among boards that on which the run is expected to end first.
    """
    able = {run: [board for board in free if board in boards] for run, boards in waiting.items()}
    candidates = [run for run, boards in able.items() if boards]
    if not candidates:
        return None

    def urgency(run: C) -> tuple[int, float]:
        known = [seconds for board in able[run] if (seconds := expected(run, board)) is not None]
        return len(waiting[run]), -max(known) if known else float("-inf")

    run = min(candidates, key=urgency)
    return run, min(able[run], key=lambda board: free[board] + (expected(run, board) or 0.0))
