"""tegrastats as a source: through the root helper where there is one, else a child of our own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

from orinbench.v1.telemetry_pb2 import CpuReading, Telemetry

from orinbenchd.board.helper import HelperConnection, HelperError
from orinbenchd.board.rootfs import Root
from orinbenchd.telemetry.source import SourceAbsentError
from orinbenchd.telemetry.stream import EndedError, LineSource, child_lines
from orinbenchd.telemetry.tegrastats import Line, Unit, parse_line

_PROGRAM = "/usr/bin/tegrastats"
_STDBUF = "/usr/bin/stdbuf"
_MIB = 2**20
_MHZ = 1_000_000


class TegrastatsSource(LineSource):
    """Without root, newer releases leave clocks and engines out and older ones print placeholders."""

    name = "tegrastats"

    def __init__(self, root: Root, helper_socket: Path | None, interval_s: float) -> None:
        super().__init__(interval_s)
        self._program = root.path(_PROGRAM)
        self._helper_socket = helper_socket

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines, from the helper if it answers, else from a child of our own."""
        if self._helper_socket is not None:
            try:
                connection = await HelperConnection.open(self._helper_socket)
            except HelperError:
                connection = None  # a child of our own sees less, but more than nothing
            if connection is not None:
                try:
                    reader = await connection.lines("tegrastats")
                    while line := await reader.readline():
                        yield line
                finally:
                    await connection.close()
                return
        async for line in child_lines(await self._start()):
            yield line

    def parse(self, line: bytes) -> Telemetry:
        """Read one line; a line of JSON is the helper's word that it is over."""
        if line.startswith(b"{"):
            with contextlib.suppress(ValueError, AttributeError):
                raise EndedError(f"helper: {json.loads(line).get('message', 'tegrastats ended')}")
        return to_telemetry(parse_line(line.decode("utf-8", "replace")))

    async def _start(self) -> asyncio.subprocess.Process:
        if not self._program.exists():
            raise SourceAbsentError(f"{_PROGRAM} does not exist")
        command = [str(self._program), "--interval", str(round(self.interval_s * 1000))]
        # Whether tegrastats buffers on a pipe is disputed; stdbuf settles it where it is there.
        if os.access(_STDBUF, os.X_OK):
            command = [_STDBUF, "-oL", *command]
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )


def to_telemetry(line: Line) -> Telemetry:
    """Take from a line what the message has fields for; the rest goes into `other`."""
    reading = Telemetry()
    ram, swap = line.memory("RAM"), line.memory("SWAP")
    if ram and ram.unit == "MB":
        reading.memory_total_bytes, reading.memory_used_bytes = ram.total * _MIB, ram.used * _MIB
    if swap and swap.unit == "MB" and swap.total:
        reading.swap_total_bytes, reading.swap_used_bytes = swap.total * _MIB, swap.used * _MIB
    _add_cpus(reading, line)
    if line.gpu:
        _set_load(reading, "gpu_load_pct", line.gpu)
        reading.gpu_clock_hz.extend(mhz * _MHZ for mhz in line.gpu.mhz)
    if line.emc:
        _set_load(reading, "emc_load_pct", line.emc)
        if line.emc.mhz:
            reading.emc_clock_hz = line.emc.mhz[0] * _MHZ
    for name, degrees in line.temperatures.items():
        if degrees is not None:
            reading.temperatures_c[name] = degrees
    for name, rail in line.rails.items():
        reading.rails[name].now_mw, reading.rails[name].average_mw = rail.milliwatt[:2]
    _add_other(reading, line)
    return reading


def _set_load(reading: Telemetry, field: str, unit: Unit) -> None:
    if unit.known_load_pct is not None:
        setattr(reading, field, unit.known_load_pct)


def _add_cpus(reading: Telemetry, line: Line) -> None:
    for core in line.cpus:
        cpu = reading.cpus.add(online=core is not None)
        if core is not None:
            cpu.load_pct = core.load_pct
            if core.mhz is not None:
                cpu.clock_hz = core.mhz * _MHZ
    online: list[CpuReading] = [cpu for cpu in reading.cpus if cpu.online]
    if online:
        reading.cpu_load_pct = sum(cpu.load_pct for cpu in online) / len(online)


def _add_other(reading: Telemetry, line: Line) -> None:
    shown = {line.gpu, line.emc}
    for field in line.fields:
        if isinstance(field, Unit) and field not in shown:
            reading.other[field.name] = str(field).partition(" ")[2]
    if line.unknown:
        reading.other["unknown"] = " ".join(line.unknown)
