"""`orinbench top`: a board and the run on it, live."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import typer
from orinbench.v1.record_pb2 import RUN_STATE_QUEUED
from orinbench.v1.run_pb2 import Run
from rich.console import Console
from rich.live import Live

from orinbench_client.cli.common import HostOption, JsonOption, TokenOption, finite, print_json, to_dict
from orinbench_client.cli.dashboard import Dashboard, Seen
from orinbench_client.errors import BadInput, BoardRefused, BoardUnreachable
from orinbench_client.sdk import Address, Client, find_address, require_api
from orinbench_client.sdk.backoff import Backoff


def top(
    host: HostOption = None,
    token_file: TokenOption = None,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, max=3600, callback=finite, help="Time between readings.")
    ] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print one reading and end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Watch a board live: its power, clocks, load, memory and heat, the run on it, and who waits.

    A dash is a reading the board does not give; 0 is a reading of zero. A lost link is taken up again. Ctrl-C ends.

    \b
    Examples:
      orinbench top
      orinbench top --host lab --once
      orinbench top --json --interval 10 >> board.jsonl
    """
    if not (once or as_json or sys.stdout.isatty()):
        raise BadInput("top draws on a terminal: use --once to print one reading, or --json for a line a reading")
    address = find_address(host, token_file)
    show = _print(address, interval, once, as_json) if once or as_json else _draw(address, interval)
    try:
        asyncio.run(show)
    except KeyboardInterrupt:
        return


async def _print(address: Address, interval: float, once: bool, as_json: bool) -> None:
    async with Client(address) as client, aclosing(_looks(client, interval)) as looks:
        async for seen in looks:
            if as_json:
                _print_json(seen)
            else:
                _print_frame(seen)
            if once:
                return


async def _draw(address: Address, interval: float) -> None:
    dashboard, backoff = Dashboard(), Backoff()
    async with Client(address) as client:
        # A board that is not there at all is an error; one that goes away is waited for.
        require_api(await client.get_board())
        with Live(dashboard, console=Console(), screen=True, auto_refresh=False) as live:
            while True:
                try:
                    async with aclosing(_looks(client, interval)) as looks:
                        async for seen in looks:
                            backoff.reset()
                            dashboard.take(seen)
                            live.refresh()
                    dashboard.lost = "the daemon ended the stream"
                except BoardUnreachable as error:
                    dashboard.lost = str(error)
                except BoardRefused as error:
                    if error.reason != "DRAINING":
                        raise
                    dashboard.lost = str(error)
                live.refresh()
                await asyncio.sleep(backoff.next())


def _print_json(seen: Seen) -> None:
    run = {"run": to_dict(seen.run)} if seen.run is not None else {}
    queue = [to_dict(waiting) for waiting in seen.queue]
    print_json({"board": to_dict(seen.board), "telemetry": to_dict(seen.reading), "queue": queue, **run})
    # Whoever reads a pipe wants each line when it comes.
    sys.stdout.flush()


def _print_frame(seen: Seen) -> None:
    dashboard, console = Dashboard(), Console(highlight=False)
    dashboard.take(seen)
    with console.capture() as shown:
        console.print(dashboard)
    print("\n".join(line.rstrip() for line in shown.get().splitlines()))


async def _looks(client: Client, interval: float) -> AsyncGenerator[Seen, None]:
    async with aclosing(client.watch_telemetry(interval)) as readings:
        async for reading in readings:
            board = await client.get_board()
            run = await _run(client, board.active_run) if board.active_run else None
            queue = [run async for run in client.list_runs([RUN_STATE_QUEUED])] if board.queue_length else []
            yield Seen(board, reading, run, sorted(queue, key=lambda waiting: waiting.queue_position))


async def _run(client: Client, name: str) -> Run | None:
    try:
        return await client.get_run(name)
    except BoardRefused as error:
        # It may have ended and been removed since the board was asked.
        if error.reason != "RUN_NOT_FOUND":
            raise
        return None
