"""How a worker's death becomes a class: exit codes, the kernel's counters, last words."""

from __future__ import annotations

from pathlib import Path

import pytest
from orinbench.v1 import record_pb2 as pb
from orinbenchd.runs.failures import LAST_WORDS, failure, of_exit, with_last_words
from orinbenchd.worker.oom import OomCounter

DEVICE, HOST = pb.OOM_SCOPE_DEVICE, pb.OOM_SCOPE_HOST

# One text for each line of the table, in its order, as it stands among other lines on standard error.
TEXTS: list[tuple[str, pb.OomScope]] = [
    ("NvMapMemAllocInternalTagged: 1075072515 error 12\nNvMapMemHandleAlloc: error 0", DEVICE),
    ("terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: out of memory", DEVICE),
    ("terminate called after throwing an instance of 'c10::OutOfMemoryError'\n  what():  CUDA out of memory.", DEVICE),
    ("terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc", HOST),
    ('Traceback (most recent call last):\n  File "m.py", line 1\nMemoryError', HOST),
    ("Fatal Python error: _PyObject_InitFoo: memory allocation failed", HOST),
]


@pytest.mark.parametrize(
    ("line", "text", "scope"),
    [(line, *text) for line, text in zip(LAST_WORDS, TEXTS, strict=True)],
    ids=[text[:20] for text, _ in TEXTS],
)
def test_each_last_word_is_known_by_its_line(line: tuple[object, int], text: str, scope: pb.OomScope) -> None:
    """A worker that aborted with these words on standard error ran out of memory, and the record says which."""
    tail = f"loading\n{text}\nAborted (core dumped)\n"
    found = with_last_words(of_exit(-6, oom_killed=False), tail)

    assert next(entry for entry in LAST_WORDS if entry[0].search(tail)) is line
    assert (found.failure_class, found.oom_scope) == (pb.FAILURE_CLASS_OOM, scope)
    assert found.reason == ("DEVICE_OUT_OF_MEMORY" if scope == DEVICE else "HOST_OUT_OF_MEMORY")
    assert "SIGABRT; its last words: " in found.message
    assert found.stderr_tail == tail


@pytest.mark.parametrize("kind", [pb.FAILURE_CLASS_MODEL, pb.FAILURE_CLASS_HUNG, pb.FAILURE_CLASS_INPUT])
def test_last_words_do_not_change_what_was_reported(kind: pb.FailureClass) -> None:
    """A driver that ran short and recovered writes error 12 too: a worker's own report and a hang stand."""
    found = with_last_words(failure(kind, "REASON", "message"), TEXTS[0][0])

    assert (found.failure_class, found.reason, found.stderr_tail) == (kind, "REASON", TEXTS[0][0])


@pytest.mark.parametrize("text", ["", "NvMapMemAllocInternalTagged: error 1", "old MemoryErrors", "error 12"])
def test_other_words_leave_a_crash_a_crash(text: str) -> None:
    """Nothing that only sounds like it makes a crash out of memory."""
    assert with_last_words(of_exit(-11, oom_killed=False), text).failure_class == pb.FAILURE_CLASS_CRASHED


@pytest.mark.parametrize(
    ("code", "oom_killed", "failure_class", "reason"),
    [
        (-9, True, pb.FAILURE_CLASS_OOM, "HOST_OUT_OF_MEMORY"),
        (-9, False, pb.FAILURE_CLASS_CRASHED, "WORKER_KILLED"),
        (-35, False, pb.FAILURE_CLASS_CRASHED, "WORKER_SIGNALLED"),
        (137, True, pb.FAILURE_CLASS_CRASHED, "WORKER_EXITED"),
        (-11, True, pb.FAILURE_CLASS_CRASHED, "WORKER_SIGNALLED"),
        (0, False, pb.FAILURE_CLASS_CRASHED, "WORKER_EXITED"),
    ],
)
def test_only_a_kill_with_a_count_is_out_of_memory(
    code: int, oom_killed: bool, failure_class: pb.FailureClass, reason: str
) -> None:
    """SIGKILL is out of memory where the kernel counted one, else somebody's kill; a signal need not have a name."""
    found = of_exit(code, oom_killed)

    assert (found.failure_class, found.reason) == (failure_class, reason)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


GROUPS = {
    "v2": (
        "0::/s/o.service\n",
        "sys/fs/cgroup/s/o.service/memory.events",
        "max 0\noom_kill {}\n",
    ),
    "v1": ("4:memory:/o\n0::/\n", "sys/fs/cgroup/memory/o/memory.oom_control", "under_oom 0\noom_kill {}\n"),
    "none": ("9:pids:/\n", "proc/vmstat", "nr_free 3\noom_kill {}\n"),
}


@pytest.mark.parametrize("kind", GROUPS)
def test_a_kill_is_seen_in_the_nearest_count(tmp_path: Path, kind: str) -> None:
    """The control group of either version, or the whole machine where there is none."""
    group, file, text = GROUPS[kind]
    _write(tmp_path / "proc/7/cgroup", group)
    _write(tmp_path / "proc/vmstat", "oom_kill 4\n")
    _write(tmp_path / file, text.format(4))
    counter = OomCounter(7, tmp_path)
    before = counter.rose()
    _write(tmp_path / file, text.format(5))

    assert (before, counter.rose()) == (False, True)


def test_a_kill_elsewhere_is_not_ours(tmp_path: Path) -> None:
    """The machine's count rose, the group's did not: another service was killed."""
    _write(tmp_path / "proc/7/cgroup", GROUPS["v2"][0])
    _write(tmp_path / GROUPS["v2"][1], "oom_kill 0\n")
    _write(tmp_path / "proc/vmstat", "oom_kill 0\n")
    counter = OomCounter(7, tmp_path)
    _write(tmp_path / "proc/vmstat", "oom_kill 1\n")

    assert not counter.rose()


def test_a_kernel_that_does_not_count_has_seen_nothing(tmp_path: Path) -> None:
    """Neither group nor machine can be read: a kill is then somebody's, not out of memory."""
    assert not OomCounter(7, tmp_path).rose()
