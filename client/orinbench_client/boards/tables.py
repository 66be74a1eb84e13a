"""A board's document as tables: which columns there are, in which words, with how many digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from orinbench_client.boards.document import Document

Row = Mapping[str, Any]
#: How a memory number was taken, in words.
METHODS = {
    "torch-reserved": "peak CUDA reserved",
    "tensorrt-pool": "peak CUDA reserved by the TensorRT pool",
    "onnxruntime-pool": "peak CUDA reserved by the ONNX Runtime pool",
    "process-rss": "peak process RSS",
}


class Table(NamedTuple):
    """A heading, column headings, and cells as text. `rows` are what the lines were made of, one each."""

    title: str
    columns: list[str]
    cells: list[list[str]]
    rows: Sequence[Row] = ()


class Column(NamedTuple):
    """A heading, and what a row has under it; None where it has nothing."""

    heading: str
    text: Callable[[Row], str | None]


def plain(name: str) -> Callable[[Row], str | None]:
    """Return what shows a value as it is."""
    return lambda row: None if row.get(name) is None else str(row[name])


def fixed(name: str, digits: int, scale: float = 1.0) -> Callable[[Row], str | None]:
    """Return what shows a number with so many digits after the point."""
    return lambda row: None if row.get(name) is None else f"{row[name] * scale:.{digits}f}"


def interval(name: str, digits: int) -> Callable[[Row], str | None]:
    """Return what shows two bounds."""

    def text(row: Row) -> str | None:
        bounds = row.get(name)
        return None if bounds is None else f"{bounds[0]:.{digits}f} to {bounds[1]:.{digits}f}"

    return text


def yes(name: str) -> Callable[[Row], str | None]:
    """Return what shows a truth."""
    return lambda row: "yes" if row[name] else "no"


def _signature(row: Row) -> str | None:
    """Return what a signature is worth and whose it is: the name of a trusted key, else the head of its digest."""
    standing, signer = row.get("signature"), row.get("signed_by")
    if standing != "trusted":
        signer = signer[7:19] if signer else "nobody"
    return None if standing is None else f"{standing} ({signer})"


_RANK = Column("Rank", plain("rank"))
_MODEL = Column("Model", plain("model_id"))
_CER = Column("CER", fixed("cer", 4))
_WER = Column("WER", fixed("wer", 4))
_ACCURACY = (
    _RANK,
    _MODEL,
    _CER,
    Column("95 %", interval("cer_ci", 4)),
    _WER,
    Column("95 %", interval("wer_ci", 4)),
    Column("Word accuracy %", fixed("word_accuracy_pct", 2)),
    Column("Peak memory GiB", fixed("peak_memory_gib", 3)),
    Column("Parameters", plain("parameter_count")),
    Column("Type", plain("native_dtype")),
)
_COMPARISON = (
    Column("First", plain("first")),
    Column("Second", plain("second")),
    Column("CER difference", fixed("cer_difference", 4)),
    Column("95 %", interval("ci", 4)),
    Column("Verdict", plain("verdict")),
)
_MEMORY = (
    _RANK,
    _MODEL,
    Column("Word accuracy % a GiB", fixed("memory_efficiency", 4)),
    Column("95 %", interval("memory_efficiency_ci", 2)),
    Column("Peak GiB", fixed("peak_memory_gib", 3)),
    _WER,
)
_SPEED = (
    _RANK,
    _MODEL,
    Column("RTF", fixed("rtf", 5)),
    Column("95 %", interval("rtf_ci", 5)),
    Column("Throughput ×", fixed("throughput_x", 2)),
    Column("Mean s", fixed("window_mean_s", 4)),
    Column("p50 s", fixed("window_p50_s", 4)),
    Column("p90 s", fixed("window_p90_s", 4)),
    Column("p99 s", fixed("window_p99_s", 4)),
    _CER,
)
_ENERGY = (
    _RANK,
    _MODEL,
    Column("J an hour of audio", fixed("energy_j_per_audio_hour", 1)),
    Column("95 %", interval("energy_j_per_audio_hour_ci", 1)),
    Column("J a sample", fixed("energy_j_per_sample", 3)),
    Column("J in all", fixed("energy_j", 1)),
    _CER,
)
_POINT = (_MODEL, _CER, Column("Cost", plain("cost")), Column("On the front", yes("on_front")))
_EDGE = (
    Column("Dominating", plain("dominating")),
    Column("Dominated", plain("dominated")),
    Column("CER difference", fixed("cer_difference", 4)),
    Column("95 %", interval("ci", 4)),
    Column("Supported by the samples", yes("supported")),
)
_DIAGNOSTIC = (
    _MODEL,
    Column("WER, ZWNJ joined", fixed("zwnj_join", 4)),
    Column("WER, digits in reference", fixed("digits", 4)),
    Column("WER, no digits", fixed("no_digits", 4)),
    Column("WER, over 30 s", fixed("over_30_s", 4)),
)
UNRANKED = (
    _MODEL,
    Column("Run", plain("run_id")),
    Column("Not ranked by", plain("axes")),
    Column("Cause", plain("cause")),
)
SIGNATURES = (_MODEL, Column("Run", plain("run_id")), Column("Signature", _signature))
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
        make_table("Accuracy", _ACCURACY, boards["accuracy"]["rows"]),
        make_table("Neighbours in accuracy", _COMPARISON, boards["accuracy"]["comparisons"]),
        *_memory_tables(boards.get("memory")),
        make_table("Speed", _SPEED, boards.get("speed", {}).get("rows", [])),
        make_table("Energy", _ENERGY, boards.get("energy", {}).get("rows", [])),
        *(table for front in boards.get("pareto", {}).values() for table in _front_tables(front)),
        make_table("Diagnostics", _DIAGNOSTIC, [_diagnostic(entry) for entry in document["diagnostics"]]),
        make_table("Signatures", SIGNATURES, document.get("signatures", [])),
        make_table("Not ranked", UNRANKED, [{**row, "axes": ", ".join(row["axes"])} for row in document["unranked"]]),
    ]
    return [table for table in tables if table.cells]


def make_table(title: str, columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    """Return rows as text. A column no row has a value for is left out."""
    shown = [column for column in columns if any(column.text(row) is not None for row in rows)]
    cells = [[column.text(row) or "" for column in shown] for row in rows]
    return Table(title, [column.heading for column in shown], cells, rows)


def _memory_tables(board: Document | None) -> list[Table]:
    if board is None:
        return []
    return [
        make_table(
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
    return [make_table(name, _POINT, points), make_table(f"{name}: who dominates whom", _EDGE, front["dominance"])]


def _diagnostic(entry: Row) -> Row:
    digits = entry.get("digits", {})
    return {
        "model_id": entry["model_id"],
        "zwnj_join": entry.get("zwnj_join", {}).get("wer"),
        "digits": digits.get("with", {}).get("wer"),
        "no_digits": digits.get("without", {}).get("wer"),
        "over_30_s": entry.get("over_30_s", {}).get("wer"),
    }
