"""A simulated board at work: its root, the root helper, a daemon on it, all in one folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orinbench_profiles.loader import load_hardware

from tests.jetson_sim import helper, player
from tests.jetson_sim.builder import SimulatedBoard, build

#: Where the profile of a simulated board departs from the real one: models run on the CPU of a machine with a
#: small disk, which may permit no isolation, and somebody who waits for a competitor should not wait long.
PROFILE_CHANGES = {"device": "cpu", "free_disk_gib": 0.25, "competitor_poll_s": 0.5, "isolation_floor": "none"}


class StartFailedError(Exception):
    """The daemon did not start; the text is what it said."""


@dataclass(frozen=True)
class Rig:
    """A running set. `host` is what clients take as an address."""

    board: SimulatedBoard
    power: helper.Helper
    daemon: subprocess.Popen[str]
    host: str
    log: Path
    ready: dict[str, Any]


def write_profile(folder: Path, name: str) -> Path:
    """Write the named profile with our changes; return the file."""
    values = {**load_hardware(name).declaration.model_dump(exclude_none=True), **PROFILE_CHANGES}
    path = folder / f"{name}.toml"
    # A TOML value of these types is spelled like JSON.
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))
    return path


@contextmanager
def running(
    folder: Path,
    name: str,
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    curve: player.Curve | None = None,
    prepare: Callable[[SimulatedBoard], None] = lambda _: None,
    more: Mapping[str, Any] | None = None,
) -> Iterator[Rig]:
    """Build a board in `folder`, `prepare` it, start helper and daemon; end them afterwards.

    `more` are further settings of the daemon. Raises StartFailedError.
    """
    board = build(folder / "root", name, mode=mode, options=options)
    prepare(board)
    with ExitStack() as stack:
        power = stack.enter_context(helper.running(board.root))
        if curve is not None:
            stack.enter_context(playing(board, curve))
        settings = {
            "name": name,
            "profile": str(write_profile(folder, board.board.profile)),
            "root": str(board.root),
            "data_dir": str(folder / "data"),
            "socket": str(power.socket.with_name("d.sock")),
            "power_socket": str(power.socket),
            "telemetry_interval_s": 0.2,
            **(more or {}),
        }
        config = folder / "orinbenchd.toml"
        config.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
        daemon, ready = stack.enter_context(_daemon(config, folder / "daemon.log"))
        yield Rig(board, power, daemon, f"unix:{settings['socket']}", folder / "daemon.log", ready)


@contextmanager
def _daemon(config: Path, log: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "orinbenchd", "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            # Ctrl-C on the terminal is for us, who then stop it in order.
            start_new_session=True,
        )
    assert process.stdout is not None
    try:
        with process.stdout as out:
            if not (ready := out.readline()):
                raise StartFailedError(log.read_text().strip() or "the daemon said nothing")
            yield process, json.loads(ready)
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait()


@contextmanager
def playing(board: SimulatedBoard, curve: player.Curve) -> Iterator[None]:
    """Play a power curve on the board until the end of the block."""
    player.save(board.root, curve)
    process = subprocess.Popen([sys.executable, player.__file__, str(board.root)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        with process.stdout as out:
            assert out.readline() == b"playing\n"
        yield
    finally:
        process.kill()
        process.wait()


def descendants(pid: int) -> list[int]:
    """Return the processes below `pid`, at any depth."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stat = path.read_text()
        except OSError:
            continue  # it ended while we looked
        parents[int(path.parent.name)] = int(stat.rpartition(")")[2].split()[1])
    found = [pid]
    for parent in found:
        found += [child for child, of in parents.items() if of == parent and child != os.getpid()]
    return found[1:]
