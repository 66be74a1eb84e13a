"""`orinbench push`: artifacts ahead of a run."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from orinbench_client.cli.artifacts import model_facts, suite_facts
from orinbench_client.cli.common import (
    HostOption,
    JsonOption,
    MaybeModelOption,
    MaybeSuiteOption,
    TokenOption,
    print_json,
)
from orinbench_client.errors import BadInput
from orinbench_client.sdk import Address, Client, Model, find_address, open_model, push_model, push_suite, require_api
from orinbench_client.suites import Suite, open_suite

# An upload that is over sooner needs no meter.
_QUIET_S = 1.0


def push(
    model: MaybeModelOption = None,
    suite: MaybeSuiteOption = None,
    host: HostOption = None,
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a model or a suite to a board ahead of a run.

    Only what the board lacks is sent; a broken upload, repeated, goes on where it stopped. References stay here. The
    files of a model on a hub are fetched by the board, as by 'orinbench prepare'.

    \b
    Examples:
      orinbench push --model fa-demo-small --suite fa-demo-v1
    """
    if model is None and suite is None:
        raise BadInput("nothing to push: give --model, --suite or both")
    opened = (open_model(model) if model else None, open_suite(suite) if suite else None)
    for facts in asyncio.run(_push(find_address(host, token_file), *opened)):
        print_json(facts) if as_json else print(f"{facts['kind']} {facts['id']}: the board has it")


class PushMeter:
    """Shows on standard error how far a transfer is, if it takes long: in place on a terminal, else in lines."""

    def __init__(self, doing: str = "pushed") -> None:
        self._doing = doing
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + _QUIET_S
        self._shown = False

    def __enter__(self) -> PushMeter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._terminal:
            print(file=sys.stderr)

    def show(self, sent: int, total: int) -> None:
        """Take note of the bytes transferred so far."""
        self.tell(self._doing, sent, total)

    def tell(self, doing: str, sent: int, total: int) -> None:
        """Take note of the bytes so far, and of what is done with them."""
        now = time.monotonic()
        if now < self._next:
            return
        self._shown, self._next = True, now + (0.2 if self._terminal else 5.0)
        text = f"{doing} {sent / 1e6:.1f} of {total / 1e6:.1f} MB"
        print(f"\r{text}" if self._terminal else text, end="" if self._terminal else "\n", file=sys.stderr, flush=True)


async def _push(address: Address, model: Model | None, suite: Suite | None) -> list[dict[str, Any]]:
    sent = []
    async with Client(address) as client:
        require_api(await client.get_board())
        with PushMeter() as meter:
            if suite is not None:
                await push_suite(client, suite, meter.show)
                sent.append(suite_facts(suite))
            if model is not None:
                sent.append(model_facts(await push_model(client, model, meter.show)))
    return sent
