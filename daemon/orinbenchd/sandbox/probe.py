"""The program that proves a sandbox: started in it, it tries what a worker must not be able to do.

Given to an interpreter as text, for its file may be hidden. Its argument is JSON: `fd`, an inherited socket for the
answer; `addresses`, pairs of family and address that nobody may reach; `outside`, a folder that may be neither read nor
written, or null where files are not isolated; `scratch`, a folder that must be writable. The answer is a JSON list of
what is wrong.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def problems(task: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the isolation around this process."""
    for family, address in task["addresses"]:
        if _reaches(family, tuple(address) if isinstance(address, list) else address):
            yield f"it could connect to {address!r}"
    if task["outside"] is not None:
        yield from _outside(Path(task["outside"]))
    if not _writes(Path(task["scratch"]) / "proof"):
        yield "it could not write to its scratch folder"


def _outside(folder: Path) -> Iterator[str]:
    if _reads(folder / "secret"):
        yield f"it could read {folder / 'secret'}"
    if _writes(folder / "proof"):
        yield f"it could write to {folder}"
    if _reaches(socket.AF_UNIX, str(folder / "socket")):
        yield f"it could connect to {folder / 'socket'}"
    if not os.statvfs("/").f_flag & os.ST_RDONLY:
        yield "the system's files are not read-only"
    # Itself, and the sandbox's own first process.
    others = {path.name for path in Path("/proc").glob("[0-9]*")} - {"1", str(os.getpid())}
    if others:
        yield f"it could see {len(others)} other processes"


def _reaches(family: int, address: Any) -> bool:
    try:
        with socket.socket(family) as client:
            client.settimeout(1.0)
            client.connect(address)
    except OSError:
        return False
    return True


def _reads(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True


def _writes(path: Path) -> bool:
    try:
        path.write_bytes(b"x")
    except OSError:
        return False
    return True


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    with socket.socket(fileno=given["fd"]) as answer:
        answer.sendall(json.dumps(list(problems(given))).encode())
