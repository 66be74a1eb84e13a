"""`orinbench matrix`: models × suites through one board."""

from __future__ import annotations

import asyncio
import shlex
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orinbench.v1.run_pb2 import Run, RunOptions

from orinbench_client.bundles.model import SUCCEEDED
from orinbench_client.cli.common import (
    GiveUpOption,
    HostOption,
    JsonOption,
    ModelsOption,
    PriorityOption,
    ProfileOption,
    SuitesOption,
    TokenOption,
    print_json,
)
from orinbench_client.cli.following import (
    DEFAULT_RESULTS,
    Place,
    ResultsOption,
    figures,
    follow_here,
    scored,
)
from orinbench_client.cli.push import PushMeter
from orinbench_client.cli.run import LimitOption, RequestOption, WarmupOption
from orinbench_client.cli.terminal import table
from orinbench_client.errors import BoardRefused, RunFailed
from orinbench_client.follow.session import require_writable
from orinbench_client.sdk import Client, Model, Submission, open_model, require_board, submit
from orinbench_client.suites import Suite, open_suite


def matrix(
    suite: SuitesOption,
    model: ModelsOption,
    host: HostOption = None,
    token_file: TokenOption = None,
    profile: ProfileOption = "",
    results: ResultsOption = DEFAULT_RESULTS,
    request_id: RequestOption = None,
    limit: LimitOption = None,
    warmup: WarmupOption = None,
    priority: PriorityOption = 0,
    give_up_after: GiveUpOption = 600.0,
    as_json: JsonOption = False,
) -> None:
    """Run several models over several suites on one board.

    All runs are put into the queue at once, every model over every suite, and followed one after the other. One that
    fails does not stop the others. The same command with the same --request-id takes up the same runs. Ctrl-C leaves
    all of them to themselves, twice cancels the one that is followed.

    \b
    Examples:
      orinbench matrix -s fa-demo-v1 -m fa-demo-small -m fa-demo-tiny
      orinbench matrix -s fleurs-fa-ir-v2 -s parse-v1 -m mine.toml --json
    """
    place = Place(host, token_file, results, give_up_after)
    options = RunOptions(limit=limit, warmup=warmup, priority=priority)
    opened = [(name, open_suite(name)) for name in dict.fromkeys(suite)]
    models = [open_model(name) for name in dict.fromkeys(model)]
    identity = request_id or uuid.uuid4().hex
    cells = [
        _Cell(each, found, f"{identity}.{row}.{column}")
        for row, each in enumerate(models)
        for column, (_, found) in enumerate(opened)
    ]
    again = ["orinbench", "matrix", *repeated("--suite", suite), *repeated("--model", model), *place.options()]
    again += [
        "--request-id",
        identity,
        *as_options("--limit", limit),
        *as_options("--warmup", warmup),
        *as_options("--profile", profile),
    ]
    again += as_options("--priority", priority or None)
    found = asyncio.run(_matrix(place, cells, profile, options, again))
    for outcome in found:
        if as_json:
            print_json(outcome)
    if not as_json:
        print(table([("model", "suite", "state", "figures"), *map(_row, found)]))
    _require_all(found)


@dataclass(frozen=True)
class _Cell:
    model: Model
    suite: Suite
    request_id: str

    def missed(self, state: str, failure: str) -> dict[str, Any]:
        """Return the outcome where there is no run."""
        return {
            "suite": self.suite.declaration.id,
            "model": self.model.declaration.id,
            "state": state,
            "failure": failure,
        }


async def _matrix(
    place: Place, cells: Sequence[_Cell], profile: str, options: RunOptions, again: Sequence[str]
) -> list[dict[str, Any]]:
    async with Client(place.address) as client:
        board = await client.get_board()
        require_board(board, profile)
        require_writable(place.results)
        print(f"{len(cells)} runs; to take them up again:\n  {shlex.join(again)}", file=sys.stderr)
        made = [await _submit(client, cell, board.hardware_profile, options) for cell in cells]
        found = []
        for cell, run in zip(cells, made, strict=True):
            if isinstance(run, BoardRefused):
                found.append(cell.missed("refused", str(run)))
                continue
            found.append(scored(await follow_here(client, run, cell.suite, place, again), cell.suite))
    return found


async def _submit(client: Client, cell: _Cell, profile: str, options: RunOptions) -> Run | BoardRefused:
    submission = Submission(cell.suite, cell.model, profile, options)
    try:
        with PushMeter() as meter:
            return await submit(client, submission, cell.request_id, meter.show)
    except BoardRefused as error:
        return error


def _row(outcome: dict[str, Any]) -> tuple[str, str, str, str]:
    said = outcome.get("failure") or ", ".join(figures(outcome))
    return outcome["model"], outcome["suite"], outcome["state"], said


def _require_all(found: Sequence[dict[str, Any]]) -> None:
    """Raise what the worst of the outcomes is."""
    failed = [outcome for outcome in found if outcome["state"] not in (SUCCEEDED, "refused")]
    refused = [outcome for outcome in found if outcome["state"] == "refused"]
    if failed:
        raise RunFailed(f"{len(failed)} of {len(found)} runs did not succeed: {_names(failed)}")
    if refused:
        raise BoardRefused(f"{len(refused)} of {len(found)} runs were refused: {refused[0]['failure']}")


def _names(outcomes: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"{outcome['model']} on {outcome['suite']}" for outcome in outcomes)


def repeated(option: str, values: Sequence[str]) -> list[str]:
    """Return the words of an option that is given once for each value."""
    return [word for value in values for word in (option, value)]


def as_options(option: str, value: int | str | None) -> list[str]:
    """Return the words of an option; none where it has no value."""
    return [option, str(value)] if value not in (None, "") else []
