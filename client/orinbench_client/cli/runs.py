"""`orinbench runs`, `orinbench cancel` and `orinbench resume`."""

from __future__ import annotations

import asyncio
from typing import Annotated, cast

import typer
from orinbench.v1.record_pb2 import FailureClass, RunState
from orinbench.v1.run_pb2 import Run

from orinbench_client.cli.common import (
    HostOption,
    JsonOption,
    RunArgument,
    TokenOption,
    print_json,
    run_name,
    to_dict,
    word,
)
from orinbench_client.cli.terminal import table
from orinbench_client.errors import BadInput
from orinbench_client.sdk import Address, Client, find_address

_STATES = [name.removeprefix("RUN_STATE_").lower() for name in RunState.keys()[1:]]


def _state_names(incomplete: str) -> list[str]:
    return [name for name in _STATES if name.startswith(incomplete)]


def runs(
    host: HostOption = None,
    token_file: TokenOption = None,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="Only runs in this state; may be repeated.", autocompletion=_state_names),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List the runs of a board, newest first.

    \b
    Examples:
      orinbench runs
      orinbench runs --state queued --state running --json
    """
    found = asyncio.run(_list_runs(find_address(host, token_file), [_state(name) for name in state or ()], limit))
    if as_json:
        for run in found:
            print_json(to_dict(run))
    elif found:
        print(table([("run", "state", "suite", "model", "samples", "created", "remark"), *map(_row, found)]))
    else:
        print("no runs")


def cancel(
    run: RunArgument,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")] = "",
    host: HostOption = None,
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a queued or active run.

    \b
    Examples:
      orinbench cancel 20260131-120000-ab12 --reason 'wrong model'
    """
    _report(asyncio.run(_cancel(find_address(host, token_file), run_name(run), reason)), as_json)


def resume(
    run: RunArgument, host: HostOption = None, token_file: TokenOption = None, as_json: JsonOption = False
) -> None:
    """Continue a failed run in a new segment.

    Only a run that hung, crashed, or failed by the board's or the daemon's fault can go on.

    \b
    Examples:
      orinbench resume 20260131-120000-ab12
    """
    _report(asyncio.run(_resume(find_address(host, token_file), run_name(run))), as_json)


def _state(name: str) -> RunState:
    if name not in _STATES:
        raise BadInput(f"no state is called {name!r}: there are {', '.join(_STATES)}")
    return cast("RunState", RunState.Value(f"RUN_STATE_{name.upper()}"))


def _row(run: Run) -> tuple[str, ...]:
    return (
        run.name.removeprefix("runs/"),
        word(RunState, run.state, "RUN_STATE_"),
        run.plan.suite_id,
        run.plan.model_id,
        f"{run.accepted_samples}/{run.planned_samples}",
        run.create_time.ToJsonString()[:19].replace("T", " "),
        _remark(run),
    )


def _remark(run: Run) -> str:
    if run.HasField("failure"):
        kind = word(FailureClass, run.failure.failure_class, "FAILURE_CLASS_")
        return f"{kind}: {' '.join(run.failure.message.split())}"
    if run.HasField("queue_position"):
        return f"{run.queue_position} ahead"
    return f"{len(run.segments)} segments" if len(run.segments) > 1 else ""


def _report(run: Run, as_json: bool) -> None:
    if as_json:
        print_json(to_dict(run))
    else:
        print(f"{run.name.removeprefix('runs/')} is {word(RunState, run.state, 'RUN_STATE_')}")


async def _list_runs(address: Address, states: list[RunState], limit: int) -> list[Run]:
    found: list[Run] = []
    async with Client(address) as client:
        async for run in client.list_runs(states):
            found.append(run)
            if len(found) == limit:
                break
    return found


async def _cancel(address: Address, name: str, reason: str) -> Run:
    async with Client(address) as client:
        return await client.cancel_run(name, reason)


async def _resume(address: Address, name: str) -> Run:
    async with Client(address) as client:
        return await client.resume_run(name)
