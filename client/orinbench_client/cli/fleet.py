"""`orinbench fleet`: models × suites over many boards, and whether one of them is slower than the others."""

from __future__ import annotations

import asyncio
import shlex
import sys
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from orinbench.v1.run_pb2 import RunOptions

from orinbench_client.bundles.model import SUCCEEDED
from orinbench_client.bundles.native import read_run
from orinbench_client.bundles.results import open_bundle
from orinbench_client.cli.common import (
    JsonOption,
    MaybeModelsOption,
    MaybeSuitesOption,
    PriorityOption,
    ProfileOption,
    gibibytes,
    give_up_option,
    group,
    print_json,
    seconds,
)
from orinbench_client.cli.completion import host_names
from orinbench_client.cli.following import DEFAULT_RESULTS, ResultsOption, score_figures, scored
from orinbench_client.cli.main import INTERRUPTED
from orinbench_client.cli.matrix import as_options, repeated
from orinbench_client.cli.run import LimitOption, RequestOption, WarmupOption
from orinbench_client.cli.terminal import plain, table
from orinbench_client.errors import BadInput, RunFailed
from orinbench_client.fleet.cells import make_cells
from orinbench_client.fleet.driver import Fleet, Hands, Outcome, Terms
from orinbench_client.fleet.hands import seconds_of
from orinbench_client.fleet.here import Here
from orinbench_client.fleet.pool import find_boards
from orinbench_client.follow.session import require_writable
from orinbench_client.sdk import open_model
from orinbench_client.suites import open_suite

if TYPE_CHECKING:
    from orinbench_client.fleet.drift import Row

_HELP = """Run models over suites on many boards.

Every model on every suite is one run on whichever board is free. A board that
is away, refuses or stops answering is named, and others take its runs: each
run has one result, whatever became of the boards. The same command with the
same --request-id takes up what there is. The boards are those of --board and
--pool; with neither all of 'orinbench config'.

\b
Examples:
  orinbench fleet -s fa-demo-v1 -m fa-demo-small -m fa-demo-tiny
  orinbench fleet -s parse-v1 -m mine.toml --board orin-1 --board orin-2
  orinbench fleet -s fa-demo-v1 -m mine.toml --repeat 3 --json
  orinbench fleet drift --results results
"""
app = group(_HELP)

BoardsOption = Annotated[
    list[str] | None,
    typer.Option("--board", metavar="NAME|ADDRESS", help="A board; may be repeated.", autocompletion=host_names),
]
PoolOption = Annotated[
    Path | None, typer.Option("--pool", metavar="FILE", help='TOML: boards = ["NAME or ADDRESS", …].')
]
RepeatOption = Annotated[int, typer.Option("--repeat", metavar="N", min=1, max=1000, help="Every run so many times.")]
PatienceOption = Annotated[float, give_up_option("Without contact to a board for so long, its run goes to another.")]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers talk to the boards (docs/fleet.md)."
    ),
]


@app.callback(invoke_without_command=True)
def _fleet(
    context: typer.Context,
    suite: MaybeSuitesOption = None,
    model: MaybeModelsOption = None,
    board: BoardsOption = None,
    pool: PoolOption = None,
    profile: ProfileOption = "",
    repeat: RepeatOption = 1,
    results: ResultsOption = DEFAULT_RESULTS,
    request_id: RequestOption = None,
    limit: LimitOption = None,
    warmup: WarmupOption = None,
    priority: PriorityOption = 0,
    give_up_after: PatienceOption = 60.0,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    if context.invoked_subcommand is not None:
        if any(context.get_parameter_source(name).name != "DEFAULT" for name in context.params):  # type: ignore[union-attr]
            raise BadInput(f"options of '{context.invoked_subcommand}' belong behind it")
        return
    if not suite or not model:
        raise BadInput("fleet: what is to run? Give --suite and --model (see: orinbench fleet --help)")
    on_dask = _on_dask() if scheduler is not None else None
    boards = find_boards(board or (), pool)
    suites = [(name, open_suite(name)) for name in dict.fromkeys(suite)]
    models = [(name, open_model(name)) for name in dict.fromkeys(model)]
    identity = request_id or uuid.uuid4().hex
    options = RunOptions(limit=limit, warmup=warmup, priority=priority)
    cells = make_cells(suites, models, repeat, identity, options)
    require_writable(results)
    again = [
        "orinbench",
        "fleet",
        *repeated("--suite", suite),
        *repeated("--model", model),
        *repeated("--board", boards),
    ]
    again += ["--request-id", identity, *as_options("--profile", profile), *as_options("--limit", limit)]
    again += [*as_options("--warmup", warmup), *as_options("--priority", priority or None)]
    again += as_options("--repeat", repeat if repeat > 1 else None)
    again += as_options("--results", str(results) if results != DEFAULT_RESULTS else None)
    again += as_options("--scheduler", scheduler)
    _tell(f"{len(cells)} runs on {len(boards)} boards; to take them up again:\n  {shlex.join(again)}")
    terms = Terms(profile, give_up_after, results)

    async def drive() -> list[Outcome]:
        async with AsyncExitStack() as stack:
            hands: Hands = Here(results, _tell)
            if on_dask is not None:
                hands = await stack.enter_async_context(on_dask(scheduler, results, give_up_after, _tell))
            return await Fleet(cells, boards, hands, terms, _tell).run()

    try:
        outcomes = asyncio.run(drive())
    except KeyboardInterrupt:
        _tell(f"the runs that were begun go on; to take them up again:\n  {shlex.join(again)}")
        raise typer.Exit(INTERRUPTED) from None
    _conclude(outcomes, [_found(outcome) for outcome in outcomes], as_json)


def _tell(text: str) -> None:
    """Say something on the way."""
    for line in text.splitlines():
        print(plain(line), file=sys.stderr, flush=True)


def _on_dask() -> Any:
    try:
        from orinbench_client.fleet.on_dask import OnDask
    except ModuleNotFoundError:
        raise BadInput("--scheduler needs Dask, which is not installed: pip install 'orinbench[pool]'") from None
    return OnDask


def _found(outcome: Outcome) -> dict[str, Any]:
    """Return what is known of a cell, for people and scripts. What is not known is left out."""
    cell = outcome.cell
    if outcome.bundle is None:
        state = {4: "refused", 5: "unreachable"}.get(outcome.error.exit_code if outcome.error else 3, "failed")
        names = {"suite": cell.suite.declaration.id, "model": cell.model.declaration.id}
        said: dict[str, Any] = {**names, "state": state, "failure": str(outcome.error)}
        if outcome.board is not None:
            said["board"] = outcome.board
    else:
        said = scored(outcome.bundle, cell.suite)
        run, timing = read_run(outcome.bundle), open_bundle(outcome.bundle).facts.timing
        said["board"] = outcome.board or run.board.removeprefix("boards/")
        if (took := seconds_of(run)) is not None:
            said["seconds"] = took
        if timing is not None and timing.windows_ns is not None:
            import numpy as np

            said["window_p90_s"] = float(np.quantile(timing.windows_ns, 0.9)) / 1e9
    return {**said, "repeat": cell.repeat + 1}


def _conclude(outcomes: Sequence[Outcome], found: Sequence[dict[str, Any]], as_json: bool) -> None:
    """Print the outcomes. Raises what the worst of them is."""
    if as_json:
        for said in found:
            print_json(said)
    else:
        head = ("suite", "model", "board", "state", "score", "RTF", "p90", "memory", "seconds")
        print(table([head, *map(_row, found)]))
        for said in found:
            if "failure" in said:
                print(f"{said['model']} on {said['suite']}: {plain(said['failure'])}")
    failed = [said for said in found if said["state"] not in (SUCCEEDED, "refused", "unreachable")]
    if failed:
        names = ", ".join(f"{said['model']} on {said['suite']}" for said in failed)
        raise RunFailed(f"{len(failed)} of {len(found)} runs did not succeed: {names}")
    if missed := [outcome.error for outcome in outcomes if outcome.error is not None]:
        raise type(missed[0])(f"{len(missed)} of {len(found)} runs have no board: {missed[0]}")


def _row(said: dict[str, Any]) -> tuple[str, ...]:
    return (
        said["suite"],
        said["model"],
        said.get("board", ""),
        said["state"],
        ", ".join(score_figures(said)),
        f"{said['rtf']:.4f}" if "rtf" in said else "",
        f"{said['window_p90_s'] * 1e3:.1f} ms" if "window_p90_s" in said else "",
        gibibytes(said["memory"]["peak_bytes"]) if "memory" in said else "",
        seconds(said["seconds"]) if "seconds" in said else "",
    )


@app.command("drift")
def drift(
    results: ResultsOption,
    suite: Annotated[str | None, typer.Option("--suite", metavar="ID", help="Only this suite.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare boards of one kind: is one slower than the others?

    For each model and suite: a board's timed windows over the median of the other
    boards', with a 95 % interval (docs/fleet.md). Runs whose speed is void are
    left out and named.

    \b
    Examples:
      orinbench fleet drift --results results
      orinbench fleet drift --results results --suite fa-demo-v1 --json
    """
    from orinbench_client.fleet.drift import compare_boards, load_runs

    rows, left_out = compare_boards(load_runs(results, suite))
    for run, cause in left_out:
        _tell(f"{run}: left out: {cause}")
    if not rows:
        raise BadInput(f"{results}: no run whose speed counts")
    if as_json:
        for row in rows:
            print_json({key: value for key, value in asdict(row).items() if value is not None})
        return
    head = ("suite", "model", "board", "runs", "p50", "p90", "RTF", "of the others", "memory", "energy", "verdict")
    print(table([head, *map(_drift_row, rows)]))


def _drift_row(row: Row) -> tuple[str, ...]:
    ratio = f"{row.ratio:.3f} ({row.interval.lo:.3f} to {row.interval.hi:.3f})" if row.ratio and row.interval else ""
    return (
        row.suite.name,
        row.model.name,
        row.board,
        str(row.runs),
        f"{row.window_p50_s * 1e3:.1f} ms",
        f"{row.window_p90_s * 1e3:.1f} ms",
        "" if row.rtf is None else f"{row.rtf:.4f}",
        ratio,
        "" if row.peak_memory_bytes is None else gibibytes(row.peak_memory_bytes),
        "" if row.energy_j_per_sample is None else f"{row.energy_j_per_sample:.3g} J/sample",
        row.verdict,
    )
