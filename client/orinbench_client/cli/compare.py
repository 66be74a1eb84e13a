"""`orinbench compare`: the paired difference of two runs, and the samples on which the second is worse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orinbench_client.cli.common import JsonOption, print_json
from orinbench_client.cli.terminal import isolate, paint, plain

if TYPE_CHECKING:
    from orinbench_client.scoring.compare import Change, Comparison, Metric, Side


FirstArgument = Annotated[Path, typer.Argument(metavar="FIRST", help="Folder of the first run.")]
SecondArgument = Annotated[Path, typer.Argument(metavar="SECOND", help="Folder of the second run.")]
MetricOption = Annotated[Literal["wer", "cer"], typer.Option("--metric", help="Which rate is compared.")]
WorstOption = Annotated[int, typer.Option("--worst", metavar="N", min=0, help="How many samples are shown.")]
NormalizerOption = Annotated[
    str | None, typer.Option("--normalizer", metavar="NAME", help="The score to compare; the suite's own if not given.")
]
_NAMES = {"=": "same", "S": "instead", "D": "missing", "I": "added"}
_COLOURS = {"S": "yellow", "D": "red", "I": "cyan"}


def compare(
    first: FirstArgument,
    second: SecondArgument,
    metric: MetricOption = "wer",
    worst: WorstOption = 5,
    normalizer: NormalizerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs of one suite, sample by sample.

    \b
    Examples:
      orinbench compare results/SUITE/RUN1 results/SUITE/RUN2 --worst 3
    """
    from orinbench_client.scoring import compare as comparing

    sides = comparing.load_side(first, normalizer), comparing.load_side(second, normalizer)
    result = comparing.compare(*sides, metric)
    if as_json:
        print_json(_as_json(sides, result, metric, worst))
    else:
        print(_as_text(sides, result, metric, worst))


def _as_json(sides: tuple[Side, Side], result: Comparison, metric: Metric, worst: int) -> dict[str, object]:
    return {
        "metric": metric,
        "normalizer": sides[0].normalizer,
        "first": {"run_id": sides[0].facts.run_id, "rate": result.first_rate},
        "second": {"run_id": sides[1].facts.run_id, "rate": result.second_rate},
        "difference": result.difference,
        "ci": list(result.interval),
        "resolved": result.interval.excludes_zero,
        "worse_samples": len(result.changes),
        "worst": [
            {
                "sample_id": change.first.sample_id,
                "more_edits": change.more,
                "reference": change.first.reference,
                "first": change.first.prediction,
                "second": change.second.prediction,
            }
            for change in result.changes[:worst]
        ],
    }


def _as_text(sides: tuple[Side, Side], result: Comparison, metric: Metric, worst: int) -> str:
    first, second = sides
    lo, hi = result.interval
    lines = [
        f"A  {plain(first.facts.run_id)}: {metric.upper()} {result.first_rate:.4f}",
        f"B  {plain(second.facts.run_id)}: {metric.upper()} {result.second_rate:.4f}",
        f"A - B  {result.difference:+.4f}, 95 % {lo:+.4f} to {hi:+.4f}: {_verdict(result)}",
        *_other_conditions(first, second),
        f"B has more edits on {len(result.changes)} of {len(first.lines)} samples"
        + (f"; the worst {min(worst, len(result.changes))}:" if worst and result.changes else ""),
    ]
    for change in result.changes[:worst]:
        lines += ["", *_change(change, metric)]
    return "\n".join(lines)


def _verdict(result: Comparison) -> str:
    if not result.interval.excludes_zero:
        return "no clear difference"
    return "A is lower" if result.interval.hi < 0 else "B is lower"


def _other_conditions(first: Side, second: Side) -> list[str]:
    return [
        f"note: A and B differ in {what}: {plain(one.name)}, {plain(two.name)}"
        for what, one, two in (
            ("hardware", first.facts.hardware, second.facts.hardware),
            ("execution", first.facts.contract, second.facts.contract),
        )
        if one.digest != two.digest
    ]


def _change(change: Change, metric: Metric) -> list[str]:
    from orinbench_client.scoring.compare import aligned_pieces, edits_of

    unit = "words" if metric == "wer" else "characters"
    one, two = edits_of(change.first, metric), edits_of(change.second, metric)
    lines = [f"{plain(change.first.sample_id)}: A {one.edits}, B {two.edits} edits of {one.units} {unit}"]
    for name, line in (("A", change.first), ("B", change.second)):
        for piece in aligned_pieces(line):
            sides = [isolate(plain(text)) for text in (piece.reference, piece.prediction) if text]
            shown = sides[0] if piece.kind == "=" else " -> ".join(sides)
            lines.append(f"  {name}  {paint(f'{_NAMES[piece.kind]:<8}', _COLOURS.get(piece.kind))}{shown}")
            name = " "
    return lines
