"""The work at the boards done by this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orinbench_client.fleet import hands
from orinbench_client.fleet.hands import Job, Measured, Sight


class Here:
    """Hands of this process: bundles go straight into `results`, `tell` hears what happens on the way."""

    def __init__(self, results: Path, tell: Callable[[str], None]) -> None:
        self._results = results
        self._tell = tell

    async def look(self, board: str, profile: str) -> Sight:
        """Return what a board is now."""
        return await hands.look(board, profile)

    async def measure(self, board: str, job: Job) -> Measured:
        """Have a board do a job."""
        return await hands.measure(board, job, self._results, lambda text: self._tell(f"{board}: {text}"))

    async def cancel(self, board: str, run: str, reason: str) -> None:
        """Stop a run."""
        await hands.cancel(board, run, reason)
