"""What `ci` does on a board: each suite with each model, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from orinbench.v1.board_pb2 import Board
from orinbench.v1.record_pb2 import RUN_STATE_CANCELLED, RUN_STATE_CANCELLING, RUN_STATE_SUCCEEDED
from orinbench.v1.run_pb2 import Run, RunOptions

from orinbench_client.bundles.model import Labelled
from orinbench_client.bundles.native import RECORDS, decode
from orinbench_client.bundles.records import read_frames
from orinbench_client.bundles.results import open_bundle
from orinbench_client.ci.attempt import request_id
from orinbench_client.ci.baseline import Finished, baseline_of, load_finished, require_place, require_suite
from orinbench_client.ci.gates import Gate, Gates, Regression
from orinbench_client.ci.job import Case, gates_of, judged
from orinbench_client.cli.common import seconds
from orinbench_client.cli.following import Place, follow_here, watch_command
from orinbench_client.cli.push import PushMeter
from orinbench_client.errors import BoardRefused, BoardUnreachable, OrinbenchError, RunFailed
from orinbench_client.follow.outcome import board_said_no
from orinbench_client.scoring.bundle import score_bundle
from orinbench_client.sdk import Client, Model, Submission, open_model, require_board, submit
from orinbench_client.suites import Suite, find_suite, verify_suite

# The first revision whose daemons give up waiting.
_QUEUE_TIMEOUT_API = 2


@dataclass(frozen=True)
class Wanted:
    """A suite with a model, and the gates of their run. `named` is what the user calls the suite."""

    named: str
    suite: Suite
    model: Model
    gates: Sequence[Gate]
    baseline: Finished | None
    request_id: str


@dataclass(frozen=True)
class Terms:
    """How all of them are to be run."""

    profile: str
    options: RunOptions
    place: Place


def wanted(
    suites: Sequence[str],
    models: Sequence[str],
    gates: Gates,
    baselines: Sequence[Finished],
    given_id: str | None,
    environment: Mapping[str, str],
) -> list[Wanted]:
    """Load suites and models, and see that each pair has gates and a baseline of its suite. Raises BadInput."""
    loaded = [open_model(name) for name in models]
    found = []
    for name in suites:
        suite = verify_suite(find_suite(name))
        for model in loaded:
            label, model_id = Labelled(suite.declaration.id, suite.digest), model.declaration.id
            own = gates_of(gates, baselines, label.name, model_id)
            paired = any(isinstance(gate, Regression) for gate in own)
            baseline = baseline_of(baselines, label, model_id) if paired else None
            if baseline is not None:
                require_suite(baseline, label)
            # By digest: the variants of a suite share its name.
            made_id = request_id(environment, given_id, suite.digest, model.digest)
            found.append(Wanted(name, suite, model, own, baseline, made_id))
    return found


async def run_all(pairs: Sequence[Wanted], terms: Terms) -> list[Case]:
    """Run every pair and judge it. What a run or the board did wrong is in its case.

    Raises BadInput before the first run for a baseline that the board's runs cannot be compared with.
    """
    cases: list[Case] = []
    gone: BoardUnreachable | None = None
    async with Client(terms.place.address) as client:
        try:
            _require_baselines(pairs, await client.get_board())
        except BoardUnreachable as error:
            gone = error
        except BoardRefused:
            # Refused to each pair again, which says so in its case.
            pass
        for pair in pairs:
            try:
                if gone is not None:
                    raise gone
                path = await _run(client, pair, terms)
                cases.append(judged(load_finished(path), pair.gates, [pair.baseline] if pair.baseline else []))
            except BoardUnreachable as error:
                gone = error
                cases.append(_without(pair, error))
            except (BoardRefused, RunFailed) as error:
                cases.append(_without(pair, error))
    return cases


def _without(pair: Wanted, error: OrinbenchError) -> Case:
    return Case(pair.suite.declaration.id, pair.model.declaration.id, pair.gates, error=error)


async def _run(client: Client, pair: Wanted, terms: Terms) -> Path:
    board = await client.get_board()
    require_board(board, terms.profile)
    _require_queue_timeout(board, terms.options)
    submission = Submission(pair.suite, pair.model, board.hardware_profile, terms.options)
    with PushMeter() as meter:
        made = await submit(client, submission, pair.request_id, meter.show)
    again = watch_command(made, pair.named, terms.place)
    bundle = await follow_here(client, made, pair.suite, terms.place, again, _job_ends_with())
    run = await client.get_run(made.name)
    if run.state != RUN_STATE_SUCCEEDED:
        raise await _why_not(client, run, bundle)
    score_bundle(open_bundle(bundle), pair.suite)
    return bundle


def _job_ends_with() -> set[Signals]:
    """Return the signals after which nobody waits for the figures: at a terminal a Ctrl-C may only mean to leave."""
    return {Signals.SIGTERM} if sys.stdin.isatty() else {Signals.SIGTERM, Signals.SIGINT}


def _require_queue_timeout(board: Board, options: RunOptions) -> None:
    if options.HasField("queue_timeout_s") and board.api_revision < _QUEUE_TIMEOUT_API:
        raise BoardRefused(
            f"the daemon of {board.name} (version {board.daemon_version or 'unknown'}) knows no --queue-timeout: "
            "update orinbenchd on the board",
            "API_TOO_OLD",
        )


def _require_baselines(pairs: Sequence[Wanted], board: Board) -> None:
    hardware = Labelled(board.hardware_profile, board.hardware_profile_digest)
    contract = Labelled("this board's", board.execution_contract_digest)
    for pair in pairs:
        if pair.baseline is not None:
            require_place(pair.baseline, hardware, contract)


async def _why_not(client: Client, run: Run, bundle: Path) -> OrinbenchError:
    name = run.name.removeprefix("runs/")
    if board_said_no(run):
        return BoardRefused(f"run {name}: {run.failure.message}: see {bundle}", run.failure.reason)
    if run.state != RUN_STATE_CANCELLED:
        return RunFailed(f"run {name} failed: {run.failure.message or run.failure.reason}: see {bundle}")
    why = _why_cancelled(bundle)
    if not run.segments and run.plan.options.HasField("queue_timeout_s"):
        return BoardRefused(f"run {name} was cancelled: {why}: {await _queue(client)}", "QUEUE_TIMEOUT")
    return RunFailed(f"run {name} was cancelled: {why}: see {bundle}")


def _why_cancelled(bundle: Path) -> str:
    states = (decode(frame).state for frame in read_frames(bundle / RECORDS))
    return next((state.reason for state in states if state.state == RUN_STATE_CANCELLING), "")


async def _queue(client: Client) -> str:
    """Say who has the board, and who waits."""
    board = await client.get_board()
    if not board.active_run:
        return f"no run has the board now, {board.queue_length} wait"
    active = await client.get_run(board.active_run)
    wait = f", expected wait {seconds(board.expected_wait_s)}" if board.HasField("expected_wait_s") else ""
    return (
        f"{active.name} of {active.submitter} has the board ({active.accepted_samples} of {active.planned_samples} "
        f"samples), {board.queue_length} wait{wait}"
    )
