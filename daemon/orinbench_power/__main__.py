"""`orinbench-power`: started by systemd through its socket, or by hand with `--socket`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from pathlib import Path

from orinbench_power.control import Control
from orinbench_power.peers import group_id
from orinbench_power.server import Server

#: systemd starts it again with the next connection.
_IDLE_S = 60.0

_FIRST_PASSED_FD = 3

_log = logging.getLogger("orinbench-power")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="orinbench-power", description=__doc__)
    parser.add_argument("--socket", type=Path, help="listen here (without it: the socket systemd passes)")
    parser.add_argument("--root", type=Path, default=Path("/"), help="root of the board; a folder if simulated")
    parser.add_argument("--group", default="orinbench", help="group whose members may talk (name or number)")
    parser.add_argument(
        "--state-dir",
        type=Path,
        default=Path(os.environ.get("STATE_DIRECTORY", "/var/lib/orinbench-power")),
        help="where to note what has to be put back; the power mode outlives a reboot, so this must, too",
    )
    return parser.parse_args(argv)


def _passed_socket() -> socket.socket:
    """Return the socket systemd passes. Raises ValueError if there is not exactly one."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS") != "1":
        raise ValueError("no socket: start it through orinbench-power.socket, or give --socket")
    return socket.socket(fileno=_FIRST_PASSED_FD)


def _own_socket(path: Path, group: int) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    listener.bind(str(path))
    path.chmod(0o660)
    if os.geteuid() == 0:
        os.chown(path, 0, group)
    listener.listen(16)
    return listener


async def _serve(server: Server, listener: socket.socket, idle_ends: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # A state file from before means that we were killed: first put back.
    await server.put_back()
    await server.start(listener)
    print("ready", flush=True)  # noqa: T201 - tests and people wait for it
    while not stop.is_set():
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(stop.wait(), _IDLE_S)
        if idle_ends and server.idle and loop.time() - server.idle_since >= _IDLE_S:
            break
    await server.close()


def main(argv: list[str] | None = None) -> int:
    """Run the helper; return its exit code."""
    arguments = _arguments(argv)
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(levelname)s: %(message)s", stream=sys.stderr)
    try:
        group = group_id(arguments.group)
        arguments.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        listener = _own_socket(arguments.socket, group) if arguments.socket else _passed_socket()
    except KeyError:
        _log.error("there is no group %s: create it, or name another with --group", arguments.group)
        return 2
    except (OSError, ValueError) as error:
        _log.error("cannot start: %s", error)
        return 2
    root = arguments.root.resolve()
    server = Server(Control(root, arguments.state_dir), root, group)
    asyncio.run(_serve(server, listener, idle_ends=arguments.socket is None))
    return 0


if __name__ == "__main__":
    sys.exit(main())
