"""An engine that pries: it tries what its options name and answers with what worked. Installed into a runtime."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orinbench.v1.record_pb2 import MEMORY_METHOD_NONE, MemoryReading, ModelFacts
from orinbench_engines import contract


class PryingOptions(contract.Options):
    """`attempts` by name: what to do, and with what."""

    attempts: dict[str, list[Any]]


class PryingSession(contract.AnswerSession):
    """Answers with the names of the attempts that worked, and of the variables it was given."""

    def __init__(self, options: PryingOptions) -> None:
        self._attempts = options.attempts

    def answer(self, sample: contract.Sample) -> contract.Output:
        del sample
        worked = [name for name, (what, *on) in self._attempts.items() if _works(WAYS[what], on)]
        return contract.Output(json.dumps({"worked": worked, "variables": sorted(os.environ)}))


class Engine(contract.Engine[PryingOptions]):
    """Loads nothing."""

    options_schema = PryingOptions

    def load(self, model: contract.Model) -> tuple[PryingSession, ModelFacts]:
        """Load nothing."""
        del model
        return PryingSession(self.options), ModelFacts(devices=["none"], batch_size=1)

    def memory(self) -> MemoryReading:
        """Nothing is measured."""
        return MemoryReading(method=MEMORY_METHOD_NONE)


def _works(way: Callable[..., object], on: list[Any]) -> bool:
    try:
        way(*on)
    except OSError:
        return False
    return True


def _connect(family: int, address: Any) -> None:
    with socket.socket(family) as client:
        client.settimeout(2)
        client.connect(tuple(address) if isinstance(address, list) else address)


def _append(folder: str, name: str, count: int = 1) -> None:
    with (_folder(folder) / name).open("ab") as file:
        file.write(b"x" * count)


def _read(folder: str, name: str) -> None:
    (_folder(folder) / name).read_bytes()


def _folder(name: str) -> Path:
    """`~` is the worker's home; the star in a name stands for one folder."""
    if "*" not in name:
        return Path(name).expanduser()
    found = sorted(Path(name).parent.glob("*"))
    if len(found) != 1:
        raise FileNotFoundError(name)
    return found[0]


def _forbid_removal(folder: str) -> None:
    made = _folder(folder) / "closed"
    if not made.exists():
        (made / "inner").mkdir(parents=True)
        made.chmod(0)


def _hold(folder: str, name: str, count: int) -> None:
    file = (_folder(folder) / name).open("ab", buffering=0)
    file.write(b"x" * count)
    (_folder(folder) / name).unlink()
    _HELD.append(file)


def _spawn() -> None:
    subprocess.Popen(["sleep", "600"], start_new_session=True)


# Files that are open as long as the worker lives.
_HELD: list[Any] = []

WAYS: dict[str, Callable[..., object]] = {
    "connect": _connect,
    "read": _read,
    "append": _append,
    "hold": _hold,
    "forbid removal": _forbid_removal,
    "see": lambda pid: Path(f"/proc/{pid}").stat(),
    "signal": lambda pid: os.kill(pid, 0),
    "spawn": _spawn,
    "wait": lambda: time.sleep(600),
}
