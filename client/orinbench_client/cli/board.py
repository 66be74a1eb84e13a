"""`orinbench board` and `orinbench check`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import typer
from orinbench.v1.board_pb2 import Board, BoardState, CheckBoardResponse
from orinbench.v1.record_pb2 import CHECK_RESULT_FAILED, CHECK_RESULT_PASSED, Check

from orinbench_client.cli.common import (
    HostOption,
    JsonOption,
    TokenOption,
    gibibytes,
    print_json,
    seconds,
    to_dict,
    word,
)
from orinbench_client.cli.terminal import table
from orinbench_client.sdk import Address, Client, find_address

_MARKS = {CHECK_RESULT_FAILED: "FAILED"}
_IDENTITY = (
    "model",
    "architecture",
    "memory_total_bytes",
    "cpu_count",
    "l4t_release",
    "jetpack_version",
    "cuda_version",
    "tensorrt_version",
    "cudnn_version",
    "kernel_release",
    "os_release",
    "uptime_s",
)


def board(host: HostOption = None, token_file: TokenOption = None, as_json: JsonOption = False) -> None:
    """Show what a board is, and whether it takes runs.

    \b
    Examples:
      orinbench board
      orinbench board --host /tmp/board.sock --json
    """
    answer = asyncio.run(_get_board(find_address(host, token_file)))
    if as_json:
        print_json(to_dict(answer))
    else:
        print(table(list(describe(answer))))


def check(host: HostOption = None, token_file: TokenOption = None, as_json: JsonOption = False) -> None:
    """Run a board's preflight checks.

    Exits with 1 when one of them does not pass.

    \b
    Examples:
      orinbench check --host /tmp/board.sock
    """
    answer = asyncio.run(_check_board(find_address(host, token_file)))
    if as_json:
        print_json(to_dict(answer))
    else:
        print(checks_table(answer.checks))
    if not answer.passed:
        raise typer.Exit(1)


def checks_table(checks: Iterable[Check]) -> str:
    """Return checks with what was found; of those that did not pass also what was expected and what to do."""
    return table([("check", "result", "found"), *(row for check in checks for row in _check_rows(check))])


def _check_rows(check: Check) -> Iterable[tuple[str, str, str]]:
    if check.result == CHECK_RESULT_PASSED:
        yield check.name, "ok", check.found
        return
    yield check.name, _MARKS.get(check.result, "unknown"), f"{check.found or '–'} (expected: {check.expected})"
    if check.hint:
        yield "", "", f"what to do: {check.hint}"


def describe(board: Board) -> Iterable[tuple[str, str]]:
    """Yield the lines of `orinbench board`: a name and a value. What could not be read says why."""
    state = word(BoardState, board.state, "BOARD_STATE_")
    yield "board", board.name + (" (simulated)" if board.simulated else "")
    yield "state", f"{state}: {board.state_reason}" if board.state_reason else state
    for field in _IDENTITY:
        yield field.removesuffix("_bytes").removesuffix("_s").replace("_", " "), _identity(board, field)
    yield "GPUs", ", ".join(board.identity.gpus) or _unknown(board, "gpus")
    yield "profile", _profile(board)
    for failed in board.profile_checks:
        if failed.result != CHECK_RESULT_PASSED:
            yield f"  {failed.name}", f"expected {failed.expected}, found {failed.found}: {failed.hint}"
    yield "power mode", board.power_mode if board.HasField("power_mode") else "none, or not readable"
    yield "isolation", _isolation(board)
    yield "runtimes", ", ".join(_runtimes(board)) or "none"
    yield "active run", board.active_run or "none"
    yield "queue", str(board.queue_length)
    yield "expected wait", seconds(board.expected_wait_s) if board.HasField("expected_wait_s") else "unknown"
    clients = ", ".join(f"{client.name} (pid {client.pid})" for client in board.gpu_clients)
    yield "on the GPU", f"unknown ({board.gpu_clients_unknown})" if board.gpu_clients_unknown else clients or "nobody"
    yield "watchers", str(board.watchers)
    yield "disk free", gibibytes(board.disk_free_bytes) if board.HasField("disk_free_bytes") else "unknown"
    yield "daemon", f"{board.daemon_version}, API revision {board.api_revision}"
    yield "key", board.key_id or "none"


def _isolation(board: Board) -> str:
    level = board.isolation or "unknown"
    return f"{level} ({board.isolation_reason})" if board.isolation_reason else level


def _runtimes(board: Board) -> Iterable[str]:
    states = {state.name: state for state in board.runtime_states}
    for name in board.runtimes:
        state = states.get(name)
        if state is not None and state.problem:
            yield f"{name} (broken: {state.problem})"
        elif state is not None and state.HasField("python_version"):
            yield f"{name} (Python {state.python_version})"
        else:
            yield name


def _identity(board: Board, field: str) -> str:
    if not board.identity.HasField(field):
        return _unknown(board, field)
    value = getattr(board.identity, field)
    if field.endswith("_bytes"):
        return gibibytes(value)
    return seconds(value) if field.endswith("_s") else str(value)


def _unknown(board: Board, field: str) -> str:
    return f"unknown ({board.identity.absent_reasons.get(field, 'the daemon does not say why')})"


def _profile(board: Board) -> str:
    kind = "official" if board.profile_official else "not official"
    match = "the board matches" if board.profile_matches else "the board DOES NOT MATCH"
    return f"{board.hardware_profile} ({kind}), {match}"


async def _get_board(address: Address) -> Board:
    async with Client(address) as client:
        return await client.get_board()


async def _check_board(address: Address) -> CheckBoardResponse:
    async with Client(address) as client:
        return await client.check_board()
