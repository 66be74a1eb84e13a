"""Text for terminals: tables that bear any script, colours where they are wanted."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

import typer

# What opens, closes or turns directions: of a foreign text it would reach into ours.
_TURNS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_GOOD, _BAD, _WORK = "green", "red", "cyan"
#: Colours of the words that tell whether something is well.
STATES: Mapping[str, str] = {
    **dict.fromkeys(("ok", "succeeded", "idle", "trusted"), _GOOD),
    **dict.fromkeys(("FAILED", "failed", "wedged", "unavailable", "invalid"), _BAD),
    **dict.fromkeys(("unknown", "cancelled", "cancelling", "paused", "draining", "stale", "down"), "yellow"),
    **dict.fromkeys(("queued", "preparing", "running", "finishing", "busy"), _WORK),
}


def colourful(stream: TextIO) -> bool:
    """Tell whether colours are wanted there: on a terminal that has them, unless NO_COLOR is set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")


def paint(text: str, colour: str | None, stream: TextIO | None = None) -> str:
    """Return text in a colour if `stream` (standard output) wants any."""
    return typer.style(text, fg=colour) if text and colour and colourful(stream or sys.stdout) else text


def plain(text: str) -> str:
    """Return a foreign text without what would move the cursor or turn the line; other controls as U+FFFD."""
    return "".join(_harmless(character) for character in text.translate(_TURNS))


def plain_lines(text: str) -> str:
    """Return lines with foreign texts in them, each made harmless as by `plain`."""
    return "\n".join(map(plain, text.split("\n")))


def _harmless(character: str) -> str:
    if unicodedata.category(character) != "Cc":
        return character
    return " " if character.isspace() else "\ufffd"


def isolate(text: str) -> str:
    """Enclose text that runs from right to left (U+2068 … U+2069), so that it does not turn the line around it."""
    turns = any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)
    return f"\u2068{text}\u2069" if turns else text


def table(rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Return rows, the header first, as columns of equal width in terminal cells; isolates what needs it.

    Texts that do not fit into `width` (of the terminal; elsewhere there is no bound) are wrapped between words: no
    word is cut, so that names can be copied. Words of STATES get their colour.
    """
    cells = [[plain(cell) for cell in row] for row in rows]
    widths = _widths(cells, width if width is not None else terminal_width())
    return "\n".join(line for row in cells for line in _lines(row, widths))


def terminal_width() -> int | None:
    """Return the columns of the terminal that standard output is; None if it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _widths(cells: list[list[str]], bound: int | None) -> list[int]:
    """Return the width of each column: the widest give way first, down to their longest word."""
    from rich.cells import cell_len

    columns = list(zip(*cells, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    if bound is None:
        return widths
    least = [max((cell_len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    while sum(widths) + 2 * (len(widths) - 1) > bound:
        can = [index for index in range(len(widths)) if widths[index] > least[index]]
        if not can:
            break
        widest = max(can, key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    from rich.cells import cell_len

    wrapped = [list(_wrapped(cell, width)) for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, wrapped))):
        parts = []
        for cell, lines, width in zip(row, wrapped, widths, strict=True):
            text = lines[number] if number < len(lines) else ""
            gap = " " * (width - cell_len(text))
            parts.append(paint(isolate(text), STATES.get(cell)) + gap)
        yield "  ".join(parts).rstrip()


def _wrapped(text: str, width: int) -> Iterator[str]:
    from rich.cells import cell_len

    if cell_len(text) <= width:
        yield text
        return
    line = ""
    for each in text.split():
        longer = f"{line} {each}" if line else each
        if line and cell_len(longer) > width:
            yield line
            longer = each
        line = longer
    yield line
