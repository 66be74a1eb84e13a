"""Power rails (INA3221), thermal zones and throttle counters as the kernel shows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orinbenchd.board.rootfs import Absent, Root

_SUM_LABEL = "sum of shunt voltages"


@dataclass(frozen=True)
class Rail:
    """One channel of an INA3221: voltage in mV and current in mA come from two files."""

    name: str
    millivolt: Path
    milliampere: Path


@dataclass(frozen=True)
class Zone:
    """One thermal zone; its file gives millidegrees Celsius, or an error while the sensor is off."""

    name: str
    temperature: Path


def find_rails(root: Root) -> list[Rail]:
    """Return every labelled channel; a name that comes again gets `#2`."""
    rails: list[Rail] = []
    for chip in root.glob("/sys/bus/i2c/drivers/ina3221/*/hwmon/hwmon*"):
        for channel in range(1, 8):
            label = root.read(chip / f"in{channel}_label")
            if not isinstance(label, Absent) and label.lower() != _SUM_LABEL:
                name = _again(label, [rail.name for rail in rails])
                rails.append(Rail(name, chip / f"in{channel}_input", chip / f"curr{channel}_input"))
    return rails


def _again(name: str, taken: list[str]) -> str:
    count = sum(other == name or other.startswith(f"{name}#") for other in taken)
    return f"{name}#{count + 1}" if count else name


def rail_milliwatt(root: Root, rail: Rail) -> float | None:
    """Return the power of a rail in mW (negative if the sensor says so), or None if unreadable."""
    voltage, current = root.read_number(rail.millivolt), root.read_number(rail.milliampere)
    if isinstance(voltage, Absent) or isinstance(current, Absent):
        return None
    return voltage * current / 1000


def sensor_window_s(root: Root) -> float | None:
    """Return the time the power sensor averages over, in seconds, or None if the kernel does not say."""
    for path in root.glob("/sys/bus/i2c/drivers/ina3221/*/hwmon/hwmon*/update_interval"):
        milliseconds = root.read_number(path)
        if not isinstance(milliseconds, Absent) and milliseconds > 0:
            return milliseconds / 1000
    return None


def find_zones(root: Root) -> list[Zone]:
    """Return the thermal zones that name their type."""
    zones = []
    for path in root.glob("/sys/class/thermal/thermal_zone*"):
        name = root.read(path / "type")
        if not isinstance(name, Absent):
            zones.append(Zone(name, path / "temp"))
    return zones


def temperatures_c(root: Root, zones: list[Zone]) -> dict[str, float]:
    """Return degrees Celsius by zone; one that is off or unreadable is left out."""
    found = {zone.name: root.read_number(zone.temperature) for zone in zones}
    return {name: value / 1000 for name, value in found.items() if not isinstance(value, Absent) and value > -256_000}


def find_throttle_counters(root: Root) -> dict[str, Path]:
    """Return the over-current counters (`oc1` under-voltage, `oc2` average, `oc3` instantaneous) by name."""
    for chip in root.glob("/sys/class/hwmon/hwmon*"):
        if root.read(chip / "name") == "soctherm_oc":
            names = [f"oc{number}" for number in range(1, 10)]
            return {name: chip / f"{name}_event_cnt" for name in names if (chip / f"{name}_event_cnt").exists()}
    return {}


def throttle_events(root: Root, counters: dict[str, Path]) -> dict[str, int]:
    """Return the counters, cumulative since boot; an unreadable one is left out."""
    found = {name: root.read_number(path) for name, path in counters.items()}
    return {name: value for name, value in found.items() if not isinstance(value, Absent)}
