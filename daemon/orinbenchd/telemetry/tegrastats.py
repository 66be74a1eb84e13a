"""Reads a line of tegrastats. Pure: a line in, its fields out, in order; nothing is lost, nothing raises.

The spelling changes from release to release, so what is not understood is kept as an `Unknown` token.
A percentage without a clock (`GR3D_FREQ 0%`) is what a reader without root gets: a placeholder, no reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What a sensor that is off reads, in degrees Celsius.
OFFLINE_C = -256.0

_N = r"[0-9]{1,9}"
_SIGNED = rf"-?{_N}"
_DEGREES = rf"-?{_N}(?:\.[0-9]{{1,4}})?"
_NAME = r"[A-Za-z][A-Za-z0-9_]*"


@dataclass(frozen=True)
class Unknown:
    """A token this version does not understand."""

    token: str

    def __str__(self) -> str:
        return self.token


@dataclass(frozen=True)
class Date:
    """Local time with a resolution of a second: a label, never a clock."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Memory:
    """`RAM`, `SWAP` or `IRAM`: used and total in `unit`, and the note in brackets (free blocks, cached)."""

    name: str
    used: int
    total: int
    unit: str
    note: str

    def __str__(self) -> str:
        return f"{self.name} {self.used}/{self.total}{self.unit}{self.note}"


@dataclass(frozen=True)
class Core:
    """One CPU core: load in percent, clock in MHz or None where the line does not give it."""

    load_pct: int
    mhz: int | None

    def __str__(self) -> str:
        return f"{self.load_pct}%" if self.mhz is None else f"{self.load_pct}%@{self.mhz}"


@dataclass(frozen=True)
class Cpu:
    """The cores in order, None for one that is off. The oldest lines give one clock for all at the end."""

    name: str
    cores: tuple[Core | None, ...]
    shared_mhz: int | None

    @property
    def clocked_cores(self) -> tuple[Core | None, ...]:
        """The cores, each with its clock."""
        shared = self.shared_mhz
        if shared is None:
            return self.cores
        return tuple(core and Core(core.load_pct, core.mhz or shared) for core in self.cores)

    def __str__(self) -> str:
        cores = ",".join("off" if core is None else str(core) for core in self.cores)
        return f"{self.name} [{cores}]" + ("" if self.shared_mhz is None else f"@{self.shared_mhz}")


@dataclass(frozen=True)
class Unit:
    """A clocked unit (`EMC_FREQ`, `GR3D_FREQ`, `NVENC`, `APE` …): load, clocks, or off.

    `style` is how the clocks were printed: `@` one, `[` a list, `` none, ` ` bare.
    """

    name: str
    load_pct: int | None
    mhz: tuple[int, ...]
    style: str
    off: bool = False

    @property
    def known_load_pct(self) -> int | None:
        """The load, or None where it stands without a clock and so is no reading."""
        return self.load_pct if self.mhz else None

    def __str__(self) -> str:
        load = "" if self.load_pct is None else f"{self.load_pct}%"
        clocks = ",".join(map(str, self.mhz))
        shown = {"@": f"{load}@{clocks}", "[": f"{load}@[{clocks}]", " ": clocks, "": load}[self.style]
        return f"{self.name} {'off' if self.off else shown}"


@dataclass(frozen=True)
class Mts:
    """Load of Denver's code translator, percent, foreground and background."""

    foreground_pct: int
    background_pct: int

    def __str__(self) -> str:
        return f"MTS fg {self.foreground_pct}% bg {self.background_pct}%"


@dataclass(frozen=True)
class Temperature:
    """A sensor in degrees Celsius; newer releases print a second value."""

    name: str
    degrees_c: tuple[float, ...]

    @property
    def known_c(self) -> float | None:
        """The temperature now, or None when the sensor is off."""
        return None if self.degrees_c[0] <= OFFLINE_C else self.degrees_c[0]

    def __str__(self) -> str:
        return f"{self.name}@" + "/".join(f"{_plain(value)}C" for value in self.degrees_c)


@dataclass(frozen=True)
class Rail:
    """A power rail in mW: now, average since tegrastats began, what newer releases add. May be negative."""

    name: str
    milliwatt: tuple[int, ...]
    unit: str

    def __str__(self) -> str:
        return f"{self.name} " + "/".join(f"{value}{self.unit}" for value in self.milliwatt)


Field = Unknown | Date | Memory | Cpu | Unit | Mts | Temperature | Rail


@dataclass(frozen=True)
class Line:
    """One line: its fields in order. `str()` prints it again, single-spaced."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return " ".join(map(str, self.fields))

    def memory(self, name: str) -> Memory | None:
        """Return `RAM`, `SWAP` or `IRAM`; None where the line has none."""
        return next((f for f in self.fields if isinstance(f, Memory) and f.name == name), None)

    def unit(self, *names: str) -> Unit | None:
        """Return the first unit of one of these names."""
        return next((f for f in self.fields if isinstance(f, Unit) and f.name in names), None)

    @property
    def gpu(self) -> Unit | None:
        """The GPU's graphics and compute engine."""
        return self.unit("GR3D_FREQ", "GR3D")

    @property
    def emc(self) -> Unit | None:
        """The memory controller."""
        return self.unit("EMC_FREQ", "EMC")

    @property
    def cpus(self) -> tuple[Core | None, ...]:
        """The cores; None for one that is off."""
        return next((f.clocked_cores for f in self.fields if isinstance(f, Cpu)), ())

    @property
    def temperatures(self) -> dict[str, float | None]:
        """Degrees Celsius by name, None for a sensor that is off; a name that comes again gets `#2`."""
        return _numbered((f.name, f.known_c) for f in self.fields if isinstance(f, Temperature))

    @property
    def rails(self) -> dict[str, Rail]:
        """Rails by name; a name that comes again gets `#2`."""
        return _numbered((f.name, f) for f in self.fields if isinstance(f, Rail))

    @property
    def unknown(self) -> list[str]:
        """The tokens that were not understood."""
        return [f.token for f in self.fields if isinstance(f, Unknown)]

    def to_json(self) -> dict[str, Any]:
        """Return the readings as plain values; null is unknown or off, never 0."""
        ram, gpu, emc = self.memory("RAM"), self.gpu, self.emc
        return {
            "ram_used_mb": ram.used if ram and ram.unit == "MB" else None,
            "gpu_load_pct": gpu.known_load_pct if gpu else None,
            "gpu_mhz": list(gpu.mhz) if gpu else [],
            "emc_pct": emc.known_load_pct if emc else None,
            "cpu": [core and {"load_pct": core.load_pct, "mhz": core.mhz} for core in self.cpus],
            "temps_c": self.temperatures,
            "rails_mw": {
                name: {"now": rail.milliwatt[0], "avg": rail.milliwatt[1]} for name, rail in self.rails.items()
            },
            "unknown": self.unknown,
        }


def parse_line(line: str) -> Line:
    """Read one line. Never raises: what is not understood is kept."""
    text = " ".join(line.split())
    fields: list[Field] = []
    position = 0
    while position < len(text):
        field, position = _next_field(text, position)
        fields.append(field)
        position += 1  # the space after it
    return Line(tuple(fields))


def parse_lines(lines: Iterable[str]) -> Iterator[Line]:
    """Read lines; empty ones and comments (`#`) are passed over."""
    return (parse_line(line) for line in lines if line.strip() and not line.startswith("#"))


def parse_file(path: Path) -> Iterator[Line]:
    """Read a file of lines (see `parse_lines`). Raises OSError."""
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from parse_lines(file)


def _next_field(text: str, position: int) -> tuple[Field, int]:
    for pattern, build in _FORMS:
        found = pattern.match(text, position)
        if found:
            return build(found), found.end()
    end = text.find(" ", position)
    end = len(text) if end < 0 else end
    return Unknown(text[position:end]), end


def _cpu(found: re.Match[str]) -> Cpu:
    shared = int(found["shared"]) if found["shared"] else None
    return Cpu(found["name"], tuple(map(_core, found["list"].split(","))), shared)


def _core(text: str) -> Core | None:
    if text == "off":
        return None
    load, _, clock = text.partition("%@")
    return Core(int(load.rstrip("%")), int(clock) if clock else None)


def _unit(found: re.Match[str]) -> Unit:
    load = int(found["load"]) if found["load"] else None
    if found["off"]:
        return Unit(found["name"], None, (), "", off=True)
    for style, group in (("[", "list"), ("@", "one")):
        if found[group]:
            return Unit(found["name"], load, tuple(map(int, found[group].split(","))), style)
    return Unit(found["name"], load, (), "")


def _bare(found: re.Match[str]) -> Unit:
    return Unit(found["name"], None, (int(found["bare"]),), " ")


def _rail(found: re.Match[str]) -> Rail:
    unit = "mW" if found["values"].endswith("mW") else ""
    return Rail(found["name"], tuple(int(part.removesuffix("mW")) for part in found["values"].split("/")), unit)


def _memory(found: re.Match[str]) -> Memory:
    return Memory(found["name"], int(found["used"]), int(found["total"]), found["unit"], found["note"] or "")


def _temperature(found: re.Match[str]) -> Temperature:
    return Temperature(found["name"], tuple(float(part[:-1]) for part in found["values"].split("/")))


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern + r"(?= |\Z)")


_CORE = rf"(?:{_N}%(?:@{_N})?|off)"
_ENGINES = r"(?:APE|NVENC|NVDEC|NVJPG|VIC|OFA|NVDLA|PVA|MSENC|SE|TSEC)[0-9]*(?:_FREQ)?"

# The first form that matches wins.
_FORMS: list[tuple[re.Pattern[str], Callable[[re.Match[str]], Field]]] = [
    (_form(r"[0-9]{2}-[0-9]{2}-[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}"), lambda found: Date(found[0])),
    (
        _form(rf"(?P<name>I?RAM|SWAP) (?P<used>{_N})/(?P<total>{_N})(?P<unit>[kMG]B)(?P<note> ?\([^()]{{1,40}}\))?"),
        _memory,
    ),
    (_form(rf"(?P<name>CPU|cpu) \[(?P<list>{_CORE}(?:,{_CORE})*)\](?:@(?P<shared>{_N}))?"), _cpu),
    (_form(rf"MTS fg (?P<fg>{_N})% bg (?P<bg>{_N})%"), lambda found: Mts(int(found["fg"]), int(found["bg"]))),
    (
        _form(rf"(?P<name>{_NAME}) (?P<values>{_SIGNED}mW(?:/{_SIGNED}mW){{1,3}}|{_SIGNED}(?:/{_SIGNED}){{1,3}})"),
        _rail,
    ),
    (_form(rf"(?P<name>{_NAME})@(?P<values>{_DEGREES}C(?:/{_DEGREES}C)*)"), _temperature),
    (_form(rf"(?P<name>{_ENGINES}) (?P<bare>{_N})"), _bare),
    (
        _form(
            rf"(?P<name>[A-Z][A-Z0-9_]*) (?:(?P<off>off)"
            rf"|(?:(?P<load>{_N})%)?(?:@(?:\[(?P<list>{_N}(?:,{_N})*)\]|(?P<one>{_N})))?)"
        ),
        _unit,
    ),
]


def _numbered(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    count: dict[str, int] = {}
    for name, value in pairs:
        count[name] = count.get(name, 0) + 1
        found[name if count[name] == 1 else f"{name}#{count[name]}"] = value
    return found


def _plain(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
