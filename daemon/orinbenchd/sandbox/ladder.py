"""Chooses the isolation once, at the daemon's start: the highest level whose proof succeeds."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import structlog

from orinbenchd.sandbox import probe
from orinbenchd.sandbox.levels import LEVELS, Isolation, Level
from orinbenchd.sandbox.mounts import Hidden, View
from orinbenchd.sandbox.sandbox import Sandbox

log = structlog.get_logger("sandbox")

_PROBE = Path(probe.__file__).read_text(encoding="utf-8")
_PROOF_S = 10.0
_PROGRAMS: dict[Level, tuple[str, str]] = {"sandbox": ("bwrap", "bubblewrap"), "network": ("unshare", "util-linux")}
# What forbids namespaces: a setting, the value that does, and what to say.
_RESTRICTIONS = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts user namespaces: give the program a profile that allows userns, or set "
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("kernel/unprivileged_userns_clone", "0", "set sysctl kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "set sysctl user.max_user_namespaces=15000"),
)


async def choose(highest: Level, hidden: Hidden, folder: Path) -> Sandbox:
    """Return the highest isolation up to `highest` that holds. `folder`, hidden from workers, is for the proof."""
    reasons: list[str] = []
    for level in reversed(LEVELS[1:]):
        sandbox, problem = None, 'the configuration has isolation = "' + highest + '"'
        if LEVELS.index(level) <= LEVELS.index(highest):
            sandbox, problem = await _try(level, hidden, folder)
        if sandbox is not None and not problem:
            chosen = Sandbox(Isolation(level, "; ".join(reasons)), hidden, sandbox.program)
            break
        reasons.append(f"no {level}: {problem}")
    else:
        chosen = Sandbox(Isolation("none", "; ".join(reasons)), hidden)
    log.info("isolation", in_force=chosen.isolation.level, reason=chosen.isolation.reason)
    return chosen


async def _try(level: Level, hidden: Hidden, folder: Path) -> tuple[Sandbox | None, str]:
    name, package = _PROGRAMS[level]
    program = shutil.which(name)
    if program is None:
        return None, f"{name} is not installed (apt-get install {package})"
    sandbox = Sandbox(Isolation(level), hidden, program)
    return sandbox, await prove(sandbox, folder)


async def prove(sandbox: Sandbox, folder: Path) -> str:
    """Let a process in a sandbox try what it must not be able to do; return what is wrong, or nothing.

    `folder` must be one that is hidden from workers.
    """
    with tempfile.TemporaryDirectory(prefix="worker-proof-", dir=folder) as name, ExitStack() as listening:
        scratch, outside = Path(name, "scratch"), Path(name, "outside")
        for made in (scratch / "tmp", outside):
            made.mkdir(parents=True)
        (outside / "secret").write_text("not for a worker")
        # By way of the folder's descriptor: the path itself may be longer than the address of a socket can be.
        folder_fd = os.open(outside, os.O_PATH)
        listening.callback(os.close, folder_fd)
        _listen(listening, socket.AF_UNIX, f"/proc/self/fd/{folder_fd}/socket")
        task = {
            "addresses": _network(listening),
            "outside": str(outside) if sandbox.isolation.level == "sandbox" else None,
            "scratch": str(scratch),
        }
        view = View(scratch, (Path(sys.executable), Path(sys.prefix), Path(sys.base_prefix)))
        return await _ask(sandbox, view, task)


def _network(listening: ExitStack) -> list[tuple[int, Any]]:
    """Listen where a process without isolation could connect to; an address family this machine lacks is left out."""
    opened = []
    wanted = ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0)))
    for family, address in (*wanted, (socket.AF_UNIX, f"\0orinbench-proof-{secrets.token_hex(8)}")):
        with suppress(OSError):
            opened.append((int(family), _listen(listening, family, address)))
    return opened


def _listen(listening: ExitStack, family: int, address: Any) -> Any:
    server = listening.enter_context(socket.socket(family))
    server.bind(address)
    server.listen()
    bound = server.getsockname()
    # An abstract name comes back as bytes, which JSON does not have.
    return bound.decode() if isinstance(bound, bytes) else bound


async def _ask(sandbox: Sandbox, view: View, task: dict[str, Any]) -> str:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours:
        with theirs:
            task["fd"] = theirs.fileno()
            process = await asyncio.create_subprocess_exec(
                *sandbox.prefix(view), sys.executable, "-I", "-S", "-c", _PROBE, json.dumps(task),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
                pass_fds=(theirs.fileno(),), cwd=view.scratch, env={},
            )  # fmt: skip
        try:
            _, errors = await asyncio.wait_for(process.communicate(), _PROOF_S)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()
            return f"its proof took more than {_PROOF_S:g} s"
        try:
            found = json.loads(await asyncio.get_running_loop().sock_recv(ours, 1 << 16) or b"null")
        except ConnectionError:
            found = None
    return _refused(errors.decode(errors="replace")) if found is None else "; ".join(found)


def _refused(errors: str) -> str:
    """Say why the sandbox could not be made, and what to do."""
    said = errors.strip().rpartition("\n")[2] or "it ended without a word"
    hints = [hint for setting, value, hint in _RESTRICTIONS if _setting(setting) == value]
    if not hints and re.search("namespace|not permitted|unshare failed", said):
        hints = ["does the container, or the service's unit, forbid namespaces?"]
    return f"{said} ({hints[0]})" if hints else said


def _setting(name: str) -> str:
    with suppress(OSError):
        return Path("/proc/sys", name).read_text().strip()
    return ""
