"""Says of a worker's end what class of failure it is."""

from __future__ import annotations

import re
import signal

from orinbench.v1 import record_pb2 as pb

# What a dead worker left on its standard error, and which memory ran out. The worker has a table of its own for
# what it can still report; these are the cases in which it could not.
LAST_WORDS = (
    # The Tegra driver; 12 is ENOMEM.
    (re.compile(r"NvMapMem\w+.*\berror 12\b"), pb.OOM_SCOPE_DEVICE),
    # C++ without a handler.
    (re.compile(r"what\(\): .*CUDA (driver )?error: out of memory"), pb.OOM_SCOPE_DEVICE),
    (re.compile(r"what\(\): .*CUDA out of memory"), pb.OOM_SCOPE_DEVICE),
    (re.compile(r"terminate called after throwing an instance of 'std::bad_alloc'"), pb.OOM_SCOPE_HOST),
    # Python, before the worker could speak or while it could not.
    (re.compile(r"^MemoryError\b", re.MULTILINE), pb.OOM_SCOPE_HOST),
    # The loader and the allocator of the interpreter itself.
    (re.compile(r"Fatal Python error: .*(out of memory|memory allocation failed)"), pb.OOM_SCOPE_HOST),
)


class Ended(Exception):
    """The segment cannot go on; `failure` says why."""

    def __init__(self, failure: pb.Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure(failure_class: pb.FailureClass, reason: str, message: str) -> pb.Failure:
    """Make a failure."""
    return pb.Failure(failure_class=failure_class, reason=reason, message=message)


def of_exit(code: int, oom_killed: bool) -> pb.Failure:
    """Classify the end of a worker that neither finished nor said why. `code` is negative for a signal."""
    if code == -signal.SIGKILL:
        if oom_killed:
            found = _out_of_memory(pb.OOM_SCOPE_HOST, "the kernel killed the worker: memory ran out")
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
    return found


def with_last_words(found: pb.Failure, stderr_tail: str) -> pb.Failure:
    """Return the failure with its standard error, and as out of memory where a crashed worker's last words say so."""
    if found.failure_class == pb.FAILURE_CLASS_CRASHED:
        for words, scope in LAST_WORDS:
            if said := words.search(stderr_tail):
                kept = found
                found = _out_of_memory(scope, f"{kept.message}; its last words: {said[0].strip()}")
                break
    found.stderr_tail = stderr_tail
    return found


def _out_of_memory(scope: pb.OomScope, message: str) -> pb.Failure:
    reason = "DEVICE_OUT_OF_MEMORY" if scope == pb.OOM_SCOPE_DEVICE else "HOST_OUT_OF_MEMORY"
    found = failure(pb.FAILURE_CLASS_OOM, reason, message)
    found.oom_scope = scope
    return found
