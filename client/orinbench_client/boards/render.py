"""A board's document as JSON, CSV and Markdown: the same bytes on every machine and Python."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from orinbench_client.boards.document import Document
from orinbench_client.boards.graded_tables import graded_tables
from orinbench_client.boards.tables import Table, board_tables

#: What would begin markup, or end a cell; a sign that is escaped already must not free the next one.
_MARKUP = re.compile(r"[\\|`*\[\]!]")
#: What a spreadsheet takes for a formula: https://owasp.org/www-community/attacks/CSV_Injection. No number is one.
_FORMULA = re.compile(r"[=+\-@\t\r\n](?![0-9.]+$)")


def to_json(document: Document) -> str:
    """Return the document as JSON, its keys sorted."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2, sort_keys=True) + "\n"


def to_csv(document: Document) -> str:
    """Return the rows of all boards in full precision, one line a run and board; an absent reading is empty.

    A text that a spreadsheet would take for a formula stands behind an apostrophe, which makes it a text there.
    """
    rows = [{"board": name, **_flat(row)} for name, board in document["boards"].items() for row in _rows(board)]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(board: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a board, which may be a list of cells or fronts without any."""
    rows: list[Mapping[str, Any]] = board if isinstance(board, list) else board.get("rows", [])
    return rows


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, list):
            flat |= {f"{name}_lo": value[0], f"{name}_hi": value[1]}
        elif isinstance(value, str) and _FORMULA.match(value):
            flat[name] = f"'{value}"
        else:
            flat[name] = value
    return flat


def to_markdown(document: Document) -> str:
    """Return the board for people to read."""
    parts = [f"# Leaderboard: {_escape(document['suite']['id'])}", *_head(document)]
    tables = graded_tables(document) if "scorer" in document else board_tables(document)
    for table in tables:
        parts += [f"## {_escape(table.title)}", _markdown_table(table)]
    if not any(map(_rows, document["boards"].values())):
        parts.append("No run is ranked.")
    return "\n\n".join(parts) + "\n"


def _head(document: Document) -> list[str]:
    uncertainty = document["uncertainty"]
    lines = [
        f"- {name}: {_escape(document[key]['id'])} ({_code(document[key]['digest'])})"
        for name, key in (("Suite", "suite"), ("Hardware", "hardware"), ("Execution", "execution_contract"))
    ]
    for name, key in (("Normaliser", "normalizer"), ("Scorer", "scorer")):
        if made_by := document.get(key):
            lines.append(f"- {name}: {made_by['name']} (`{made_by['digest']}`)")
    lines.append(
        f"- Intervals: {100 * uncertainty['confidence_level']:g} %, {uncertainty['method']},"
        f" {uncertainty['replicates']} replicates, seed {uncertainty['seed']}"
    )
    heading = [f"**{document['heading']}**"] if document["heading"] else []
    return [*heading, "\n".join(lines)]


def _markdown_table(table: Table) -> str:
    lines = [table.columns, ["---"] * len(table.columns), *table.cells]
    return "\n".join(f"| {' | '.join(_escape(cell) for cell in line)} |" for line in lines)


def _escape(text: str) -> str:
    """Return text that is one cell and no markup."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;")


def _code(text: str) -> str:
    """Return text in backticks, where nothing else is markup."""
    plain = " ".join(text.split()).replace("`", "'")
    return f"`{plain}`"


def summary_markdown(table: Table) -> str:
    """Return the summary of several boards."""
    return f"# {_escape(table.title)}\n\n{_markdown_table(table)}\n"


def index_markdown(boards: Sequence[Mapping[str, Any]]) -> str:
    """Return the list of several boards, each in a folder of its own."""
    lines = [
        f"- [{_escape(board['suite'])}, {_escape(board['hardware'])}, {_escape(board['execution_contract'])}]"
        f"({board['folder']}/leaderboard.md)"
        for board in boards
    ]
    return "# Leaderboards\n\n[All suites on one page](summary.md)\n\n" + "\n".join(lines) + "\n"
