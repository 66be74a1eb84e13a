"""The worker program: one process, one model, one segment of one run.

Started by the daemon as ``PYTHON -m orinbench_engines.worker --fd N``; N is one end of a socket pair.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import socket
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from orinbench.internal.v1.worker_pb2 import (
    PHASE_KIND_LOADING,
    Done,
    FromWorker,
    Hello,
    Log,
    Phase,
    Prepare,
    Ready,
    ToWorker,
)
from orinbench.v1.record_pb2 import LOG_LEVEL_INFO, Environment, Failure

from orinbench_engines import environment
from orinbench_engines.artifacts import Artifacts
from orinbench_engines.contract import SEED
from orinbench_engines.failures import classify, infrastructure_failure
from orinbench_engines.inbox import EXIT_DAEMON_GONE, EXIT_PROTOCOL, Inbox
from orinbench_engines.loop import Loop
from orinbench_engines.manifest import Manifest
from orinbench_engines.pipeline import Pipeline, load, read_declaration
from orinbench_engines.protocol import PROTOCOL_VERSION, Channel, ProtocolError, worker_channel

EXIT_DONE = 0
EXIT_FAILED = 1

# How long a failed worker waits for the daemon to have read everything.
_PATIENCE_S = 10.0


class Worker:
    """From Prepare to the last message."""

    def __init__(self, channel: Channel[ToWorker], inbox: Inbox, prepare: Prepare) -> None:
        self._channel = channel
        self._inbox = inbox
        self._prepare = prepare
        self._pipeline: Pipeline | None = None
        self._loop: Loop | None = None

    def run(self) -> int:
        """Do the work, report how it ended, return the exit code. Raises OSError if the daemon has gone."""
        try:
            done = self._work()
        except Exception as error:  # noqa: BLE001  whatever it is, the daemon is told its class
            traceback.print_exc()
            self._end(FromWorker(failure=self._failure(error)), _PATIENCE_S)
            return EXIT_FAILED
        self._end(FromWorker(done=done), None)
        return EXIT_DONE

    def _work(self) -> Done:
        _check(self._prepare)
        pipeline, loop = self._load()
        stopped = self._inbox.stop_requested or self._make_ready(pipeline, loop) or loop.measure()
        return Done(stopped=stopped, memory=pipeline.engine.memory())

    def _load(self) -> tuple[Pipeline, Loop]:
        prepare = self._prepare
        artifacts = Artifacts(Path(prepare.artifacts_path))
        declaration = read_declaration(artifacts, prepare.model_digest)
        path = artifacts.verify(prepare.inputs_digest, "the inputs manifest")
        manifest = Manifest(path, artifacts, prepare.planned_samples)
        manifest.verify(prepare.first_index, self._loading)
        self._loading()
        scratch, cache = Path(prepare.scratch_path), Path(prepare.cache_path) if prepare.cache_path else None
        pipeline = self._pipeline = load(declaration, artifacts, prepare.device, scratch, cache)
        loop = self._loop = Loop(self._channel, self._inbox, prepare, manifest, pipeline)
        facts = pipeline.facts
        self._log(f"loaded {declaration.id} in {facts.load_s:.2f} s on {', '.join(facts.devices)}")
        return pipeline, loop

    def _make_ready(self, pipeline: Pipeline, loop: Loop) -> bool:
        """Prove, warm up, say ready; return whether the daemon stopped it."""
        loop.prove()
        if self._inbox.stop_requested:
            return True
        count = loop.warm_up()
        self._log(f"two passes over sample {loop.current[1].sample_id} agree; warmed up by {count} more")
        facts, memory = pipeline.facts, pipeline.engine.memory()
        ready = Ready(model_facts=facts, environment=self._environment(pipeline), memory=memory)
        self._channel.send(FromWorker(ready=ready))
        return False

    def _environment(self, pipeline: Pipeline) -> Environment:
        engine, adapter = pipeline.engine, pipeline.adapter
        return Environment(
            runtime=pipeline.declaration.runtime,
            python_version=environment.python(),
            platform=environment.system(),
            packages=environment.packages([*engine.packages, *adapter.packages]),
            settings={"seed": str(SEED), **environment.settings(), **engine.settings()},
            isolation=self._prepare.isolation,
            orinbench_version=environment.orinbench_version(),
        )

    def _failure(self, error: Exception) -> Failure:
        devices = self._pipeline.facts.devices if self._pipeline else [self._prepare.device]
        failure = classify(error, on_device=any("cuda" in device.lower() for device in devices))
        if self._loop:
            failure.sample_index, sample = self._loop.current
            failure.sample_id = sample.sample_id
        return failure

    def _end(self, last_words: FromWorker, patience_s: float | None) -> None:
        self._inbox.expect_end()
        self._channel.send(last_words)
        self._channel.finish()
        if self._pipeline:
            _close(self._pipeline)
        sent = self._loop.last_sent if self._loop else -1
        self._inbox.wait_for_end(sent, patience_s)

    def _loading(self) -> None:
        self._channel.send(FromWorker(phase=Phase(kind=PHASE_KIND_LOADING)))

    def _log(self, message: str) -> None:
        self._channel.send(FromWorker(log=Log(level=LOG_LEVEL_INFO, message=message)))


def main() -> NoReturn:
    """Run the worker and end the process."""
    parser = argparse.ArgumentParser(prog="orinbench_engines.worker", description="Started by orinbenchd.")
    parser.add_argument("--fd", type=int, required=True, help="inherited end of the socket pair")
    channel = worker_channel(socket.socket(fileno=parser.parse_args().fd))
    _prepare_process()
    code = _talk(channel)
    sys.stderr.flush()
    # Not sys.exit: what native libraries do while they are torn down must not change a verdict that is sent.
    os._exit(code)


def _talk(channel: Channel[ToWorker]) -> int:
    hello = Hello(protocol=PROTOCOL_VERSION, orinbench_version=environment.orinbench_version(), pid=os.getpid())
    try:
        channel.send(FromWorker(hello=hello))
        return _serve(channel)
    except ProtocolError as error:
        print(f"orinbench worker: {error}", file=sys.stderr)  # noqa: T201  there is no other way left
        return EXIT_PROTOCOL
    except OSError:
        return EXIT_DAEMON_GONE


def _serve(channel: Channel[ToWorker]) -> int:
    message = channel.receive()
    if message is None:
        return EXIT_DAEMON_GONE
    if not message.HasField("prepare"):
        raise ProtocolError("the first message must be prepare")
    prepare = message.prepare
    inbox = Inbox(channel, prepare.first_index, prepare.window)
    inbox.start()
    return Worker(channel, inbox, prepare).run()


def _prepare_process() -> None:
    # What a library prints must not mix with the daemon's own output; its standard error is read.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    faulthandler.enable()
    environment.volunteer_for_oom_kill()
    random.seed(SEED)


def _check(prepare: Prepare) -> None:
    if not (prepare.first_index < prepare.planned_samples and prepare.window and prepare.segment):
        raise infrastructure_failure(
            "PREPARE_INVALID",
            f"prepare asks for samples {prepare.first_index} to {prepare.planned_samples} in segment "
            f"{prepare.segment} with a window of {prepare.window}: nothing could be computed",
        )


def _close(pipeline: Pipeline) -> None:
    try:
        pipeline.engine.close()
    except Exception:  # noqa: BLE001  the verdict is sent already
        traceback.print_exc()


if __name__ == "__main__":
    main()
