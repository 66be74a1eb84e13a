"""The levels of isolation, and why the one in force is not a higher one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["none", "network", "sandbox"]
LEVELS: tuple[Level, ...] = ("none", "network", "sandbox")


@dataclass(frozen=True)
class Isolation:
    """The level in force. `reason` says of each higher one why it is not, and what to do; empty for `sandbox`."""

    level: Level
    reason: str = ""

    def reaches(self, floor: Level) -> bool:
        """Tell whether it is at least `floor`."""
        return LEVELS.index(self.level) >= LEVELS.index(floor)
