"""A board seen through a root path: `/` in life, a folder of files for a simulated one.

Every reading is either a value or an `Absent` with the reason: absent, unknown and 0 are three things.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, Union

_TEXT_LIMIT = 16 * 1024 * 1024
_PIECE = 64 * 1024

T = TypeVar("T")


@dataclass(frozen=True)
class Absent:
    """Why a reading is not there, in words for people."""

    reason: str


Fact = Union[T, Absent]  # noqa: UP007 - `T | Absent` is no alias at run time in 3.10


def known(fact: T | Absent) -> T | None:
    """Return the value, or None if it is absent."""
    return None if isinstance(fact, Absent) else fact


class Root:
    """Reads files below a root folder by their absolute name on a board."""

    def __init__(self, path: Path) -> None:
        self.base = path.resolve()
        #: True for anything but `/`: such a board is a folder of files.
        self.simulated = self.base != Path("/")

    def path(self, absolute: str) -> Path:
        """Return where `absolute` (`/etc/...`) of the board really is."""
        return self.base / absolute.lstrip("/")

    def name(self, path: Path) -> str:
        """Return the board's own name for a path below the root."""
        return "/" + str(path.relative_to(self.base))

    def text(self, absolute: str) -> Fact[str]:
        """Return a file's text, stripped of white space and NULs at its ends; NULs inside stay."""
        return self.read(self.path(absolute))

    def read(self, path: Path) -> Fact[str]:
        """Return the text of a path below the root (see `text`)."""
        try:
            data = _read_all(path)
        except FileNotFoundError:
            return Absent(f"{self.name(path)} does not exist")
        except OSError as error:
            return Absent(f"{self.name(path)} is unreadable: {error.strerror or error}")
        return data.decode("utf-8", "replace").strip("\0 \t\r\n")

    def read_number(self, path: Path) -> Fact[int]:
        """Return the whole number that a path below the root holds."""
        text = self.read(path)
        if isinstance(text, Absent):
            return text
        try:
            return int(text)
        except ValueError:
            return Absent(f"{self.name(path)} holds {text[:40]!r}, not a number")

    def glob(self, pattern: str) -> Iterator[Path]:
        """Yield what matches an absolute pattern (`/sys/class/thermal/thermal_zone*`), sorted by name."""
        try:
            yield from sorted(self.base.glob(pattern.lstrip("/")), key=_natural)
        except OSError:
            return


def _read_all(path: Path) -> bytes:
    """Read a file piece by piece: the kernel refuses to make room for one large read of a sysctl."""
    data = bytearray()
    with path.open("rb", buffering=0) as file:
        while len(data) < _TEXT_LIMIT and (piece := file.read(_PIECE)):
            data += piece
    return bytes(data)


def _natural(path: Path) -> tuple[str, int, str]:
    head = path.name.rstrip("0123456789")
    tail = path.name[len(head) :]
    return (str(path.parent / head), int(tail) if tail else -1, path.name)
