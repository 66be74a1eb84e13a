"""Follows a run to its end and leaves a bundle behind; picks up where an earlier follower stopped."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Protocol

from orinbench.v1.record_pb2 import Record, RecordBody
from orinbench.v1.run_pb2 import Run

from orinbench_client.bundles.native import PartialRun, fetched
from orinbench_client.errors import BadInput, BoardRefused
from orinbench_client.follow.progress import Progress
from orinbench_client.scoring.grades import EDITS, RunningGrades, find_scorer
from orinbench_client.scoring.score import Running, RunningScore, suite_normalizer
from orinbench_client.sdk import Client, Patience
from orinbench_client.suites import Suite, references


def require_writable(results: Path) -> None:
    """Make the results folder, so that no run is begun whose results cannot be kept. Raises BadInput.

    To be called last before a run is begun, so that what is refused earlier leaves no folder.
    """
    try:
        results.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{results}: cannot be made: {error.strerror}: name another with --results") from None
    if not os.access(results, os.W_OK | os.X_OK):
        raise BadInput(f"{results}: may not be written by this user: name another with --results")


class View(Protocol):
    """What a follower tells as it goes."""

    def update(self, progress: Progress) -> None:
        """Something changed."""

    def note(self, text: str) -> None:
        """Say one thing at once, such as a violation."""


async def follow(client: Client, run: Run, suite: Suite | None, results: Path, view: View, patience: Patience) -> Path:
    """Follow `run` to its end and return its verified bundle in `results`.

    `suite` gives the right answers for the running score; None where they are not known. Raises what
    Client.watch_pages raises, and BadInput when the records are not those of the verdict.
    """
    run_id = run.name.removeprefix("runs/")
    if (bundle := fetched(results, run)) is not None:
        return bundle
    try:
        with closing(PartialRun(results, run.plan.suite_id, run_id)) as partial:
            progress = Progress(run.planned_samples, _running_score(suite))
            progress.queue_position = run.queue_position if run.HasField("queue_position") else None
            _show(partial.replay(), progress, view)
            progress.restart_pace()
            # A run that failed may have been resumed since, even while the last of it was fetched.
            while not partial.whole(run):
                await _watch(client, run.name, partial, progress, view, patience)
                run = await client.get_run(run.name)
            return partial.finish(run)
    except OSError as error:
        raise BadInput(f"{error.filename or results}: cannot be written: {error.strerror}") from None


async def _watch(
    client: Client, name: str, partial: PartialRun, progress: Progress, view: View, patience: Patience
) -> None:
    def lost(reason: str) -> None:
        view.note(f"link lost, trying again: {reason}")

    try:
        async for page in client.watch_pages(name, partial.last_seq, patience, lost):
            partial.append(page)
            _show(_decoded(page), progress, view)
    except BoardRefused as error:
        if error.reason != "CURSOR_OUT_OF_RANGE":
            raise
        kept = partial.destination.with_name(f".partial-{partial.destination.name}")
        raise BadInput(f"{error}: what is kept in {kept} is not of this run: remove it") from None


def _decoded(page: Iterable[Record]) -> Iterable[RecordBody]:
    return (RecordBody.FromString(record.body) for record in page)


def _show(bodies: Iterable[RecordBody], progress: Progress, view: View) -> None:
    for body in bodies:
        try:
            note = progress.take(body)
        except BadInput as error:
            # The records are kept whatever they say; only the figure on the screen ends here.
            progress.score, note = None, f"no running score: {error}"
        if note:
            view.note(note)
    view.update(progress)


def _running_score(suite: Suite | None) -> Running | None:
    if suite is None:
        return None
    declaration = suite.declaration
    if declaration.scorer != EDITS:
        return RunningGrades(references(suite), find_scorer(declaration.scorer))
    return RunningScore(references(suite), suite_normalizer(declaration))
