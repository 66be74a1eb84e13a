"""`orinbench demo`: the whole chain on this machine, with a daemon of its own."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path

import typer

from orinbench_client.boards.output import make_files, write_files
from orinbench_client.bundles.results import load_run
from orinbench_client.cli.common import JsonOption
from orinbench_client.cli.following import ResultsOption, conclude
from orinbench_client.cli.report import can_report, write_report
from orinbench_client.cli.view import open_view
from orinbench_client.errors import BoardUnreachable
from orinbench_client.follow.session import follow, require_writable
from orinbench_client.sdk import Address, Client, Patience, Submission, open_model, submit
from orinbench_client.sdk.within import within
from orinbench_client.suites import Suite, open_suite

SUITE = "fa-demo-v1"
MODELS = ("fa-demo-small", "fa-demo-tiny")
_START_S = 60.0
_STOP_S = 15.0
_TERMINATED = 128 + signal.SIGTERM


def demo(results: ResultsOption = Path("results/demo"), as_json: JsonOption = False) -> None:
    """Start a daemon here and run both demo models on it.

    A real daemon on a Unix socket, two small speech models of our own, forty synthetic Persian recordings; then the
    leaderboard, and the report where what it needs is installed. Needs no root, no GPU and no network; the daemon is
    stopped at the end. The figures are those of this machine and of synthetic speech: a demonstration, comparable
    with nothing.

    \b
    Examples:
      orinbench demo
    """
    require_writable(results)
    say = partial(typer.echo, err=as_json)
    suite = open_suite(SUITE)
    try:
        bundles = asyncio.run(_run_models(suite, results, say))
    except asyncio.CancelledError:
        raise typer.Exit(_TERMINATED) from None
    for bundle in bundles:
        conclude(bundle, suite, as_json)
    files = make_files([load_run(bundle) for bundle in bundles])
    write_files(results / "leaderboard", files)
    if not as_json:
        print(f"\n{files['leaderboard.md'].decode()}")
    say(f"{suite.declaration.warning}\nbundles: {results / SUITE}, leaderboard: {results / 'leaderboard'}")
    if can_report():
        say(f"report, to open in a browser: {write_report(results, results / 'report')}")


async def _run_models(suite: Suite, results: Path, say: Callable[[str], None]) -> list[Path]:
    # Ctrl-C cancels the main task by itself; SIGTERM shall leave no daemon behind either.
    main = asyncio.current_task()
    assert main is not None  # noqa: S101 - a coroutine runs in a task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, main.cancel)
    async with _daemon(say) as address, Client(address) as client:
        return [await _run_model(client, name, suite, results) for name in MODELS]


async def _run_model(client: Client, name: str, suite: Suite, results: Path) -> Path:
    board = await client.get_board()
    submission = Submission(suite, open_model(name), board.hardware_profile)
    run = await submit(client, submission, uuid.uuid4().hex, lambda _sent, _total: None)
    with closing(open_view()) as view:
        view.note(f"{name} on {SUITE}:")
        return await follow(client, run, suite, results, view, Patience())


@asynccontextmanager
async def _daemon(say: Callable[[str], None]) -> AsyncIterator[Address]:
    """Run a daemon in a folder of its own and give its address; it ends with the context, whatever happens."""
    with tempfile.TemporaryDirectory(prefix="orinbench-") as name:
        folder = Path(name)
        (folder / "orinbenchd.toml").write_text('data_dir = "data"\nsocket = "d.sock"\nprofile = "cpu-dev"\n')
        with (folder / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "orinbenchd", "--config", str(folder / "orinbenchd.toml")),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                # A Ctrl-C on the terminal is for this program, which then stops the daemon in order.
                start_new_session=True,
            )
        try:
            await _until_ready(process, folder / "log")
            say(f"a daemon with the profile cpu-dev is running on a socket in {folder}")
            yield Address(f"unix:{folder / 'd.sock'}")
        finally:
            await _stop(process)
        say("the daemon is stopped")


async def _until_ready(process: asyncio.subprocess.Process, log: Path) -> None:
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    try:
        # It prints one line once its doors are open, and nothing if it cannot open them.
        ready = await within(_START_S, process.stdout.readline())
    except asyncio.TimeoutError:
        raise BoardUnreachable(f"the daemon was not ready after {_START_S:g} s") from None
    if not ready:
        last = _last_line(log)
        hint = ": pip install 'orinbench[demo]'" if "No module named" in last else ""
        raise BoardUnreachable(f"the daemon did not start: {last or 'it said nothing'}{hint}")


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await within(_STOP_S, process.wait())
    except BaseException:
        # Impatience or a daemon that hangs: its worker ends with it.
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise


def _last_line(log: Path) -> str:
    return log.read_text(errors="replace").strip().rpartition("\n")[2]
