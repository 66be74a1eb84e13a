"""The document of a board of graded runs as tables: models down, cells across, one table a variant and first label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orinbench_client.boards.document import Document
from orinbench_client.boards.tables import (
    METHODS,
    SIGNATURES,
    UNRANKED,
    Column,
    Row,
    Table,
    fixed,
    interval,
    make_table,
    plain,
    yes,
)

_MODEL = Column("Model", plain("model"))
_RANK = Column("Rank", plain("rank"))
_SCORE = Column("Score", fixed("score", 4))
_CLEAR_OF_FLOOR = Column("Above the floor", lambda row: yes("above_floor")(row) if "above_floor" in row else None)
_ACCURACY = (
    _RANK,
    _MODEL,
    _SCORE,
    Column("95 %", interval("ci", 4)),
    Column("Samples", plain("n")),
    Column("Unparsable", plain("unparsable")),
    Column("Refused", plain("refused")),
    Column("Floor", fixed("floor", 4)),
    _CLEAR_OF_FLOOR,
    Column("Parameters", plain("parameter_count")),
    Column("Type", plain("native_dtype")),
)
_COMPARISON = (
    Column("First", plain("first")),
    Column("Second", plain("second")),
    Column("Difference", fixed("score_difference", 4)),
    Column("95 %", interval("ci", 4)),
    Column("Clear", yes("resolved")),
)
_MEMORY = (
    _RANK,
    _MODEL,
    Column("Score % a GiB", fixed("score_pct_per_gib", 2)),
    Column("Peak GiB", fixed("peak_memory_gib", 3)),
    _SCORE,
)
_SPEED = (
    _RANK,
    _MODEL,
    Column("Mean s", fixed("window_mean_s", 4)),
    Column("95 %", interval("window_mean_ci_s", 4)),
    Column("p50 s", fixed("window_p50_s", 4)),
    Column("p90 s", fixed("window_p90_s", 4)),
    Column("p99 s", fixed("window_p99_s", 4)),
    _SCORE,
)
_ENERGY = (
    _RANK,
    _MODEL,
    Column("J a correct answer", fixed("energy_j_per_correct_answer", 3)),
    Column("J a sample", fixed("energy_j_per_sample", 3)),
    Column("J in all", fixed("energy_j", 1)),
    _SCORE,
)
_DETAIL = (
    _MODEL,
    Column("Dimension", plain("dimension")),
    Column("Task", plain("task")),
    Column("Figure", plain("metric")),
    Column("Score", fixed("score", 3)),
    Column("95 %", interval("ci", 3)),
    Column("Beside", plain("beside")),
    Column("Floor", fixed("floor", 3)),
    _CLEAR_OF_FLOOR,
    Column("Refused", plain("refused")),
    Column("Unparsable", plain("unparsable")),
    Column("n", plain("n")),
)
_CELL_ENERGY = (
    _MODEL,
    Column("Dimension", plain("dimension")),
    Column("Task", plain("task")),
    Column("J a correct answer", fixed("energy_j_per_correct_answer", 3)),
)
_CONTRAST = (
    _MODEL,
    Column("Dimension", plain("dimension")),
    Column("Task", plain("task")),
    Column("Figure", plain("metric")),
    Column("First", fixed("first", 3)),
    Column("Second", fixed("second", 3)),
    Column("Difference", fixed("difference", 3)),
    Column("95 %", interval("ci", 3)),
    Column("Clear", yes("resolved")),
    Column("n", plain("n")),
)
_UNREAD = (
    _MODEL,
    Column("State", plain("state")),
    Column("Rule", plain("rule")),
    Column("Replies", plain("replies")),
)


def graded_tables(document: Document) -> list[Table]:
    """Return every table of a board, in order, those of each variant together."""
    boards = document["boards"]
    tables: list[Table] = []
    for variant in document["variants"]:
        tables += _variant_tables(boards, document["axes"], variant)
    contrasts = boards.get("contrasts", [])
    for name in dict.fromkeys(row["contrast"] for row in contrasts):
        rows = [row for row in contrasts if row["contrast"] == name]
        tables.append(make_table(f"Paired difference: {name.replace('-', ' ')}", _CONTRAST, rows))
    unranked = [{**row, "model": row["model_id"], "axes": ", ".join(row["axes"])} for row in document["unranked"]]
    tables.append(make_table("Signatures", SIGNATURES, document.get("signatures", [])))
    tables.append(make_table("Not ranked", (_MODEL, *UNRANKED[1:]), unranked))
    return [table for table in tables if table.cells]


def _variant_tables(
    boards: Mapping[str, Any], axes: Mapping[str, Sequence[str]], variant: Mapping[str, Any]
) -> Iterator[Table]:
    suffix = f" ({', '.join(variant['chosen'].values())})" if variant["chosen"] else ""

    def own(name: str, part: str = "rows") -> list[Row]:
        board = boards.get(name, [])
        rows = board if isinstance(board, list) else board[part]
        return [row for row in rows if row["suite_digest"] == variant["suite_digest"]]

    yield make_table(f"Accuracy{suffix}", _ACCURACY, own("accuracy"))
    yield make_table(f"Neighbours in accuracy{suffix}", _COMPARISON, own("accuracy", "comparisons"))
    for method in boards.get("memory", {}).get("methods", []):
        rows = [row for row in own("memory") if row["memory_method"] == method]
        yield make_table(f"Memory, {METHODS.get(method, method)}{suffix}", _MEMORY, rows)
    yield make_table(f"Speed{suffix}", _SPEED, own("speed"))
    yield make_table(f"Energy{suffix}", _ENERGY, own("energy"))
    for name, own_axes in axes.items():
        yield from _crossed(name, own_axes, own(name), suffix)
        if not own("accuracy"):
            # There is no figure of all samples together: the cells are what the board has to say.
            yield make_table(f"{name.capitalize()} in detail{suffix}", _DETAIL, [_detail(row) for row in own(name)])
            yield make_table(f"Energy task by task{suffix}", _CELL_ENERGY, own("energy-by-cell"))
    yield make_table(f"Replies without an answer{suffix}", _UNREAD, _counted(own("unread")))


def _crossed(name: str, axes: Sequence[str], rows: Sequence[Row], suffix: str) -> Iterator[Table]:
    """Yield the cells of one table with the floors below, apart by the first axis where there are several."""
    apart = axes[:-1][:1]
    for first in dict.fromkeys(tuple(row[axis] for axis in apart) for row in rows):
        own = [row for row in rows if tuple(row[axis] for axis in apart) == first]
        columns = list(dict.fromkeys(_place(row, axes[len(apart) :]) for row in own))
        lines: dict[str, dict[str, str]] = {}
        made_of: dict[str, Row] = {row["model"]: row for row in own}
        for row in own:
            place = _place(row, axes[len(apart) :])
            lines.setdefault(row["model"], {})[place] = row.get("score_2dp") or f"{row['score']:.3f}"
        for row in own:
            if "floor" in row:
                lines.setdefault("floor", {})[_place(row, axes[len(apart) :])] = f"{row['floor']:.3f}"
        cells = [[model, *(line.get(column, "") for column in columns)] for model, line in lines.items()]
        behind = [made_of.get(line, {}) for line in lines]
        yield Table(": ".join([name.capitalize(), *first]) + suffix, ["Model", *columns], cells, behind)


def _detail(row: Row) -> Row:
    """Return a cell with the figures that stand beside its own, each with its interval, in words."""
    beside = [name.removesuffix("_ci") for name in row if name.endswith("_ci")]
    words = (f"{name} {row[name]:.3f} ({row[f'{name}_ci'][0]:.3f} to {row[f'{name}_ci'][1]:.3f})" for name in beside)
    return {**row, "beside": "; ".join(words)}


def _place(row: Row, axes: Sequence[str]) -> str:
    return " / ".join(str(row[axis]) for axis in axes)


def _counted(rows: Sequence[Row]) -> list[Row]:
    counts = Counter((row["model"], row["state"], row["rule"]) for row in rows)
    return [
        {"model": model, "state": state, "rule": rule, "replies": count}
        for (model, state, rule), count in sorted(counts.items())
    ]
