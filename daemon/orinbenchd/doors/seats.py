"""How many streams may be open: in all, and for each caller who comes by TCP."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

from orinbenchd.config import Limits
from orinbenchd.doors.roles import LOCAL, ROLES, Caller
from orinbenchd.errors import ResourceExhausted


class Seats:
    """Counts open streams. One caller cannot take them all; the operator at the Unix socket may."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._taken: Counter[Caller] = Counter()
        self._watching = 0

    @property
    def watching(self) -> int:
        """Streams of runs and readings, as the board's page shows them."""
        return self._watching

    @contextlib.contextmanager
    def take(self, method: str, caller: Caller) -> Iterator[None]:
        """Hold a seat. Raises ResourceExhausted."""
        everybody, own = self._limits.streams, self._limits.streams_per_caller
        if self._taken.total() >= everybody:
            raise _taken(f"{everybody} streams are open already", everybody)
        if caller != LOCAL and self._taken[caller] >= own:
            raise _taken(f"{caller.name} has {own} streams open already", own)
        watching = method in ROLES and "/Watch" in method
        self._taken[caller] += 1
        self._watching += watching
        try:
            yield
        finally:
            self._watching -= watching
            self._taken[caller] -= 1
            if not self._taken[caller]:
                del self._taken[caller]


def _taken(what: str, limit: int) -> ResourceExhausted:
    return ResourceExhausted("TOO_MANY_WATCHERS", f"{what}: try again later", limit=limit)
