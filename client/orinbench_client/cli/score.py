"""`orinbench score`: the named score of bundles, made if it is not there, and shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orinbench_client.cli.common import JsonOption, print_json
from orinbench_client.cli.completion import suite_names
from orinbench_client.cli.terminal import plain, plain_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orinbench_client.boards.parts import Part
    from orinbench_client.bundles.results import Bundle
    from orinbench_client.scoring.catalogue import Summary
    from orinbench_client.scoring.grade_store import GradeSummary
    from orinbench_client.scoring.grades import Metric
    from orinbench_client.scoring.store import ScoreSummary
    from orinbench_client.suites import Suite

BundlesArgument = Annotated[
    list[Path],
    typer.Argument(metavar="BUNDLE...", help="Folders of runs, or results folders."),
]
SuiteOption = Annotated[
    str | None,
    typer.Option(
        "--suite",
        "-s",
        metavar="SUITE",
        help="Name or folder of the suite that holds the right answers.",
        autocompletion=suite_names,
    ),
]


def score(bundles: BundlesArgument, suite: SuiteOption = None, as_json: JsonOption = False) -> None:
    """Score bundles by the normaliser or scorer of their suite.

    \b
    Examples:
      orinbench score results/fleurs-fa-ir-v1/RUN
      orinbench score results --json
    """
    score_all(bundles, suite, None, as_json)


def one_of(normalizer: str | None, scorer: str | None) -> str:
    """Return the one that was given. Raises BadInput for none or both."""
    from orinbench_client.errors import BadInput

    if normalizer and scorer:
        raise BadInput("give --normalizer or --scorer: edits are counted by the one, answers graded by the other")
    if name := normalizer or scorer:
        return name
    raise BadInput("by what? Give --normalizer, or --scorer where answers are graded")


def score_all(paths: list[Path], suite: str | None, by: str | None, as_json: bool) -> None:
    """Score every bundle of `paths` that succeeded, and print each score."""
    from orinbench_client.bundles.model import SUCCEEDED
    from orinbench_client.bundles.results import open_bundle
    from orinbench_client.scoring.bundle import score_bundle

    found = bundle_paths(paths)
    for path in found:
        bundle = open_bundle(path)
        if len(found) > 1 and bundle.facts.state != SUCCEEDED:
            typer.echo(plain(f"{path}: not scored: {bundle.facts.failure or bundle.facts.state}"), err=True)
            continue
        summary = score_bundle(bundle, suite_for(bundle, suite), by)
        if as_json:
            print_json({"bundle": str(bundle.path), **summary.model_dump(by_alias=True)})
        else:
            print(plain_lines(_as_text(bundle, summary)))


def bundle_paths(paths: list[Path]) -> list[Path]:
    """Return the bundles that are meant: a bundle itself, all of a suite's folder, or all of a results folder."""
    from orinbench_client.bundles.results import find_bundles, runs_in

    found: list[Path] = []
    for path in paths:
        runs = [path] if (path / "run.json").is_file() else runs_in(path) if path.is_dir() else []
        found += runs or find_bundles(path)
    return found


def suite_for(bundle: Bundle, name: str | None) -> Suite | None:
    """Return the suite that holds the right answers of a native bundle; None for one that brings its own."""
    if bundle.references is not None:
        return None
    from orinbench_client.suites import open_suite, open_variant

    return open_suite(name) if name else open_variant(bundle.facts.suite.name, bundle.facts.suite.digest)


def _as_text(bundle: Bundle, summary: Summary) -> str:
    from orinbench_client.scoring.store import ScoreSummary

    return _edits(bundle, summary) if isinstance(summary, ScoreSummary) else _grades(bundle, summary)


def _grades(bundle: Bundle, summary: GradeSummary) -> str:
    variant = f" ({', '.join(summary.variant.values())})" if summary.variant else ""
    lines = [f"{bundle.facts.run_id}: {summary.name}{variant}, {summary.samples} samples"]
    if summary.value is not None:
        lines.append(f"  {summary.metric} {summary.value:.4f}")
    else:
        lines += _cells(bundle, summary)
    lines.append("  " + ", ".join(f"{count} {state}" for state, count in sorted(summary.states.items())))
    return "\n".join(lines)


def _cells(bundle: Bundle, summary: GradeSummary) -> list[str]:
    """Return the figures of every cell, where there is none of all samples together."""
    from orinbench_client.boards.parts import cells_of, parts_of
    from orinbench_client.scoring.grade_store import read_grading
    from orinbench_client.scoring.grades import find_scorer

    scorer = find_scorer(summary.made_by)
    cells = cells_of(read_grading(bundle.path, summary).grades)
    return [
        f"  {', '.join(part.labels.values())}: {', '.join(_figure(metric, part) for metric in part.metrics)}"
        for axes in scorer.tables.values()
        for part in parts_of(cells, scorer, axes)
    ]


def _figure(metric: Metric, part: Part) -> str:
    return f"{metric.name} {metric.value(part.stats):.4f}"


def _edits(bundle: Bundle, summary: ScoreSummary) -> str:
    lines = [f"{bundle.facts.run_id}: {summary.name}, {summary.samples} samples", *_rates(bundle, summary)]
    join = summary.diagnostics["zwnj_join"]
    lines.append(f"  WER with ZWNJ joined {join['wer']:.4f} ({join['references_with_zwnj']} references hold one)")
    digits = summary.diagnostics["digits"]
    lines.append(f"  references with digits: {_part(digits['with'])}; without: {_part(digits['without'])}")
    for bucket in summary.diagnostics.get("durations", []):
        upper = f" to {bucket['up_to_s']:g} s" if "up_to_s" in bucket else ""
        if bucket["samples"]:
            lines.append(f"  over {bucket['over_s']:g} s{upper}: {_part(bucket)}")
    return "\n".join(lines)


def _rates(bundle: Bundle, summary: ScoreSummary) -> list[str]:
    from orinbench_client.scoring.store import read_counts
    from orinbench_client.statistics import Replicates, percentile_interval

    counts = read_counts(bundle.path, summary)
    words, characters = (counts.word_edits, counts.word_units), (counts.character_edits, counts.character_units)
    replicates = Replicates([*words, *characters])
    lines = []
    for name, rate, columns, totals in (
        ("WER", summary.wer, words, summary.words),
        ("CER", summary.cer, characters, summary.characters),
    ):
        lo, hi = percentile_interval(replicates.rates(*columns))
        edits = "  ".join(f"{kind[0].upper()} {totals[kind]}" for kind in ("substitutions", "deletions", "insertions"))
        lines.append(f"  {name} {rate:.4f}, 95 % {lo:.4f} to {hi:.4f}  {edits}  of {totals['units']}")
    return lines


def _part(part: Mapping[str, float]) -> str:
    if not part["samples"]:
        return "none"
    return f"{part['samples']} samples, WER {part['wer']:.4f}, CER {part['cer']:.4f}"
