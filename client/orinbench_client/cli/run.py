"""`orinbench run`: the main job."""

from __future__ import annotations

import asyncio
import re
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from orinbench.v1.run_pb2 import Run, RunOptions

from orinbench_client.cli.common import (
    GiveUpOption,
    HostOption,
    JsonOption,
    ModelOption,
    PriorityOption,
    ProfileOption,
    SuiteOption,
    TokenOption,
    finite,
    print_json,
    seconds,
)
from orinbench_client.cli.following import (
    DEFAULT_RESULTS,
    Place,
    ResultsOption,
    conclude,
    follow_here,
    watch_command,
)
from orinbench_client.cli.push import PushMeter
from orinbench_client.follow.session import require_writable
from orinbench_client.sdk import Client, Model, Submission, open_model, require_board, submit
from orinbench_client.suites import Suite, find_suite, verify_suite

# The daemon takes 128; of a matrix each run has a few behind it.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,100}\Z")


def _request_id(value: str | None) -> str | None:
    if value is not None and not _REQUEST_ID.match(value):
        raise typer.BadParameter(f"{value!r} is not 1 to 100 of A-Z a-z 0-9 . _ -")
    return value


def _fits(value: int | None) -> int | None:
    """Refuse what no field of RunOptions can hold."""
    if value is not None and abs(value) >= 1 << 31:
        raise typer.BadParameter(f"{value} is beyond 2147483647")
    return value


RequestOption = Annotated[
    str | None,
    typer.Option(
        "--request-id", metavar="ID", callback=_request_id, help="The same id and content again is the same run."
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, callback=_fits, help="Only the first so many samples (not ranked)."),
]
WarmupOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, callback=_fits, help="Inferences before the first measured one."),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", min=1, callback=finite, help="Cancel when it takes longer."),
]


def run(
    suite: SuiteOption,
    model: ModelOption,
    host: HostOption = None,
    token_file: TokenOption = None,
    profile: ProfileOption = "",
    results: ResultsOption = DEFAULT_RESULTS,
    request_id: RequestOption = None,
    detach: Annotated[bool, typer.Option("--detach", help="Only submit, and print the run's name.")] = False,
    limit: LimitOption = None,
    warmup: WarmupOption = None,
    priority: PriorityOption = 0,
    time_limit: TimeLimitOption = None,
    give_up_after: GiveUpOption = 600.0,
    as_json: JsonOption = False,
) -> None:
    """Run a model over a suite on a board, and score it.

    Ctrl-C leaves the run to itself and says how to follow it again; twice within two seconds cancels it.

    \b
    Examples:
      orinbench run --suite fa-demo-v1 --model fa-demo-small
      orinbench run -s my-suite/ -m my-model.toml --host /tmp/board.sock --json
      orinbench run -s fa-demo-v1 -m fa-demo-tiny --host lab --detach
    """
    options = RunOptions(warmup=warmup, limit=limit, priority=priority, time_limit_s=time_limit)
    wanted = _Wanted(suite, open_model(model), profile, options, request_id or uuid.uuid4().hex)
    place = Place(host, token_file, results, give_up_after)
    made, verified, bundle = asyncio.run(_run(place, wanted, detach))
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


async def _run(place: Place, wanted: _Wanted, detach: bool) -> tuple[Run, Suite, Path | None]:
    loaded = find_suite(wanted.suite)
    async with Client(place.address) as client:
        board = await client.get_board()
        require_board(board, wanted.profile)
        suite = verify_suite(loaded)
        submission = Submission(suite, wanted.model, board.hardware_profile, wanted.options)
        if not detach:
            require_writable(place.results)
        with PushMeter() as meter:
            made = await submit(client, submission, wanted.request_id, meter.show)
        if made.queue_position and board.HasField("expected_wait_s"):
            # Until the first bookmark comes.
            print(f"expected wait {seconds(board.expected_wait_s)}", file=sys.stderr)
        if detach:
            return made, suite, None
        return made, suite, await follow_here(client, made, suite, place, watch_command(made, wanted.suite, place))
