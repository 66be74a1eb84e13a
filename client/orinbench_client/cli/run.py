"""`orinbench run`: the main job."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from orinbench.v1.run_pb2 import Run, RunOptions

from orinbench_client.cli.common import HostOption, JsonOption, TokenOption, print_json
from orinbench_client.cli.following import GiveUpOption, ResultsOption, conclude, follow_here
from orinbench_client.cli.push import PushMeter
from orinbench_client.follow.session import require_writable
from orinbench_client.sdk import (
    Address,
    Client,
    Model,
    Submission,
    find_address,
    open_model,
    require_board,
    submit,
)
from orinbench_client.suites import Suite, find_suite, verify_suite


def run(
    suite: Annotated[
        str, typer.Option("--suite", "-s", help="Name of a suite, or its folder; NAME:WORD,WORD chooses variants.")
    ],
    model: Annotated[str, typer.Option("--model", "-m", help="Name of a model, or its .toml file.")],
    host: HostOption = None,
    token_file: TokenOption = None,
    profile: Annotated[str, typer.Option(help="Hardware profile the board must be measured under.")] = "",
    results: ResultsOption = Path("results"),
    request_id: Annotated[
        str | None, typer.Option("--request-id", help="The same id and content again is the same run.")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Only submit, and print the run's name.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many samples (not ranked).")] = None,
    warmup: Annotated[int | None, typer.Option(min=0, help="Inferences before the first measured one.")] = None,
    priority: Annotated[int, typer.Option(help="Higher goes first in the queue.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", min=1, help="Cancel when it takes longer.")
    ] = None,
    give_up_after: GiveUpOption = 600.0,
    as_json: JsonOption = False,
) -> None:
    """Run a model over a suite on a board, and score it.

    Ctrl-C leaves the run to itself (orinbench watch takes it up again), twice cancels it.

    \b
    orinbench run --suite fa-demo-v1 --model fa-demo-small
    orinbench run -s my-suite/ -m my-model.toml --host /tmp/board.sock --json
    orinbench run -s fa-demo-v1 -m fa-demo-tiny --detach
    """
    if not detach:
        require_writable(results)
    options = RunOptions(warmup=warmup, limit=limit, priority=priority, time_limit_s=time_limit)
    wanted = _Wanted(suite, open_model(model), profile, options, request_id or uuid.uuid4().hex)
    following = None if detach else _Following(results, give_up_after)
    made, verified, bundle = asyncio.run(_run(find_address(host, token_file), wanted, following))
    if bundle is not None:
        conclude(bundle, verified, as_json)
    elif as_json:
        print_json({"run": made.name.removeprefix("runs/")})
    else:
        print(made.name.removeprefix("runs/"))


@dataclass(frozen=True)
class _Wanted:
    suite: str
    model: Model
    profile: str
    options: RunOptions
    request_id: str


@dataclass(frozen=True)
class _Following:
    results: Path
    give_up_s: float


async def _run(address: Address, wanted: _Wanted, following: _Following | None) -> tuple[Run, Suite, Path | None]:
    loaded = find_suite(wanted.suite)
    async with Client(address) as client:
        board = await client.get_board()
        require_board(board, wanted.profile)
        suite = verify_suite(loaded)
        submission = Submission(suite, wanted.model, board.hardware_profile, wanted.options)
        with PushMeter() as meter:
            made = await submit(client, submission, wanted.request_id, meter.show)
        if following is None:
            return made, suite, None
        return made, suite, await follow_here(client, made, suite, following.results, following.give_up_s)
