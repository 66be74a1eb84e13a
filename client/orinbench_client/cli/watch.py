"""`orinbench watch`: follow a run that is under way, or fetch one that has ended."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from orinbench_client.cli.common import GiveUpOption, HostOption, JsonOption, RunArgument, TokenOption, run_name
from orinbench_client.cli.following import (
    DEFAULT_RESULTS,
    Place,
    ResultsOption,
    conclude,
    follow_here,
    watch_command,
)
from orinbench_client.follow.outcome import matching_suite
from orinbench_client.follow.session import require_writable
from orinbench_client.sdk import Client, require_api
from orinbench_client.suites import Suite


def watch(
    run: RunArgument,
    host: HostOption = None,
    token_file: TokenOption = None,
    suite: Annotated[
        str | None,
        typer.Option("--suite", "-s", metavar="SUITE", help="The suite's folder, if it is not one of ours."),
    ] = None,
    results: ResultsOption = DEFAULT_RESULTS,
    give_up_after: GiveUpOption = 600.0,
    as_json: JsonOption = False,
) -> None:
    """Follow a run from where you left it.

    What was kept of it in the results folder is gone on with; else it is fetched from its beginning. It ends in the
    same bundle as `orinbench run`.

    \b
    Examples:
      orinbench watch 20260131-120000-ab12
    """
    place = Place(host, token_file, results, give_up_after)
    bundle, found = asyncio.run(_watch(place, run_name(run), suite))
    conclude(bundle, found, as_json)


async def _watch(place: Place, name: str, suite_name: str | None) -> tuple[Path, Suite | None]:
    async with Client(place.address) as client:
        require_api(await client.get_board())
        run = await client.get_run(name)
        require_writable(place.results)
        suite = matching_suite(run.plan, suite_name, _note)
        return await follow_here(client, run, suite, place, watch_command(run, suite_name, place)), suite


def _note(text: str) -> None:
    print(text, file=sys.stderr)
