"""Shows a followed run: live on a terminal, else a line every few seconds. All of it on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from orinbench.v1.record_pb2 import RUN_STATE_QUEUED, RUN_STATE_RUNNING, RunState

from orinbench_client.cli.common import gibibytes, seconds, word
from orinbench_client.follow.progress import Progress
from orinbench_client.scoring.score import RunningRate

if TYPE_CHECKING:
    from rich.console import Group

LINE_EVERY_S = 5.0


def open_view() -> LiveView | LineView:
    """Return a live view if standard error is a terminal, else one that prints lines."""
    if sys.stderr.isatty():
        return LiveView()
    return LineView()


class LineView:
    """Prints a line when the state changes and else every `every_s` seconds at most."""

    def __init__(self, every_s: float = LINE_EVERY_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s = every_s
        self._clock = clock
        self._due = clock()
        self._shown: tuple[RunState, str] | None = None

    def update(self, progress: Progress) -> None:
        """Print a line if one is due."""
        now, state = self._clock(), (progress.state, progress.phase)
        if state != self._shown or now >= self._due:
            self._shown, self._due = state, now + self._every_s
            self.note(status(progress))

    def note(self, text: str) -> None:
        """Print a line."""
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing to put in order."""


class LiveView:
    """Draws a bar and a line of figures in place, several times a second."""

    def __init__(self) -> None:
        # Imported here: only a terminal needs it.
        from rich.console import Console
        from rich.live import Live

        self._progress: Progress | None = None
        self._console = Console(stderr=True)
        self._live = Live(get_renderable=self._draw, console=self._console, refresh_per_second=5, transient=True)
        self._live.start()

    def update(self, progress: Progress) -> None:
        """Draw this from now on."""
        self._progress = progress

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        """Take the bar away."""
        self._live.stop()

    def _draw(self) -> Group:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        progress = self._progress
        if progress is None:
            return Group()
        bar = ProgressBar(total=max(progress.planned, 1), completed=progress.accepted, width=40)
        return Group(Text(status(progress)), bar)


def status(progress: Progress) -> str:
    """Return what is known of the run now as one line. What is not known is left out."""
    return "  ".join(_parts(progress))


def _parts(progress: Progress) -> Iterator[str]:
    state = word(RunState, progress.state, "RUN_STATE_")
    yield f"{state} ({progress.phase.lower().replace('_', ' ')})" if progress.phase else state
    if progress.state == RUN_STATE_QUEUED:
        if progress.queue_position is not None:
            yield f"{progress.queue_position} ahead"
        if progress.expected_wait_s is not None:
            yield f"expected wait {seconds(progress.expected_wait_s)}"
        return
    if progress.segment > 1:
        yield f"segment {progress.segment}"
    yield f"{progress.accepted}/{progress.planned}"
    if progress.score is not None:
        if headline := progress.score.headline:
            name, value = headline
            yield f"{name} {rate(value)}"
        if progress.score.remark:
            yield progress.score.remark
    if progress.rtf is not None:
        yield f"RTF {progress.rtf:.4f}"
    if progress.memory_bytes is not None:
        yield f"memory {gibibytes(progress.memory_bytes)}"
    yield from _board(progress)
    if progress.state == RUN_STATE_RUNNING and progress.eta_s is not None:
        yield f"ETA {seconds(progress.eta_s)}"


def _board(progress: Progress) -> Iterator[str]:
    reading = progress.telemetry
    if reading is None:
        return
    if reading.HasField("module_power_w"):
        yield f"{reading.module_power_w:.1f} W"
    if reading.temperatures_c:
        yield f"{max(reading.temperatures_c.values()):.0f} °C"


def rate(value: RunningRate) -> str:
    """Return a rate with its interval in percent."""
    if value.interval is None:
        return f"{100 * value.value:.1f} %"
    low, high = value.interval
    return f"{100 * value.value:.1f} % ({100 * low:.1f}–{100 * high:.1f})"
