"""The program `orinbench` as a process, and what it is given in tests."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.integration.harness import Daemon, to_toml

PROGRAM = (sys.executable, "-m", "orinbench_client.cli.main")


class Orinbench:
    """Calls of the program in one folder, against one daemon."""

    def __init__(self, folder: Path, host: Daemon | str, limit_s: float = 60) -> None:
        self.folder = folder
        self._limit_s = limit_s
        address = f"unix:{host.socket}" if isinstance(host, Daemon) else host
        # No variable or config file of the developer's own.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ORINBENCH_")}
        self._started: list[Started] = []
        self.environment = {**kept, "ORINBENCH_HOST": address, "XDG_CONFIG_HOME": str(folder)}

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run to its end."""
        return subprocess.run(
            [*PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=self._limit_s,
            check=False,
        )

    def good(self, *arguments: str) -> str:
        """Run to a good end and return what it printed."""
        done = self.call(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def fails(self, code: int, *arguments: str) -> str:
        """Run to an end with `code`; return the one line on standard error that begins with the program's name."""
        done = self.call(*arguments)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("orinbench: ")]
        assert done.stderr.endswith(line + "\n")
        return line

    def start(self, *arguments: str) -> Started:
        """Start and return at once."""
        process = subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Its own group, so that a test's Ctrl-C reaches the program alone.
            start_new_session=True,
        )
        self._started.append(Started(process))
        return self._started[-1]

    def draw(self, terminal: Terminal, *arguments: str, reports: bool = False) -> Started:
        """Start with the terminal as input and as standard output, or as standard error with `reports`."""
        process = subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=self.folder,
            env={**self.environment, "TERM": "xterm", "COLUMNS": "100"},
            stdin=terminal.theirs,
            stdout=subprocess.PIPE if reports else terminal.theirs,
            stderr=terminal.theirs if reports else subprocess.PIPE,
            text=True,
        )
        self._started.append(Started(process))
        return self._started[-1]

    def close(self) -> None:
        """End what a test started and did not wait for."""
        for started in self._started:
            started.close()


class Started:
    """The program while it runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.seen: list[str] = []

    def until(self, text: str) -> str:
        """Read standard error until a line holds `text`; return that line."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.seen.append(line)
            if text in line:
                return line
        raise AssertionError(f"it ended without {text!r}: {''.join(self.seen)}")

    def press(self, number: signal.Signals = signal.SIGINT) -> None:
        """Send a signal, Ctrl-C if none is named."""
        self.process.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        """Wait for its end; return exit code, standard output, and all of standard error, of what is no terminal."""
        try:
            out, rest = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.close()
            raise
        return self.process.returncode, out or "", "".join(self.seen) + (rest or "")

    def close(self) -> None:
        """End it if it still runs, and close its pipes."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def null_model(folder: Path, delay_ms: float) -> str:
    """Write the declaration of a model that answers with one word after some time; return its path."""
    values = {
        "id": "slow",
        "title": "Slow",
        "license": "Apache-2.0",
        "engine": "null",
        "adapter": "none",
        "dtype": "none",
        "warmup": 0,
        "options": {"delay_ms": delay_ms, "text": "سلام"},
    }
    path = folder / "slow.toml"
    path.write_text(to_toml(values))
    return str(path)


class Terminal:
    """A terminal with a program at its other end, who never waits for us: all it draws is taken at once."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        self._drawn = b""
        self._more = threading.Condition()
        self._taker = threading.Thread(target=self._take, daemon=True)
        self._taker.start()

    def until(self, text: bytes, times: int = 1) -> None:
        """Wait until `text` was drawn so many times since the last call."""
        with self._more:
            assert self._more.wait_for(lambda: self._drawn.count(text) >= times, 60), self._drawn
            self._drawn = b""

    def close(self) -> None:
        """Take both ends away."""
        os.close(self.theirs)
        self._taker.join(5)
        os.close(self._ours)

    def _take(self) -> None:
        # The last program that has the other end takes the terminal away with it.
        with suppress(OSError):
            while drawn := os.read(self._ours, 65536):
                with self._more:
                    self._drawn += drawn
                    self._more.notify_all()


@contextmanager
def program_in(folder: Path, host: Daemon | str, limit_s: float = 60) -> Iterator[Orinbench]:
    """The program, and the end of all that was started with it."""
    program = Orinbench(folder, host, limit_s)
    try:
        yield program
    finally:
        program.close()


def bundle_of(folder: Path, run: str, suite: str = "fa-demo-v1") -> dict[str, Any]:
    """Return the run of a bundle in ``results``."""
    content: dict[str, Any] = json.loads((folder / "results" / suite / run / "run.json").read_text())
    return content


def samples_of(folder: Path, run: str, results: str = "results", suite: str = "fa-demo-v1") -> list[str]:
    """Return the sample ids of a bundle in order."""
    lines = (folder / results / suite / run / "samples.jsonl").read_text().splitlines()
    return [json.loads(line)["sample_id"] for line in lines]
