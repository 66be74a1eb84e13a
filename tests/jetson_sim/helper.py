"""Starts the root helper on a simulated board, as a process of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: For processes started by tests: the helper needs nothing but its own package.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "daemon")}


class Helper:
    """A running helper. `folder` holds its socket and the state it keeps over a restart."""

    def __init__(self, root: Path, folder: Path, group: int) -> None:
        self.socket = folder / "power.sock"
        self.state = folder / "state"
        self.log = folder / "helper.log"
        self._command = [sys.executable, "-m", "orinbench_power", "--socket", str(self.socket)]
        self._command += ["--root", str(root), "--group", str(group), "--state-dir", str(self.state)]
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log, env=ENVIRONMENT)
        assert process.stdout is not None
        with process.stdout as out:
            assert out.readline() == b"ready\n", self.log.read_text()
        return process

    def restart(self) -> None:
        """Kill it without warning and start it again; returns when it is ready."""
        self.process.kill()
        self.process.wait()
        self.process = self._start()

    def stop(self) -> int:
        """End it in order; return its exit code."""
        self.process.terminate()
        return self.process.wait(30)

    def ask(self, verb: str) -> dict[str, Any]:
        """Ask one verb on a connection of its own, which then ends."""
        with Client(self.socket) as client:
            return client.ask(verb)


class Client:
    """A connection to the helper, for tests: says anything, reads lines."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(30)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        """Send bytes as they are; a peer that has hung up is no error."""
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return

    def line(self) -> bytes:
        """Read one line; empty at the end of the connection."""
        try:
            return self._lines.readline()
        except ConnectionResetError:
            return b""

    def ask(self, verb: str) -> dict[str, Any]:
        """Ask one verb and return the answer."""
        self.send(json.dumps({"verb": verb}).encode() + b"\n")
        answer: dict[str, Any] = json.loads(self.line())
        return answer

    def close(self) -> None:
        """Hang up."""
        self._lines.close()
        self._socket.close()


@contextmanager
def running(root: Path, group: int | None = None) -> Iterator[Helper]:
    """Run a helper for the members of `group` (our own without it); end it afterwards."""
    # A short path: a Unix socket's may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="orinbench-") as folder:
        helper = Helper(root, Path(folder), os.getgid() if group is None else group)
        try:
            yield helper
        finally:
            helper.process.kill()
            helper.process.wait()


def ask_as(path: Path, verb: str, uid: int, groups: Sequence[int]) -> dict[str, Any]:
    """Ask a verb from a process of another user with these groups only; needs root.

    It is a fork that never returns: the interpreter may lie where that user may not look.
    """
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.setgroups(list(groups))
            os.setgid(uid)
            os.setuid(uid)
            with Client(path) as client:
                os.write(writing, json.dumps(client.ask(verb)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        answer: dict[str, Any] = json.loads(file.read())
    os.wait()
    return answer
