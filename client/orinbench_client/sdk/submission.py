"""From a suite and a model to a run in a board's queue."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from orinbench.v1.board_pb2 import Board
from orinbench.v1.run_pb2 import Run, RunOptions, RunPlan
from orinbench_profiles import ModelFile

from orinbench_client.errors import BoardRefused, BoardUnreachable
from orinbench_client.sdk.client import Client, require_api
from orinbench_client.sdk.model import Model
from orinbench_client.sdk.upload import Upload
from orinbench_client.suites import Suite, input_files, inputs_manifest

# Bytes sent so far and bytes to send in all.
OnPush = Callable[[int, int], None]


@dataclass(frozen=True)
class Submission:
    """What to run, and under which hardware profile (empty: the board's own)."""

    suite: Suite
    model: Model
    hardware_profile: str = ""
    options: RunOptions = field(default_factory=RunOptions)

    def plan(self) -> RunPlan:
        """Return the plan the daemon gets."""
        return RunPlan(
            suite_id=self.suite.declaration.id,
            suite_digest=self.suite.digest,
            inputs_digest=Upload.of_bytes(inputs_manifest(self.suite.samples)).digest,
            model_id=self.model.declaration.id,
            model_digest=self.model.digest,
            hardware_profile=self.hardware_profile,
            options=self.options,
        )


def require_board(board: Board, hardware_profile: str) -> None:
    """Raise BoardRefused for a daemon that is too old or a board of another hardware profile."""
    require_api(board)
    if hardware_profile and hardware_profile != board.hardware_profile:
        raise BoardRefused(
            f"{board.name} is measured under the profile {board.hardware_profile}, not {hardware_profile}",
            "PROFILE_MISMATCH",
            {"wanted": hardware_profile, "board": board.hardware_profile},
        )


async def push_suite(client: Client, suite: Suite, on_push: OnPush) -> None:
    """Upload what the board lacks of a suite: its manifest, inputs and attachments, each once. References stay here."""
    manifest = Upload.of_bytes(inputs_manifest(suite.samples))
    inputs = [Upload(file.digest, file.size_bytes, file.content) for file in input_files(suite.samples)]
    uploads = {upload.digest: upload for upload in (manifest, *inputs)}
    missing = await client.missing(list(uploads))
    await _push(client, [(uploads[digest], kept) for digest, kept in missing.items()], on_push)


async def push_model(client: Client, model: Model, on_push: OnPush) -> Model:
    """Get a model onto the board and return it as runs are to name it.

    What the board lacks of its files is uploaded; only what is sent is read and verified here. Files on a hub are
    fetched by the board itself.
    """
    if model.on_hub:
        return await _prepare_model(client, model, on_push)
    files = {file.digest: file for file in model.declaration.files}
    missing = await client.missing([model.digest, *files])
    uploads = [
        (Upload.of_bytes(model.canonical) if digest == model.digest else _upload(model, files[digest]), kept)
        for digest, kept in missing.items()
    ]
    await _push(client, uploads, on_push)
    return model


async def _prepare_model(client: Client, model: Model, on_push: OnPush) -> Model:
    # Only what this user asks for, and only for as long as the board fetches it.
    async with aclosing(client.prepare_model(model.canonical, os.environ.get("HF_TOKEN", ""))) as responses:
        async for response in responses:
            if response.done:
                return Model.from_canonical(response.model_declaration)
            on_push(response.received_bytes, response.total_bytes)
    raise BoardUnreachable(f"the daemon at {client.target} ended before model {model.declaration.id} was there")


async def submit(client: Client, submission: Submission, request_id: str, on_push: OnPush) -> Run:
    """Push what the board lacks and put the run into its queue."""
    await push_suite(client, submission.suite, on_push)
    model = await push_model(client, submission.model, on_push)
    return await client.create_run(replace(submission, model=model).plan(), request_id)


def _upload(model: Model, file: ModelFile) -> Upload:
    return Upload(file.digest, file.bytes, model.file(file))


async def _push(client: Client, uploads: list[tuple[Upload, int]], on_push: OnPush) -> None:
    total = sum(upload.size_bytes for upload, _ in uploads)
    done = 0
    for upload, kept in uploads:

        def position(sent: int, before: int = done) -> None:
            on_push(before + sent, total)

        await client.put(upload, kept, position)
        done += upload.size_bytes
