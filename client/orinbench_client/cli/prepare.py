"""`orinbench prepare`: a suite's data here, a model's files on a board."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from orinbench_client.cli.artifacts import model_facts, suite_facts
from orinbench_client.cli.common import (
    HostOption,
    JsonOption,
    MaybeModelOption,
    MaybeSuiteOption,
    TokenOption,
    print_json,
)
from orinbench_client.cli.push import PushMeter
from orinbench_client.errors import BadInput
from orinbench_client.sdk import Address, Client, Model, find_address, open_model, push_model, require_api
from orinbench_client.suites import Prepared, find_suite, prepare_suite, verify_suite


def prepare(
    suite: MaybeSuiteOption = None,
    source: Annotated[
        Path | None,
        typer.Option("--source", metavar="DIR", help="A copy of the suite's repository."),
    ] = None,
    model: MaybeModelOption = None,
    host: HostOption = None,
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Get a suite's data ready here, or have a board fetch a model.

    A suite is fetched once, at its pinned revision, or made of your own copy of data that come with no package; it is
    checked sample by sample and kept in the user's data folder. A model on a hub is fetched by the board itself.
    HF_TOKEN is the token for a hub's gated repositories. What was broken off is gone on with when the command is
    repeated.

    \b
    Examples:
      orinbench prepare --suite fleurs-fa-ir-v1
      orinbench prepare --suite parsa-v1 --source ~/data/PARSA-Bench
      orinbench prepare --model whisper-large-v3-turbo --host /tmp/board.sock
    """
    if (suite is None) == (model is None):
        raise BadInput("give either --suite or --model")
    if suite is not None:
        _prepare_suite(suite, source, as_json)
    elif model is not None:
        if source is not None:
            raise BadInput("--source belongs to --suite: a model's own files go to the board by 'orinbench push'")
        _tell_model(asyncio.run(_prepare_model(find_address(host, token_file), open_model(model))), as_json)


def _prepare_suite(name: str, source: Path | None, as_json: bool) -> None:
    loaded = find_suite(name)
    with PushMeter() as meter:
        prepare_suite(loaded, source, meter.tell)
    suite = verify_suite(loaded)
    notes = suite.notes() if isinstance(suite, Prepared) else []
    facts = suite_facts(suite)
    if as_json:
        print_json({**facts, "notes": list(notes)})
        return
    for note in notes:
        print(note)
    size = facts["bytes"] / 1e6
    print(f"suite {suite.declaration.id} is ready: {len(suite.samples)} samples, {size:.1f} MB, digest {suite.digest}")


async def _prepare_model(address: Address, model: Model) -> Model:
    if not model.on_hub:
        raise BadInput(f"the files of model {model.declaration.id} are here: send them by 'orinbench push'")
    async with Client(address) as client:
        require_api(await client.get_board())
        with PushMeter("fetched by the board:") as meter:
            return await push_model(client, model, meter.show)


def _tell_model(ready: Model, as_json: bool) -> None:
    facts = model_facts(ready)
    if as_json:
        print_json(facts)
        return
    for file in ready.declaration.files:
        print(f"{file.digest}  {file.bytes:>12}  {file.path}")
    print(f"model {ready.declaration.id} is ready: {facts['bytes'] / 1e6:.1f} MB, digest {ready.digest}")
