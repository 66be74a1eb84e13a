"""A client that does not give up: submits a run, follows it into a bundle, and resumes it as often as it takes.

python -m tests.faults.follower SOCKET RESULTS REQUEST_ID PLAN_FILE
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from orinbench.v1.record_pb2 import RUN_STATE_FAILED
from orinbench.v1.run_pb2 import Run, RunPlan
from orinbench_client.errors import BoardRefused, BoardUnreachable
from orinbench_client.follow.progress import Progress
from orinbench_client.follow.session import follow
from orinbench_client.sdk import Client, Patience, find_address


class Quiet:
    """A view that shows nothing."""

    def update(self, progress: Progress) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


async def main(socket: str, results: Path, request_id: str, plan: RunPlan) -> None:
    """Go on until the run has succeeded and its bundle is there."""
    while True:
        try:
            async with Client(find_address(socket)) as client:
                run = await client.create_run(plan, request_id)
                await follow(client, run, None, results, Quiet(), Patience(silence_s=3.0))
                if (await resumed(client, run.name)).state != RUN_STATE_FAILED:
                    return
        except BoardUnreachable:
            continue


async def resumed(client: Client, name: str) -> Run:
    """Resume a run if it failed; return it as it was. Another client may have been faster."""
    run = await client.get_run(name)
    if run.state == RUN_STATE_FAILED:
        try:
            await client.resume_run(name)
        except BoardRefused as error:
            if error.reason != "STATE_FORBIDS":
                raise
    return run


if __name__ == "__main__":
    _, socket, results, request_id, plan_file = sys.argv
    asyncio.run(main(socket, Path(results), request_id, RunPlan.FromString(Path(plan_file).read_bytes())))
