"""What `run`, `watch` and `demo` share: follow a run under Ctrl-C, score its bundle, say how it ended."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
from orinbench.v1.run_pb2 import Run

from orinbench_client.bundles.model import SUCCEEDED
from orinbench_client.bundles.results import open_bundle
from orinbench_client.cli.common import gibibytes, print_json
from orinbench_client.cli.main import INTERRUPTED
from orinbench_client.cli.view import open_view
from orinbench_client.errors import BadInput, RunFailed
from orinbench_client.follow.interrupt import Detached, interruptible
from orinbench_client.follow.outcome import outcome
from orinbench_client.follow.session import follow
from orinbench_client.scoring.bundle import score_bundle
from orinbench_client.sdk import Client, Patience
from orinbench_client.suites import Suite

ResultsOption = Annotated[Path, typer.Option("--results", metavar="DIR", help="Where bundles are kept.")]
GiveUpOption = Annotated[
    float,
    typer.Option("--give-up-after", metavar="SECONDS", min=1, help="End after so long without contact to the board."),
]


async def follow_here(client: Client, run: Run, suite: Suite | None, results: Path, give_up_s: float) -> Path:
    """Follow a run on this terminal and return its bundle. Ctrl-C leaves it, twice cancels it."""
    with closing(open_view()) as view:
        try:
            return await interruptible(
                follow(client, run, suite, results, view, Patience(give_up_s=give_up_s)),
                lambda: client.cancel_run(run.name, "Ctrl-C at the client"),
                view.note,
            )
        except Detached:
            view.note(f"the run goes on: orinbench watch {run.name.removeprefix('runs/')}")
            raise typer.Exit(INTERRUPTED) from None


def conclude(bundle: Path, suite: Suite | None, as_json: bool) -> None:
    """Score a bundle and say how its run ended. Raises RunFailed if it did not succeed."""
    found = outcome(bundle)
    if found["state"] == SUCCEEDED and suite is not None:
        try:
            score_bundle(open_bundle(bundle), suite)
            found = outcome(bundle)
        except BadInput as error:
            typer.echo(f"not scored: {error}", err=True)
    if as_json:
        print_json(found)
    else:
        print(describe(found))
    if found["state"] != SUCCEEDED:
        raise RunFailed(f"run {found['run']} did not succeed: {found.get('failure', found['state'])}: see {bundle}")


def _error_rates(score: dict[str, Any]) -> list[str]:
    bounds = {name: score[f"{name}_interval"] for name in ("cer", "wer")}
    return [f"{name.upper()} {score[name]:.2%} ({low:.2%} to {high:.2%})" for name, (low, high) in bounds.items()]


def _graded(score: dict[str, Any]) -> list[str]:
    """Return the figure of a graded run and how many replies held no answer."""
    figures = []
    if "value" in score:
        low, high = score["interval"]
        figures.append(f"{score['metric']} {score['value']:.2%} ({low:.2%} to {high:.2%})")
    return [
        *figures,
        *(f"{score[state]} of {score['n']} {state}" for state in ("unparsable", "refused") if score[state]),
    ]


def describe(found: dict[str, Any]) -> str:
    """Return an outcome as a few lines for people."""
    figures = []
    if score := found.get("score"):
        figures += _graded(score) if "scorer" in score else _error_rates(score)
    if "rtf" in found:
        figures.append(f"RTF {found['rtf']:.4f}")
    if memory := found.get("memory"):
        figures.append(f"memory {gibibytes(memory['peak_bytes'])} ({memory['method']})")
    lines = [f"{found['model']} on {found['suite']}: {found['state']}", *([", ".join(figures)] if figures else [])]
    if found["violations"]:
        lines.append(f"violations: {', '.join(sorted(set(found['violations'])))}")
    if found["signature"]["standing"] == "invalid":
        lines.append("the signature of the board DOES NOT HOLD: this run is ranked nowhere")
    return "\n".join([*lines, f"bundle: {found['bundle']}"])
