"""What `orinbench top` draws: the run above, the board below; beside each other where the terminal is wide."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from orinbench.v1.board_pb2 import Board, BoardState
from orinbench.v1.record_pb2 import RunState
from orinbench.v1.run_pb2 import Run
from orinbench.v1.telemetry_pb2 import SOURCE_STATE_OK, CpuReading, SourceState, SourceStatus, Telemetry
from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orinbench_client.cli.common import gibibytes, seconds, word
from orinbench_client.cli.terminal import STATES, isolate, plain
from orinbench_client.follow.progress import headline_bytes

UNKNOWN = "–"
#: From here on run and board stand beside each other.
WIDE = 120
_LEVELS = "▁▂▃▄▅▆▇█"
_HISTORY = 16
_QUEUE_SHOWN = 3
_VIOLATIONS_SHOWN = 3
# From here on a temperature is worth a look: the Orin slows down a little above 95 °C.
_WARM_C, _HOT_C = 75, 90


@dataclass(frozen=True)
class Seen:
    """One look at a board: itself, its readings, the active run, and the runs that wait, the next one first."""

    board: Board
    reading: Telemetry
    run: Run | None = None
    queue: Sequence[Run] = ()


class Dashboard:
    """A renderable of the last look; remembers what pace, curves and new throttle events need."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: Seen | None = None
        self._first: Telemetry | None = None
        self._power: deque[float | None] = deque(maxlen=_HISTORY)
        self._load: deque[float | None] = deque(maxlen=_HISTORY)
        # Run, when it was first seen at work, and how many samples it had then.
        self._pace: tuple[str, float, int] | None = None
        #: Why there is no newer look; empty while there is one.
        self.lost = ""

    def take(self, seen: Seen) -> None:
        """Take in one look."""
        self.lost, self._seen = "", seen
        self._first = self._first or seen.reading
        self._power.append(_value(seen.reading, "module_power_w"))
        self._load.append(_value(seen.reading, "gpu_load_pct"))
        run = seen.run
        if run is None or not run.accepted_samples:
            self._pace = None
        elif self._pace is None or self._pace[0] != run.name:
            self._pace = run.name, self._clock(), run.accepted_samples

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        seen = self._seen
        if seen is None:
            yield Text("waiting for the board …")
            return
        yield self._title(seen)
        work, board = self._work(seen), self._board(seen)
        if options.max_width >= WIDE:
            both = Table.grid(padding=(0, 3), expand=True)
            both.add_column(ratio=4)
            both.add_column(ratio=5)
            both.add_row(work, board)
            yield both
        else:
            yield Group(work, board)

    def _title(self, seen: Seen) -> Text:
        board = seen.board
        state = word(BoardState, board.state, "BOARD_STATE_")
        title = Text.assemble((board.name, "bold"), "  ", (state, STATES.get(state, "")))
        if board.simulated:
            title.append("  simulated", "yellow")
        title.append(f"  {board.hardware_profile}")
        if not board.profile_matches:
            title.append(" DOES NOT MATCH", "bold red")
        mode = seen.reading.power_mode if seen.reading.HasField("power_mode") else UNKNOWN
        title.append(f"  power mode {mode}")
        for trouble in (board.state_reason, self.lost and f"link lost, trying again: {self.lost}"):
            if trouble:
                title.append(f"\n{plain(trouble)}", "bold red")
        return title

    def _work(self, seen: Seen) -> RenderableType:
        grid = _grid()
        run, board = seen.run, seen.board
        if run is None:
            grid.add_row("run", Text("none", "dim"))
        else:
            for name, shown in self._run(run, seen.reading):
                grid.add_row(name, shown)
        grid.add_row("queue", _queue(board))
        for waiting in seen.queue[:_QUEUE_SHOWN]:
            grid.add_row("", f"{waiting.queue_position} ahead: {_what(waiting)}")
        if (more := len(seen.queue) - _QUEUE_SHOWN) > 0:
            grid.add_row("", f"and {more} more")
        grid.add_row("on the GPU", _clients(board))
        return grid

    def _run(self, run: Run, reading: Telemetry) -> Iterator[tuple[str, RenderableType]]:
        yield "run", Text(run.name.removeprefix("runs/"), "bold")
        yield "", _what(run)
        state = word(RunState, run.state, "RUN_STATE_")
        line = Table.grid(padding=(0, 2), expand=True)
        line.add_column(no_wrap=True)
        line.add_column(ratio=1)
        line.add_column(no_wrap=True)
        bar = ProgressBar(total=max(run.planned_samples, 1), completed=run.accepted_samples)
        line.add_row(Text(state, STATES.get(state, "")), bar, f"{run.accepted_samples}/{run.planned_samples}")
        yield "", line
        yield "", "  ".join(self._times(run, reading))
        peak = headline_bytes(run.memory)
        worker = _bytes(reading, "worker_rss_bytes")
        yield "worker", f"resident {worker}, peak {gibibytes(peak) if peak is not None else UNKNOWN}"
        for violation in run.violations[-_VIOLATIONS_SHOWN:]:
            yield "", Text(plain(f"! {violation.reason}: {violation.message}"), "yellow")

    def _times(self, run: Run, reading: Telemetry) -> Iterator[str]:
        if run.HasField("start_time"):
            yield f"for {seconds(max(0.0, reading.time.ToNanoseconds() - run.start_time.ToNanoseconds()) / 1e9)}"
        if len(run.segments) > 1:
            yield f"segment {len(run.segments)}"
        eta = self._eta(run)
        yield f"ETA {seconds(eta) if eta is not None else UNKNOWN}"

    def _eta(self, run: Run) -> float | None:
        if self._pace is None:
            return None
        _, began, before = self._pace
        done = run.accepted_samples - before
        return (self._clock() - began) / done * (run.planned_samples - run.accepted_samples) if done > 0 else None

    def _board(self, seen: Seen) -> RenderableType:
        grid, reading = _grid(), seen.reading
        for name, shown in (
            ("GPU", _gpu(reading).append_text(_curve(self._load, 100.0))),
            ("CPU", _cpu_line(reading)),
            ("memory", _memory(reading)),
            ("power", _power(reading).append_text(_curve(self._power, None))),
            ("rails", _rails(reading)),
            ("heat", _heat(reading)),
            ("throttled", self._throttles(reading)),
            ("sources", _sources(reading)),
        ):
            grid.add_row(name, shown)
        return grid

    def _throttles(self, reading: Telemetry) -> Text:
        if not reading.throttle_events:
            return Text(UNKNOWN)
        before = self._first.throttle_events if self._first is not None else {}
        text = Text("since boot:")
        for name, count in sorted(reading.throttle_events.items()):
            rise = count - before.get(name, count)
            text.append(f"  {name} {count}", "yellow" if count else "")
            if rise > 0:
                text.append(f" (+{rise} while watching)", "bold red")
        return text


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(style="dim", no_wrap=True, min_width=10)
    grid.add_column(ratio=1, overflow="fold")
    return grid


def _what(run: Run) -> str:
    return f"{isolate(plain(run.plan.model_id))} on {isolate(plain(run.plan.suite_id))}"


def _queue(board: Board) -> str:
    wait = seconds(board.expected_wait_s) if board.HasField("expected_wait_s") else UNKNOWN
    return f"{board.queue_length} waiting, a new run would wait {wait}; {board.watchers} watching"


def _clients(board: Board) -> str:
    if board.gpu_clients_unknown:
        return f"{UNKNOWN} ({plain(board.gpu_clients_unknown)})"
    return ", ".join(f"{plain(client.name)} ({client.pid})" for client in board.gpu_clients) or "nobody"


def _gpu(reading: Telemetry) -> Text:
    clocks = " ".join(_hertz(clock) for clock in reading.gpu_clock_hz) or UNKNOWN
    limits = f"{_clock(reading, 'gpu_min_clock_hz').removesuffix(' MHz')} to {_clock(reading, 'gpu_max_clock_hz')}"
    text = _meter(_value(reading, "gpu_load_pct"))
    if reading.HasField("gpu_memory_total_bytes"):
        text.append(f"  {_pair(reading, 'gpu_memory_used_bytes', 'gpu_memory_total_bytes')}")
    return text.append(f"  {clocks}, limits {limits}")


def _cpu_line(reading: Telemetry) -> Text:
    clocks = [cpu.clock_hz for cpu in reading.cpus if cpu.HasField("clock_hz")]
    text = _meter(_value(reading, "cpu_load_pct"))
    text.append(f"  {_hertz(max(clocks)) if clocks else UNKNOWN}")
    if reading.cpus:
        text.append(f"\neach, %:  {'  '.join(map(_cpu, reading.cpus))}")
    return text


def _memory(reading: Telemetry) -> Text:
    used, total = _value(reading, "memory_used_bytes"), _value(reading, "memory_total_bytes")
    text = _meter(100 * used / total if used is not None and total else None)
    text.append(f"  {_pair(reading, 'memory_used_bytes', 'memory_total_bytes')}")
    text.append(f"  swap {_pair(reading, 'swap_used_bytes', 'swap_total_bytes')}")
    bus = f"bus {_number(reading, 'emc_load_pct', '{:.0f} %')} at {_clock(reading, 'emc_clock_hz')}"
    return text.append(f"\n{bus}")


def _power(reading: Telemetry) -> Text:
    text = Text.assemble((_number(reading, "module_power_w", "{:.2f} W"), "bold"), " module")
    if reading.HasField("power_sensor_window_s"):
        text.append(f" (mean of {reading.power_sensor_window_s:g} s)")
    return text.append(f"  fan {_number(reading, 'fan_pct', '{:.0f} %')}")


def _rails(reading: Telemetry) -> RenderableType:
    shown = [
        Text(f"{name} {rail.now_mw / 1000:.2f} W" if rail.HasField("now_mw") else f"{name} {UNKNOWN}")
        for name, rail in sorted(reading.rails.items())
    ]
    return _side_by_side(shown)


def _heat(reading: Telemetry) -> RenderableType:
    shown = []
    for name, value in sorted(reading.temperatures_c.items(), key=lambda pair: -pair[1]):
        colour = "bold red" if value >= _HOT_C else "yellow" if value >= _WARM_C else ""
        shown.append(Text(f"{name.removesuffix('-thermal')} {value:.1f} °C", colour))
    return _side_by_side(shown)


def _side_by_side(shown: list[Text]) -> RenderableType:
    return Columns(shown, padding=(0, 2)) if shown else Text(UNKNOWN)


def _sources(reading: Telemetry) -> Text:
    text = Text()
    for source in reading.sources:
        text.append("  " if text else "")
        text.append(_source(source), "" if source.state == SOURCE_STATE_OK else "yellow")
    return text or Text(UNKNOWN)


def _source(source: SourceStatus) -> str:
    age = f" {source.age_s:.1f} s old" if source.HasField("age_s") else ""
    reason = f" ({plain(source.reason)})" if source.reason else ""
    return f"{source.name} {word(SourceState, source.state, 'SOURCE_STATE_')}{age}{reason}"


def _meter(percent: float | None, width: int = 12) -> Text:
    """Return a percentage with a bar, or a dash where it is not known."""
    if percent is None:
        return Text(f"{UNKNOWN:>4} " + " " * width)
    full = round(max(0.0, min(percent, 100.0)) / 100 * width)
    return Text.assemble(f"{percent:3.0f}% ", ("█" * full, "cyan"), ("░" * (width - full), "dim"))


def _curve(values: Sequence[float | None], top: float | None) -> Text:
    """Return a curve of what was seen so far, a gap where it was not known; nothing while there is none."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return Text()
    low, high = (0.0, top) if top is not None else (min(known), max(known))
    span = (high - low) or 1.0
    marks = (" " if value is None else _LEVELS[min(7, max(0, int((value - low) / span * 8)))] for value in values)
    bounds = "" if top is not None else f" {low:.1f}–{high:.1f} W"
    return Text.assemble("  ", ("".join(marks), "cyan"), (bounds, "dim"))


def _cpu(cpu: CpuReading) -> str:
    if not cpu.online:
        return "off"
    return f"{cpu.load_pct:.0f}" if cpu.HasField("load_pct") else UNKNOWN


def _value(reading: Telemetry, field: str) -> float | None:
    return getattr(reading, field) if reading.HasField(field) else None


def _number(reading: Telemetry, field: str, form: str) -> str:
    value = _value(reading, field)
    return UNKNOWN if value is None else form.format(value)


def _bytes(reading: Telemetry, field: str) -> str:
    value = _value(reading, field)
    return UNKNOWN if value is None else gibibytes(int(value))


def _pair(reading: Telemetry, used: str, total: str) -> str:
    return f"{_bytes(reading, used)} of {_bytes(reading, total)}"


def _clock(reading: Telemetry, field: str) -> str:
    value = _value(reading, field)
    return UNKNOWN if value is None else _hertz(int(value))


def _hertz(value: int) -> str:
    return f"{value / 1e6:.0f} MHz"
