"""How long to wait before the next try."""

from __future__ import annotations

import random


class Backoff:
    """Full jitter: each wait is drawn from 0 to a bound that doubles from `base_s` up to `cap_s` seconds."""

    def __init__(self, base_s: float = 0.2, cap_s: float = 5.0) -> None:
        self._base_s = base_s
        self._cap_s = cap_s
        self.tries = 0

    def next(self) -> float:
        """Return the next wait in seconds."""
        bound = min(self._cap_s, self._base_s * 2 ** min(self.tries, 30))
        self.tries += 1
        return random.uniform(0, bound)  # noqa: S311 - jitter, no secret

    def reset(self) -> None:
        """Begin anew: the link is proven good."""
        self.tries = 0
