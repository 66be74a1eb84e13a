"""Runs the board's own programs and reads its files, below a root path (`/` on a real board)."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass
from pathlib import Path

#: The programs take seconds; one that takes this long hangs.
_DEADLINE_S = 60.0

_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}

_HEADER = re.compile(r"^\s*<\s*POWER_MODEL\b([^>]*)>", re.MULTILINE)
_ID = re.compile(r"\bID\s*=\s*(\d+)")
_NAME = re.compile(r"\bNAME\s*=\s*(\S+)")
_QUERY_NAME = re.compile(r"^NV Power Mode: (.+)$")

#: Top modes by name, best first. Ids differ from module to module.
_TOP_NAMES = ("MAXN_SUPER", "MAXN")

_GPU_NODES = ("/dev/nvgpu/igpu0/", "/dev/nvhost-gpu", "/dev/nvmap")


@dataclass(frozen=True)
class Mode:
    """A power mode."""

    id: int
    name: str


@dataclass(frozen=True)
class Finished:
    """How a program ended: its exit code (None: it hung and was killed) and all it printed."""

    code: int | None
    text: str


async def run(root: Path, program: str, *arguments: str) -> Finished:
    """Run a program of the board to its end, standard input closed. Raises OSError if it cannot be started."""
    child = await asyncio.create_subprocess_exec(
        str(root / program.lstrip("/")),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=_ENVIRONMENT,
        cwd="/",
    )
    try:
        out, _ = await asyncio.wait_for(child.communicate(), _DEADLINE_S)
    except asyncio.TimeoutError:
        child.kill()
        await child.wait()
        return Finished(None, "")
    return Finished(child.returncode, out.decode("utf-8", "replace"))


async def start_tegrastats(root: Path, interval_ms: int) -> asyncio.subprocess.Process:
    """Start tegrastats writing to a pipe. To be stopped by signal: `--stop` would stop everybody's."""
    command = [str(root / "usr/bin/tegrastats"), "--interval", str(interval_ms)]
    # Whether tegrastats buffers on a pipe is disputed; stdbuf settles it where it is there.
    stdbuf = "/usr/bin/stdbuf"
    if os.access(stdbuf, os.X_OK):
        command = [stdbuf, "-oL", *command]
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_ENVIRONMENT,
        cwd="/",
    )


def top_mode(root: Path) -> Mode | None:
    """Return the top mode of nvpmodel.conf by name, or None. Raises OSError if the file cannot be read."""
    text = (root / "etc/nvpmodel.conf").read_text(encoding="utf-8", errors="replace")
    found = {}
    for header in _HEADER.finditer(text):
        number, name = _ID.search(header[1]), _NAME.search(header[1])
        if number and name:
            found[name[1]] = Mode(int(number[1]), name[1])
    return next((found[name] for name in _TOP_NAMES if name in found), None)


def parse_query(text: str) -> Mode | None:
    """Read what `nvpmodel -q` prints: the name, then the id on a line of its own; warnings may stand between."""
    name = None
    for line in map(str.strip, text.splitlines()):
        found = _QUERY_NAME.match(line)
        if found:
            name = found[1].strip()
        elif name is not None and line.isdecimal():
            return Mode(int(line), name)
    return None


def asks_for_reboot(text: str) -> bool:
    """Return whether nvpmodel asked to reboot instead of changing the mode."""
    lowered = text.lower()
    return "reboot required" in lowered or "do you want to reboot" in lowered


def boot_id(root: Path) -> str:
    """Return what the kernel calls this boot, or nothing where it does not say."""
    try:
        return (root / "proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def nvmap_table(root: Path) -> str | None:
    """Return the table of GPU memory clients as it stands, or None where there is none."""
    try:
        return (root / "sys/kernel/debug/nvmap/iovmm/clients").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def node_holders(root: Path) -> list[dict[str, object]]:
    """Return the processes that hold a GPU node open: pid and name."""
    processes = (root / "proc").glob("[0-9]*")
    return [{"pid": int(path.name), "name": _name(path)} for path in processes if _holds_node(path)]


def _holds_node(process: Path) -> bool:
    try:
        with os.scandir(process / "fd") as entries:
            for entry in entries:
                if os.readlink(entry.path).startswith(_GPU_NODES):  # noqa: PTH115 - thousands a second
                    return True
    except OSError:
        return False  # it ended while we looked
    return False


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "?"
