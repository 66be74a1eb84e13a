"""A folder in which the blocks of one page are run from top to bottom, as a reader would."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.integration.docs.pages import ROOT, SHELL, Block

_LIMIT_S = 90
_PORT = "50061"
#: What a reader's clone has that the commands of a page may name.
_OF_THE_CLONE = (
    "scripts", "profiles", "client", "daemon", "engines", "proto", "systemd", "tests", "docs", "pyproject.toml",
    "README.md", "LICENSE",
)  # fmt: skip


class Workplace:
    """The folder, the variables, and the daemons that the page has started."""

    def __init__(self, folder: Path, host: str) -> None:
        self.folder = folder
        self._said = ""
        self._daemons: list[subprocess.Popen[str]] = []
        self._exports = folder / ".exports"
        self._exports.touch()
        for name in _OF_THE_CLONE:
            (folder / name).symlink_to(ROOT / name)
        (folder / ".venv").symlink_to(sys.prefix)
        (folder / "home").mkdir()
        self._environment = _variables(folder / "home", host)
        self._port = str(_free_port())

    def do(self, block: Block) -> None:
        """Do what a reader does with the block. The port that pages name is a free one here."""
        block = replace(block, text=block.text.replace(_PORT, self._port))
        if "file" in block.marks:
            path = self.folder / block.marks["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text + "\n")
        elif block.kind == "output":
            assert matches(block.text, self._said), f"line {block.line} shows what was not printed:\n{self._said}"
        elif block.runs and "daemon" in block.marks:
            self._start(block)
        elif block.runs:
            self._run(block)

    def close(self) -> None:
        """End what the page has started."""
        for daemon in self._daemons:
            os.killpg(daemon.pid, signal.SIGTERM)
            daemon.wait(60)
            assert daemon.stdout is not None
            daemon.stdout.close()

    def _run(self, block: Block) -> None:
        done = subprocess.run(
            self._shell(block.text),
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        expected = int(block.marks.get("exit", "0"))
        assert done.returncode == expected, (
            f"line {block.line} ended with {done.returncode}:\n{block.text}\n{done.stdout}"
        )
        if block.kind == SHELL:
            self._said = done.stdout

    def _start(self, block: Block) -> None:
        with (self.folder / "daemon.log").open("a") as log:
            daemon = subprocess.Popen(
                self._shell(f"exec {block.text}"),
                cwd=self.folder,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._daemons.append(daemon)
        assert daemon.stdout is not None
        wanted = block.marks["daemon"].removeprefix("until").strip()
        with (self.folder / "daemon.out").open("w") as out:
            for line in daemon.stdout:
                out.write(line)
                if wanted in line:
                    return
        raise AssertionError(f"line {block.line} did not get ready: {(self.folder / 'daemon.log').read_text()}")

    def _shell(self, text: str) -> list[str]:
        # What one block exports the next one has, as in a reader's terminal.
        exports = self._exports
        return ["bash", "-euo", "pipefail", "-c", f". {exports}\ntrap 'export -p > {exports}' EXIT\n{text}\n"]


@contextmanager
def workplace(folder: Path, host: str) -> Iterator[Workplace]:
    """A workplace whose daemons end with it. `host` is the board that is there without the page's doing."""
    place = Workplace(folder, host)
    try:
        yield place
    finally:
        place.close()


def matches(shown: str, said: str) -> bool:
    """Tell whether the lines shown were printed one after the other; `…` stands for anything within them."""
    pattern = "".join(".*" if part == "…" else re.escape(part) for part in re.split("(…)", shown.strip()))
    return re.search(pattern, said, re.DOTALL) is not None


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def _variables(home: Path, host: str) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {
        "PATH": path,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "ORINBENCH_HOST": host,
        # Nothing is fetched: what a page installs is built from what is here.
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
