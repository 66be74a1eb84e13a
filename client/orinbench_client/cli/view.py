"""Shows a followed run: live on a terminal, else a line now and then. All of it on standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from orinbench.v1.record_pb2 import RUN_STATE_QUEUED, RUN_STATE_RUNNING, RunState

from orinbench_client.cli.common import gibibytes, seconds, word
from orinbench_client.cli.terminal import STATES, plain
from orinbench_client.follow.progress import Progress
from orinbench_client.scoring.score import RunningRate

if TYPE_CHECKING:
    from rich.console import Group

# Lines come at first so often, then ever more seldom: a log of hours is read too.
FIRST_EVERY_S = 5.0
LAST_EVERY_S = 60.0


def open_view() -> LiveView | LineView:
    """Return a live view if standard error is a terminal that can redraw, else one that prints lines."""
    if sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown"):
        return LiveView()
    return LineView()


class LineView:
    """Prints a line when the state changes, and else when one is due."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._every_s = FIRST_EVERY_S
        self._due = clock()
        self._shown: tuple[RunState, str] | None = None

    def update(self, progress: Progress) -> None:
        """Print a line if one is due."""
        now, state = self._clock(), (progress.state, progress.phase)
        if state != self._shown:
            self._every_s = FIRST_EVERY_S
        elif now < self._due:
            return
        else:
            self._every_s = min(2 * self._every_s, LAST_EVERY_S)
        self._shown, self._due = state, now + self._every_s
        self.note(status(progress))

    def note(self, text: str) -> None:
        """Print a line."""
        print(plain(text), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing to put in order."""


class LiveView:
    """Draws a bar and two lines of figures in place, several times a second."""

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
        colour = "yellow" if text.startswith("violation ") else ""
        self._console.print(plain(text), style=colour, markup=False, highlight=False)

    def close(self) -> None:
        """Take the bar away."""
        self._live.stop()

    def _draw(self) -> Group:
        from rich.console import Group

        return draw(self._progress) if self._progress is not None else Group()


def draw(progress: Progress) -> Group:
    """Return a run as a bar with what is known of it below, for 80 columns and more."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True, justify="right")
    state = word(RunState, progress.state, "RUN_STATE_")
    head = Text(" ".join(_head(progress)), style=f"bold {STATES.get(state, '')}".strip())
    if progress.state == RUN_STATE_QUEUED:
        grid.add_row(head, Text("  ".join(_queue(progress)), overflow="fold"), "")
        return Group(grid)
    bar = ProgressBar(total=max(progress.planned, 1), completed=progress.accepted)
    grid.add_row(head, bar, Text("  ".join(_done(progress))))
    rates, device = "  ".join(_rates(progress)), "  ".join(_device(progress))
    return Group(grid, *(Text(line, overflow="fold") for line in (rates, device) if line))


def status(progress: Progress) -> str:
    """Return what is known of the run now as one line. What is not known is left out."""
    parts = [" ".join(_head(progress))]
    if progress.state == RUN_STATE_QUEUED:
        return "  ".join([*parts, *_queue(progress)])
    return "  ".join([*parts, *_done(progress), *_rates(progress), *_device(progress)])


def _head(progress: Progress) -> Iterator[str]:
    yield word(RunState, progress.state, "RUN_STATE_")
    if progress.phase:
        yield f"({progress.phase.lower().replace('_', ' ')})"
    if progress.segment > 1:
        yield f"segment {progress.segment}"


def _queue(progress: Progress) -> Iterator[str]:
    if progress.queue_position is not None:
        yield f"{progress.queue_position} ahead"
    if progress.expected_wait_s is not None:
        yield f"expected wait {seconds(progress.expected_wait_s)}"


def _done(progress: Progress) -> Iterator[str]:
    yield f"{progress.accepted}/{progress.planned}"
    if progress.state == RUN_STATE_RUNNING and progress.eta_s is not None:
        yield f"ETA {seconds(progress.eta_s)}"


def _rates(progress: Progress) -> Iterator[str]:
    if progress.score is not None:
        for name, value in progress.score.figures:
            yield f"{name} {rate(value)}"
        if progress.score.remark:
            yield progress.score.remark
    if progress.rtf is not None:
        yield f"RTF {progress.rtf:.4f}"


def _device(progress: Progress) -> Iterator[str]:
    if progress.memory_bytes is not None:
        yield f"peak memory {gibibytes(progress.memory_bytes)}"
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
