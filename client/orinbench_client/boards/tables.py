"""A board's document as tables: which columns there are, in which words, with how many digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from orinbench_client.boards.build import Document

Row = Mapping[str, Any]
#: How a memory number was taken, in words.
METHODS = {
    "torch-reserved": "peak CUDA reserved",
    "tensorrt-pool": "peak CUDA reserved by the TensorRT pool",
    "onnxruntime-pool": "peak CUDA reserved by the ONNX Runtime pool",
    "process-rss": "peak process RSS",
}


class Table(NamedTuple):
    """A heading, column headings, and cells as text."""

    title: str
    columns: list[str]
    cells: list[list[str]]


class _Column(NamedTuple):
    heading: str
    text: Callable[[Row], str | None]


def _plain(name: str) -> Callable[[Row], str | None]:
    return lambda row: None if row.get(name) is None else str(row[name])


def _fixed(name: str, digits: int, scale: float = 1.0) -> Callable[[Row], str | None]:
    return lambda row: None if row.get(name) is None else f"{row[name] * scale:.{digits}f}"


def _interval(name: str, digits: int) -> Callable[[Row], str | None]:
    def text(row: Row) -> str | None:
        bounds = row.get(name)
        return None if bounds is None else f"{bounds[0]:.{digits}f} to {bounds[1]:.{digits}f}"

    return text


def _yes(name: str) -> Callable[[Row], str | None]:
    return lambda row: "yes" if row[name] else "no"


_RANK = _Column("Rank", _plain("rank"))
_MODEL = _Column("Model", _plain("model_id"))
_CER = _Column("CER", _fixed("cer", 4))
_WER = _Column("WER", _fixed("wer", 4))
_ACCURACY = (
    _RANK,
    _MODEL,
    _CER,
    _Column("95 %", _interval("cer_ci", 4)),
    _WER,
    _Column("95 %", _interval("wer_ci", 4)),
    _Column("Word accuracy %", _fixed("word_accuracy_pct", 2)),
    _Column("Peak memory GiB", _fixed("peak_memory_gib", 3)),
    _Column("Parameters", _plain("parameter_count")),
    _Column("Type", _plain("native_dtype")),
)
_COMPARISON = (
    _Column("First", _plain("first")),
    _Column("Second", _plain("second")),
    _Column("CER difference", _fixed("cer_difference", 4)),
    _Column("95 %", _interval("ci", 4)),
    _Column("Verdict", _plain("verdict")),
)
_MEMORY = (
    _RANK,
    _MODEL,
    _Column("Word accuracy % a GiB", _fixed("memory_efficiency", 4)),
    _Column("95 %", _interval("memory_efficiency_ci", 2)),
    _Column("Peak GiB", _fixed("peak_memory_gib", 3)),
    _WER,
)
_SPEED = (
    _RANK,
    _MODEL,
    _Column("RTF", _fixed("rtf", 5)),
    _Column("95 %", _interval("rtf_ci", 5)),
    _Column("Throughput ×", _fixed("throughput_x", 2)),
    _Column("Mean s", _fixed("window_mean_s", 4)),
    _Column("p50 s", _fixed("window_p50_s", 4)),
    _Column("p90 s", _fixed("window_p90_s", 4)),
    _CER,
)
_ENERGY = (
    _RANK,
    _MODEL,
    _Column("J an hour of audio", _fixed("energy_j_per_audio_hour", 1)),
    _Column("95 %", _interval("energy_j_per_audio_hour_ci", 1)),
    _Column("J a sample", _fixed("energy_j_per_sample", 3)),
    _Column("J in all", _fixed("energy_j", 1)),
    _CER,
)
_POINT = (_MODEL, _CER, _Column("Cost", _plain("cost")), _Column("On the front", _yes("on_front")))
_EDGE = (
    _Column("Dominating", _plain("dominating")),
    _Column("Dominated", _plain("dominated")),
    _Column("CER difference", _fixed("cer_difference", 4)),
    _Column("95 %", _interval("ci", 4)),
    _Column("Supported by the samples", _yes("supported")),
)
_DIAGNOSTIC = (
    _MODEL,
    _Column("WER, ZWNJ joined", _fixed("zwnj_join", 4)),
    _Column("WER, digits in reference", _fixed("digits", 4)),
    _Column("WER, no digits", _fixed("no_digits", 4)),
    _Column("WER, over 30 s", _fixed("over_30_s", 4)),
)
_UNRANKED = (
    _MODEL,
    _Column("Run", _plain("run_id")),
    _Column("Not ranked by", _plain("axes")),
    _Column("Cause", _plain("cause")),
)
#: What a cost on a Pareto front is called.
COSTS = {
    "peak_memory_gib": "peak memory, GiB",
    "rtf": "real-time factor",
    "window_mean_s": "seconds a sample",
    "energy_j_per_audio_hour": "J an hour of audio",
    "energy_j_per_sample": "J a sample",
}


def board_tables(document: Document) -> list[Table]:
    """Return every table of a board, in order. A column no row has a value for is left out."""
    boards = document["boards"]
    tables = [
        _table("Accuracy", _ACCURACY, boards["accuracy"]["rows"]),
        _table("Neighbours in accuracy", _COMPARISON, boards["accuracy"]["comparisons"]),
        *_memory_tables(boards.get("memory")),
        _table("Speed", _SPEED, boards.get("speed", {}).get("rows", [])),
        _table("Energy", _ENERGY, boards.get("energy", {}).get("rows", [])),
        *(table for front in boards.get("pareto", {}).values() for table in _front_tables(front)),
        _table("Diagnostics", _DIAGNOSTIC, [_diagnostic(entry) for entry in document["diagnostics"]]),
        _table("Not ranked", _UNRANKED, [{**row, "axes": ", ".join(row["axes"])} for row in document["unranked"]]),
    ]
    return [table for table in tables if table.cells]


def _table(title: str, columns: Sequence[_Column], rows: Sequence[Row]) -> Table:
    shown = [column for column in columns if any(column.text(row) is not None for row in rows)]
    cells = [[column.text(row) or "" for column in shown] for row in rows]
    return Table(title, [column.heading for column in shown], cells)


def _memory_tables(board: Document | None) -> list[Table]:
    if board is None:
        return []
    return [
        _table(
            f"Memory efficiency ({METHODS.get(method, method)})",
            _MEMORY,
            [row for row in board["rows"] if row["memory_method"] == method],
        )
        for method in board["methods"]
    ]


def _front_tables(front: Document) -> list[Table]:
    cost = front["cost"]
    name = f"Pareto: CER and {COSTS[cost]}"
    points = [{**point, "cost": f"{point[cost]:.4g}"} for point in front["points"]]
    return [_table(name, _POINT, points), _table(f"{name}: who dominates whom", _EDGE, front["dominance"])]


def _diagnostic(entry: Row) -> Row:
    digits = entry.get("digits", {})
    return {
        "model_id": entry["model_id"],
        "zwnj_join": entry.get("zwnj_join", {}).get("wer"),
        "digits": digits.get("with", {}).get("wer"),
        "no_digits": digits.get("without", {}).get("wer"),
        "over_30_s": entry.get("over_30_s", {}).get("wer"),
    }
