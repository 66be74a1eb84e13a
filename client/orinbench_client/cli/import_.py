"""`orinbench import`: the results of other tools as bundles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orinbench_client.cli.common import JsonOption, group, print_json
from orinbench_client.cli.terminal import plain

if TYPE_CHECKING:
    from orinbench_client.bundles.peste_import import Imported

_HELP = """Import the results of other tools as bundles.

\b
Examples:
  orinbench import peste DIR --out results
  orinbench import parse-answers DIR --strategy zero_shot --out results
"""
app = group(_HELP)
DirectoryArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Folder with results, suites and models.")]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Results folder the bundles go into.")]
_SHOWN = 10


@app.command()
def peste(directory: DirectoryArgument, out: OutOption, as_json: JsonOption = False) -> None:
    """Import a directory of PESTE (schema 1 or 2); every edit count is checked.

    \b
    Examples:
      orinbench import peste DIR --out results
    """
    from orinbench_client.bundles.peste_import import import_peste

    imported = import_peste(directory, out)
    for run in imported:
        print_json(_peste_facts(run)) if as_json else print(_describe(run))
        for difference in run.checked.differences[:_SHOWN]:
            where = f"{difference.place}: {difference.what}"
            typer.echo(f"  {where} is {difference.stored!r}, should be {difference.expected!r}", err=True)
        if (more := len(run.checked.differences) - _SHOWN) > 0:
            typer.echo(f"  and {more} more: see {run.path / 'imports'}", err=True)
    known = sum(run.known for run in imported)
    typer.echo(f"{out}: {len(imported) - known} runs imported, {known} were there already", err=as_json)


@app.command()
def parse_answers(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Parse's repository, with dataset and evaluation.")],
    strategy: Annotated[str, typer.Option("--strategy", metavar="NAME", help="zero_shot, few_shot, chain_of_thought.")],
    out: OutOption,
    suite: Annotated[str, typer.Option("--suite", "-s", help="Name of the suite, or its folder.")] = "parse-v1",
    as_json: JsonOption = False,
) -> None:
    """Import the stored answers of Parse, every model's to one strategy, and score them.

    \b
    Examples:
      orinbench import parse-answers DIR --strategy zero_shot --out results
    """
    from orinbench_client.parse.imported import import_answers
    from orinbench_client.suites import find_suite

    imported = import_answers(find_suite(suite), directory, strategy, out)
    for run in imported:
        head, summary = run.head, run.summary
        split = head.declaration.variant["split"]
        if as_json:
            facts = {"score": summary.value, "samples": summary.samples, "split": split, "unanswered": head.unanswered}
            print_json({"run_id": head.run_id, "bundle": str(run.path), "known": run.known, **facts})
        else:
            print(plain(f"{head.run_id} ({split}): score {summary.value:.4f} of {summary.samples}"))
        if head.unanswered:
            typer.echo(f"  {head.unanswered} questions have no answer: counted as unparsable", err=True)
        if head.strays:
            typer.echo(plain(f"  left out, answers to no question: {', '.join(head.strays)}"), err=True)
    known = sum(run.known for run in imported)
    typer.echo(f"{out}: {len(imported) - known} runs imported, {known} were there already", err=as_json)


def _peste_facts(run: Imported) -> dict[str, object]:
    upstream, differences = run.checked.bundle.run, run.checked.differences
    facts = {"run_id": upstream.run_id, "status": upstream.status, "bundle": str(run.path), "known": run.known}
    if run.checked.score is None:
        return {**facts, "differences": len(differences)}
    counts = run.checked.score.counts()
    score = {"samples": len(run.checked.score.lines), "cer": counts.cer, "wer": counts.wer}
    return {**facts, **score, "differences": len(differences)}


def _describe(run: Imported) -> str:
    upstream = run.checked.bundle.run
    if run.checked.differences:
        return f"{upstream.run_id}: does not hold up, {len(run.checked.differences)} differences: will not be ranked"
    if run.checked.score is None:
        return f"{upstream.run_id}: {upstream.status}"
    counts = run.checked.score.counts()
    return f"{upstream.run_id}: {len(run.checked.score.lines)} samples, CER {counts.cer:.4f}, WER {counts.wer:.4f}"
