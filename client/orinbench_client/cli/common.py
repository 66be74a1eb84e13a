"""What the commands share: options, tables, JSON, words for enums."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from unicodedata import bidirectional

import typer
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.cells import cell_len

HostOption = Annotated[
    str | None,
    typer.Option("--host", metavar="ADDRESS", help="unix:/path, /path, host:port or tls://host:port."),
]
TokenOption = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="Token of a TCP door (ORINBENCH_TOKEN, …_TOKEN_FILE)."),
]
TrustOption = Annotated[
    Path | None, typer.Option("--trust", metavar="FILE", help="List of trusted boards; your own if not given.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Name of the run.")]

# Up to protobuf 5 the parameter had another name.
_PARAMETERS = inspect.signature(MessageToDict).parameters
_WITH_ZEROS = next(
    name for name in ("always_print_fields_with_no_presence", "including_default_value_fields") if name in _PARAMETERS
)


def to_dict(message: Message) -> dict[str, Any]:
    """Return a message as JSON values by field name: zeros are there, what is unknown is not."""
    options: dict[str, Any] = {_WITH_ZEROS: True}
    return MessageToDict(message, preserving_proto_field_name=True, **options)


def print_json(value: object) -> None:
    """Print a value as one line of JSON."""
    print(json.dumps(value, ensure_ascii=False, sort_keys=True))


def run_name(text: str) -> str:
    """Return the resource name for a run given with or without ``runs/``."""
    return text if text.startswith("runs/") else f"runs/{text}"


def word(enum: Any, value: int, prefix: str) -> str:
    """Return an enum's value as a lower-case word; a value of a newer daemon as its number."""
    try:
        return str(enum.Name(value)).removeprefix(prefix).lower()
    except ValueError:
        return f"number {value}"


def isolate(text: str) -> str:
    """Enclose text that runs from right to left (U+2068 … U+2069), so that it does not turn the line around it."""
    turns = any(bidirectional(character) in ("R", "AL") for character in text)
    return f"\u2068{text}\u2069" if turns else text


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows, the header first, as columns of equal width in terminal cells; isolates what needs it."""
    cells = [[isolate(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_line(row, widths) for row in cells)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()


def seconds(value: float) -> str:
    """Return a duration for people: 4.2 s, 3:05, 2:03:04."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def gibibytes(value: int) -> str:
    """Return bytes as GiB, or as MiB below one GiB."""
    return f"{value / 2**30:.2f} GiB" if value >= 2**30 else f"{value / 2**20:.0f} MiB"
