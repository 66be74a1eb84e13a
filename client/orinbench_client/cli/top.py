"""`orinbench top`: a live view of a board."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import aclosing
from typing import Annotated

import typer
from orinbench.v1.board_pb2 import Board, BoardState
from orinbench.v1.telemetry_pb2 import CpuReading, SourceState, Telemetry
from rich.console import Console
from rich.live import Live
from rich.text import Text

from orinbench_client.cli.common import HostOption, TokenOption, gibibytes, table, word
from orinbench_client.errors import BadInput
from orinbench_client.sdk import Address, Client, find_address

UNKNOWN = "–"


def top(
    host: HostOption = None,
    token_file: TokenOption = None,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between readings.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print one reading and end.")] = False,
) -> None:
    """Watch a board live.

    A dash is a reading the board does not give; 0 is a reading of zero. Ctrl-C ends.

    \b
    orinbench top
    orinbench top --once --host /tmp/board.sock
    """
    if not once and not sys.stdout.isatty():
        raise BadInput("top draws on a terminal: use --once to print one reading")
    try:
        asyncio.run(_top(find_address(host, token_file), interval, once))
    except KeyboardInterrupt:
        return


async def _top(address: Address, interval: float, once: bool) -> None:
    async with Client(address) as client, aclosing(client.watch_telemetry(interval)) as readings:
        if once:
            async for reading in readings:
                print(frame(await client.get_board(), reading))
                return
        with Live(console=Console(), screen=True, auto_refresh=False) as live:
            async for reading in readings:
                live.update(Text(frame(await client.get_board(), reading)), refresh=True)


def frame(board: Board, reading: Telemetry) -> str:
    """Return one reading as text."""
    return "\n".join(
        (
            f"{board.name}  {word(BoardState, board.state, 'BOARD_STATE_')}  {board.hardware_profile}",
            table(list(_work(board, reading))),
            "",
            table(list(_load(reading))),
            *_maps(reading),
            "",
            _sources(reading),
        )
    )


def _work(board: Board, reading: Telemetry) -> Iterator[tuple[str, str]]:
    yield "run", board.active_run.removeprefix("runs/") or "none"
    yield "worker memory", _bytes(reading, "worker_rss_bytes")
    yield "queue", f"{board.queue_length} waiting, {board.watchers} watching"


def _load(reading: Telemetry) -> Iterator[tuple[str, str]]:
    yield "power mode", reading.power_mode if reading.HasField("power_mode") else UNKNOWN
    yield "CPU", f"{_number(reading, 'cpu_load_pct', '{:.0f} %')}  {_cpus(reading)}".rstrip()
    clocks = " ".join(_hertz(clock) for clock in reading.gpu_clock_hz) or UNKNOWN
    limits = f"{_clock(reading, 'gpu_min_clock_hz')} to {_clock(reading, 'gpu_max_clock_hz')}"
    yield "GPU", f"{_number(reading, 'gpu_load_pct', '{:.0f} %')}  {clocks}  limits {limits}"
    yield "memory bus", f"{_number(reading, 'emc_load_pct', '{:.0f} %')}  {_clock(reading, 'emc_clock_hz')}"
    yield "memory", _pair(reading, "memory_used_bytes", "memory_total_bytes")
    yield "swap", _pair(reading, "swap_used_bytes", "swap_total_bytes")
    yield "GPU memory", _pair(reading, "gpu_memory_used_bytes", "gpu_memory_total_bytes")
    yield "module power", _number(reading, "module_power_w", "{:.2f} W")
    yield "fan", _number(reading, "fan_pct", "{:.0f} %")


def _maps(reading: Telemetry) -> Iterator[str]:
    rails = {
        name: f"{rail.now_mw:.0f} mW" if rail.HasField("now_mw") else UNKNOWN for name, rail in reading.rails.items()
    }
    temperatures = {name: f"{value:.1f} °C" for name, value in reading.temperatures_c.items()}
    throttles = {name: str(count) for name, count in reading.throttle_events.items()}
    for title, values in (("rails", rails), ("temperatures", temperatures), ("throttle events", throttles)):
        shown = "  ".join(f"{name} {value}" for name, value in sorted(values.items()))
        yield f"{title}: {shown or UNKNOWN}"


def _sources(reading: Telemetry) -> str:
    sources = (
        f"{source.name} {word(SourceState, source.state, 'SOURCE_STATE_')}"
        + (f" ({source.reason})" if source.reason else "")
        for source in reading.sources
    )
    return f"sources: {', '.join(sources) or UNKNOWN}"


def _cpus(reading: Telemetry) -> str:
    return " ".join(map(_cpu, reading.cpus))


def _cpu(cpu: CpuReading) -> str:
    if not cpu.online:
        return "off"
    return f"{cpu.load_pct:.0f}" if cpu.HasField("load_pct") else UNKNOWN


def _number(reading: Telemetry, field: str, form: str) -> str:
    return form.format(getattr(reading, field)) if _known(reading, field) else UNKNOWN


def _bytes(reading: Telemetry, field: str) -> str:
    return gibibytes(getattr(reading, field)) if _known(reading, field) else UNKNOWN


def _pair(reading: Telemetry, used: str, total: str) -> str:
    return f"{_bytes(reading, used)} of {_bytes(reading, total)}"


def _clock(reading: Telemetry, field: str) -> str:
    return _hertz(getattr(reading, field)) if _known(reading, field) else UNKNOWN


def _hertz(value: int) -> str:
    return f"{value / 1e6:.0f} MHz"


def _known(reading: Telemetry, field: str) -> bool:
    return reading.HasField(field)
