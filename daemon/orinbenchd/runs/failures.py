"""Says of a worker's end what class of failure it is."""

from __future__ import annotations

import signal
from pathlib import Path

from orinbench.v1 import record_pb2 as pb


class Ended(Exception):
    """The segment cannot go on; `failure` says why."""

    def __init__(self, failure: pb.Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure(failure_class: pb.FailureClass, reason: str, message: str) -> pb.Failure:
    """Make a failure."""
    return pb.Failure(failure_class=failure_class, reason=reason, message=message)


def oom_kills(root: Path = Path("/")) -> int:
    """Return how often the kernel killed for memory since boot; 0 where it does not say."""
    try:
        lines = (root / "proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def of_exit(code: int, oom_killed: bool) -> pb.Failure:
    """Classify the end of a worker that neither finished nor said why. `code` is negative for a signal."""
    if code == -signal.SIGKILL:
        if oom_killed:
            found = failure(pb.FAILURE_CLASS_OOM, "HOST_OUT_OF_MEMORY", "the kernel killed the worker: memory ran out")
            found.oom_scope = pb.OOM_SCOPE_HOST
        else:
            found = failure(pb.FAILURE_CLASS_CRASHED, "WORKER_KILLED", "somebody killed the worker (SIGKILL)")
    elif code < 0:
        name = next((known.name for known in signal.Signals if known == -code), f"signal {-code}")
        found = failure(pb.FAILURE_CLASS_CRASHED, "WORKER_SIGNALLED", f"the worker ended by {name}")
    else:
        found = failure(
            pb.FAILURE_CLASS_CRASHED,
            "WORKER_EXITED",
            f"the worker exited with code {code} before it was done",
        )
    if code < 0:
        found.signal = -code
    else:
        found.exit_code = code
    return found
