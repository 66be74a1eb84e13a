"""The pages of the documentation as blocks, and what a comment before a block says about it.

A fenced block without a language is a block of commands for a shell, run as it stands. A comment just before it says
otherwise: ``<!-- docs: … -->``, several words parted by semicolons.

=========================  ==============================================================================
``daemon``                 start it, wait for its first line, end it with the page
``daemon until TEXT``      the same, waiting for a line with TEXT; its lines are in ``daemon.out``
``exit N``                 it ends with this code
``not run: REASON``        one of REASONS; its command lines are still held against the programs
``covered by PATH``        not run here: a test does it, or ``.ci/run``
``output``                 what the block before it prints, word for word; ``…`` stands for anything
``file NAME``              what the page has its reader write into a file
``config`` …               a declaration of this kind (VALIDATORS in `declarations`)
=========================  ==============================================================================

``<!-- docs: setup`` with further lines of shell up to ``-->`` prepares what the page takes for given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
REASONS = {
    "needs a Jetson",
    "needs root",
    "needs the hub",
    "needs the network",
    "needs CUDA",
    "needs the gated data",
    "needs another machine",
    "is the program's own help",
}
SHELL, SETUP, OUTPUT = "sh", "setup", "output"
DATA = {"toml", "yaml", "json", "jsonl", "python", "text"}
_WORDS = {"daemon", "exit", "not run:", "covered by", "output", "file", "config", "model", "suite", "gates"}
_FENCE = re.compile(r"^( *)```(\S*)\s*$")
_MARK = re.compile(r"<!-- docs: (.*?)\s*-->\s*$")


class PageError(ValueError):
    """A page says something about a block that nobody understands."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its first line in the page, its kind, its text, and what is said of it."""

    line: int
    kind: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> bool:
        """Whether it is run here."""
        return self.kind in (SHELL, SETUP) and not self.marks.keys() & {"not run:", "covered by"}


def pages() -> list[Path]:
    """Return every page that people read."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page. Raises PageError."""
    found: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if lines[at] == "<!-- docs: setup":
            end = lines.index("-->", at)
            found.append(Block(at + 1, SETUP, "\n".join(lines[at + 1 : end])))
        elif fence:
            end = _closing(lines, at, fence[1])
            found.append(_block(lines, at, end, fence))
        else:
            end = at
        at = end + 1
    return found


def _closing(lines: list[str], at: int, indent: str) -> int:
    for end in range(at + 1, len(lines)):
        if lines[end] == f"{indent}```":
            return end
    raise PageError(f"line {at + 1}: the block has no end")


def _block(lines: list[str], at: int, end: int, fence: re.Match[str]) -> Block:
    indent, language = fence[1], fence[2]
    before = next((line for line in reversed(lines[:at]) if line.strip()), "")
    mark = _MARK.match(before.strip())
    marks = _marks(mark[1], at + 1) if mark else {}
    kind = OUTPUT if OUTPUT in marks else language or SHELL
    if kind not in {SHELL, OUTPUT, *DATA}:
        raise PageError(f"line {at + 1}: no kind of block is called {language!r}")
    return Block(at + 1, kind, "\n".join(line.removeprefix(indent) for line in lines[at + 1 : end]), marks)


def _marks(text: str, line: int) -> dict[str, str]:
    marks = {}
    for part in text.split(";"):
        word = next((word for word in _WORDS if f"{part.strip()} ".startswith(f"{word} ")), None)
        if word is None:
            raise PageError(f"line {line}: nobody knows what {part.strip()!r} means")
        marks[word] = part.strip().removeprefix(word).strip()
    if "not run:" in marks and marks["not run:"] not in REASONS:
        raise PageError(f"line {line}: {marks['not run:']!r} is no reason that counts")
    if "covered by" in marks and not (ROOT / marks["covered by"]).exists():
        raise PageError(f"line {line}: there is no {marks['covered by']}")
    return marks
