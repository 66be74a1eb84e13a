"""Power modes: which there are, which is in force, and whether a change would ask for a reboot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from orinbenchd.board.rootfs import Absent, Fact, Root

CONF = "/etc/nvpmodel.conf"
STATUS = "/var/lib/nvpmodel/status"

_HEADER = re.compile(r"<\s*POWER_MODEL\b([^>]*)>")
_ID = re.compile(r"\bID\s*=\s*(\d+)")
_NAME = re.compile(r"\bNAME\s*=\s*(\S+)")
_STATUS = re.compile(r"\bpmode:(\d+)")

#: Settings that nvpmodel can only change over a reboot: the core set and the GPU's TPC mask.
_REBOOT_SETTINGS = ("CPU_ONLINE ", "TPC_POWER_GATING ")


@dataclass(frozen=True)
class PowerMode:
    """One mode of nvpmodel.conf. `settings` maps `PARAM ARG` to its value as written."""

    id: int
    name: str
    settings: Mapping[str, str]


def parse_conf(text: str) -> list[PowerMode]:
    """Read the modes of nvpmodel.conf in file order; what is not understood is passed over."""
    modes: list[PowerMode] = []
    settings: dict[str, str] = {}
    for line in text.splitlines():
        line = line.split("#", 1)[0].strip()
        header = _HEADER.match(line)
        if header:
            number, name = _ID.search(header[1]), _NAME.search(header[1])
            settings = {}
            if number and name:
                modes.append(PowerMode(int(number[1]), name[1], settings))
        elif line.startswith("<"):
            settings = {}
        elif len(line.split()) == 3:
            param, arg, value = line.split()
            settings[f"{param} {arg}"] = value
    return modes


def parse_status(text: str) -> int | None:
    """Read the mode's id from the status file (`pmode:0002 fmode:fan_mode_quiet`)."""
    found = _STATUS.search(text)
    return int(found[1]) if found else None


def read_modes(root: Root) -> Fact[list[PowerMode]]:
    """Return the modes this board has."""
    text = root.text(CONF)
    if isinstance(text, Absent):
        return text
    return parse_conf(text) or Absent(f"{CONF} names no power mode")


def current_mode(root: Root, modes: Fact[list[PowerMode]]) -> Fact[PowerMode]:
    """Return the mode in force, as the status file says (cheap enough to be polled)."""
    status = root.text(STATUS)
    if isinstance(status, Absent):
        return status
    if isinstance(modes, Absent):
        return modes
    number = parse_status(status)
    found = next((mode for mode in modes if mode.id == number), None)
    return found or Absent(f"{STATUS} reads {status[:40]!r}, which is no mode of {CONF}")


def reboot_settings(current: PowerMode, wanted: PowerMode) -> list[str]:
    """Return the settings that differ and that nvpmodel changes only over a reboot; sorted."""
    names = {name for mode in (current, wanted) for name in mode.settings if name.startswith(_REBOOT_SETTINGS)}
    return sorted(name for name in names if current.settings.get(name) != wanted.settings.get(name))
