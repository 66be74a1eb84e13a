"""What `run`, `watch` and `demo` share: follow a run under Ctrl-C, score its bundle, say how it ended."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Annotated, Any

import typer
from orinbench.v1.run_pb2 import Run
from orinbench_profiles import list_declarations

from orinbench_client.bundles.model import SUCCEEDED
from orinbench_client.bundles.results import open_bundle
from orinbench_client.cli.common import gibibytes, print_json
from orinbench_client.cli.main import INTERRUPTED
from orinbench_client.cli.terminal import STATES, paint, plain
from orinbench_client.cli.view import open_view
from orinbench_client.config import read_config
from orinbench_client.errors import BadInput, RunFailed
from orinbench_client.follow.interrupt import Detached, JobEnded, interruptible
from orinbench_client.follow.outcome import outcome
from orinbench_client.follow.session import follow
from orinbench_client.scoring.bundle import score_bundle
from orinbench_client.sdk import Address, Client, Patience, find_address
from orinbench_client.suites import Suite

DEFAULT_RESULTS = Path("results")
ResultsOption = Annotated[Path, typer.Option("--results", metavar="DIR", help="Where bundles are kept.")]


@dataclass(frozen=True)
class Place:
    """How a run is followed: the board as the user named it, the folder of its bundle, and how patiently."""

    host: str | None
    token_file: Path | None
    results: Path
    give_up_s: float = 600.0

    @property
    def address(self) -> Address:
        """The board's address. Raises BadInput."""
        return find_address(self.host, self.token_file)

    def options(self) -> list[str]:
        """Return the options that lead here from any other terminal; a token itself is never among them."""
        host = self.host or os.environ.get("ORINBENCH_HOST")
        if host and host not in read_config().hosts:
            # As a whole: a relative path leads elsewhere from elsewhere.
            host = str(self.address)
        token_file = self.token_file or os.environ.get("ORINBENCH_TOKEN_FILE")
        options = ["--host", host] if host else []
        options += ["--token-file", str(Path(token_file).absolute())] if token_file else []
        return options + (["--results", str(self.results)] if self.results != DEFAULT_RESULTS else [])


async def follow_here(
    client: Client,
    run: Run,
    suite: Suite | None,
    place: Place,
    again: Sequence[str],
    job_ends_with: Collection[Signals] = (),
) -> Path:
    """Follow a run on this terminal and return its bundle. Ctrl-C leaves it, twice cancels it.

    `again` is the command line that takes it up again. A signal of `job_ends_with` cancels it at once.
    """
    try:
        with closing(open_view()) as view:
            view.note(_heading(run))
            return await interruptible(
                follow(client, run, suite, place.results, view, Patience(give_up_s=place.give_up_s)),
                lambda: client.cancel_run(run.name, "interrupted at the client"),
                view.note,
                job_ends_with=job_ends_with,
            )
    except JobEnded as ended:
        raise typer.Exit(128 + ended.number) from None
    except Detached:
        # Not through the view, which would break the line: it is there to be copied.
        print(f"the run goes on; to follow it again:\n  {shlex.join(again)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def watch_command(run: Run, suite: str | None, place: Place) -> list[str]:
    """Return the command line that follows a run again. `suite` is named only where its data are the user's own."""
    named = ["--suite", suite] if suite and suite.partition(":")[0] not in list_declarations("suites") else []
    return ["orinbench", "watch", run.name.removeprefix("runs/"), *named, *place.options()]


def _heading(run: Run) -> str:
    plan = run.plan
    return (
        f"run {run.name.removeprefix('runs/')}: {plan.model_id} on {plan.suite_id}, {run.planned_samples} samples, "
        f"on {run.board} as {plan.hardware_profile or 'its own profile'}"
    )


def scored(bundle: Path, suite: Suite | None) -> dict[str, Any]:
    """Score a bundle, if it succeeded and the right answers are here, and return what it says of its run."""
    found = outcome(bundle)
    if found["state"] == SUCCEEDED and suite is not None:
        try:
            score_bundle(open_bundle(bundle), suite)
            return outcome(bundle)
        except BadInput as error:
            typer.echo(plain(f"not scored: {error}"), err=True)
    return found


def conclude(bundle: Path, suite: Suite | None, as_json: bool) -> None:
    """Score a bundle and say how its run ended. Raises RunFailed if it did not succeed."""
    found = scored(bundle, suite)
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


def score_figures(found: dict[str, Any]) -> list[str]:
    """Return the score of an outcome for people; nothing where there is none."""
    score = found.get("score")
    if not score:
        return []
    return _graded(score) if "scorer" in score else _error_rates(score)


def figures(found: dict[str, Any]) -> list[str]:
    """Return the figures of an outcome for people."""
    said = score_figures(found)
    if "rtf" in found:
        said.append(f"RTF {found['rtf']:.4f}")
    if memory := found.get("memory"):
        said.append(f"memory {gibibytes(memory['peak_bytes'])} ({memory['method']})")
    return said


def describe(found: dict[str, Any]) -> str:
    """Return an outcome as a few lines for people."""
    lines = [f"{plain(found['model'])} on {plain(found['suite'])}: {paint(found['state'], STATES.get(found['state']))}"]
    if said := figures(found):
        lines.append(", ".join(said))
    if found["violations"]:
        lines.append(plain(f"violations: {', '.join(sorted(set(found['violations'])))}"))
    if found["signature"]["standing"] == "invalid":
        lines.append("the signature of the board DOES NOT HOLD: this run is ranked nowhere")
    return "\n".join([*lines, f"bundle: {found['bundle']}"])
