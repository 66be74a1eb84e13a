"""Real workers whose engine dies or hangs in native code: the right class, in time, and the next run works."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import psutil
import pytest
from orinbench.v1 import record_pb2, run_pb2
from orinbench_profiles import canonical_json

from tests.integration.harness import Daemon, Wire, check_history, connect, finished_of, reason_of, running, samples_of

_GROUPS = Path("/sys/fs/cgroup")
_LIMIT = 256 << 20
# Far below the deadlines that hold unless a board says otherwise.
_PATIENCE_S = 60.0


def _install(folder: Path) -> Path:
    """Install the engine as a distribution; return the folder for PYTHONPATH."""
    information = folder / "native_engines-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: native-engines\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[orinbench.engines]\nnative = native_engines:NativeEngine\n")
    shutil.copy(Path(__file__).parent / "native" / "native_engines.py", folder)
    return folder


@contextmanager
def _board(folder: Path, before: str = "", deadline_s: float = 60.0) -> Iterator[tuple[Daemon, Wire]]:
    """A daemon whose runtime `native` has the engine; `before` is shell that runs in the worker first."""
    path = os.pathsep.join([str(_install(folder / "site")), *filter(None, sys.path)])
    python = folder / "python"
    python.write_text(
        f'#!/bin/sh\n{before}\nexport PYTHONPATH={shlex.quote(path)}\nexec {shlex.quote(sys.executable)} "$@"\n'
    )
    python.chmod(0o755)
    runtimes = {"default": {"python": sys.executable}, "native": {"python": str(python)}}
    deadlines = {"first_sample_s": deadline_s, "sample_floor_s": deadline_s, "stop_s": 0.5}
    with running(folder, runtimes=runtimes, deadlines=deadlines) as daemon, connect(daemon) as wire:
        yield daemon, wire


def _plan(wire: Wire, fault: str, at: int) -> run_pb2.RunPlan:
    plan = wire.plan(6)
    model = {
        "id": "native",
        "title": "Native",
        "license": "Apache-2.0",
        "engine": "native",
        "adapter": "none",
        "runtime": "native",
        "dtype": "none",
        "warmup": 0,
        "options": {"fault": fault, "at": at},
    }
    plan.model_id, plan.model_digest = "native", wire.put(canonical_json(model))
    return plan


def _run(daemon: Daemon, wire: Wire, fault: str, at: int = 3) -> list[record_pb2.Record]:
    """Run the faulty model to its end, then see that the daemon is well and the next run works."""
    records = list(wire.watch(wire.create(_plan(wire, fault, at)).name))
    check_history(list(wire.watch(wire.create(wire.plan(5)).name)), 5)
    assert psutil.Process(daemon.pid).children(recursive=True) == []
    return records


@pytest.mark.parametrize(
    ("fault", "failure_class", "reason", "words"),
    [
        ("null", record_pb2.FAILURE_CLASS_CRASHED, "WORKER_SIGNALLED", "Segmentation fault"),
        ("abort", record_pb2.FAILURE_CLASS_CRASHED, "WORKER_SIGNALLED", "Aborted"),
        ("exit", record_pb2.FAILURE_CLASS_CRASHED, "WORKER_EXITED", ""),
        ("hold the lock", record_pb2.FAILURE_CLASS_HUNG, "NO_PROGRESS", ""),
    ],
)
def test_a_death_in_native_code_has_its_class(
    folder: Path, fault: str, failure_class: record_pb2.FailureClass, reason: str, words: str
) -> None:
    """A null pointer, an abort, an exit with 0 and a call that never lets go of the lock, at the fourth sample.

    What was computed stays, the fault handler's words are kept, and a hang ends by the deadline, by nobody's help.
    """
    with _board(folder, deadline_s=3.0) as (daemon, wire):
        started = time.monotonic()
        records = _run(daemon, wire, fault)
        took = time.monotonic() - started

    failure = finished_of(records).failure
    assert (failure.failure_class, failure.reason) == (failure_class, reason)
    assert len(samples_of(records)) == 3
    assert words in failure.stderr_tail
    assert took < _PATIENCE_S


def test_a_limit_of_address_space_is_out_of_host_memory(folder: Path) -> None:
    """Where memory is refused and nobody is killed, the worker itself says it: class OOM, and the sample in work."""
    with _board(folder, "ulimit -v 1500000") as (daemon, wire):
        records = _run(daemon, wire, "allocate")

    failure = finished_of(records).failure
    assert (failure.failure_class, failure.oom_scope) == (record_pb2.FAILURE_CLASS_OOM, record_pb2.OOM_SCOPE_HOST)
    assert failure.reason == "HOST_OUT_OF_MEMORY"
    assert failure.sample_index == 3
    assert len(samples_of(records)) == 3


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A control group that may hold 256 MiB, of whichever version the system has."""
    name = f"orinbench-test-{os.getpid()}"
    unified = (_GROUPS / "cgroup.controllers").exists()
    group = (_GROUPS if unified else _GROUPS / "memory") / name
    limits = ("memory.max", "memory.swap.max") if unified else ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
    try:
        group.mkdir()
        (group / limits[0]).write_text(str(_LIMIT))
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        pytest.skip(f"no control group for memory can be made here: {error}")
    with suppress(OSError):  # a system without swap has no such file
        (group / limits[1]).write_text("0" if unified else str(_LIMIT))
    yield group
    group.rmdir()


@pytest.mark.root
def test_a_kill_by_the_kernel_is_out_of_host_memory(folder: Path, memory_group: Path) -> None:
    """Daemon and worker share a control group that is too small: the kernel takes the worker, and it is class OOM.

    It is told from a kill by somebody, it is final, and the daemon goes on.
    """
    with _board(folder) as (daemon, wire):
        (memory_group / "cgroup.procs").write_text(str(daemon.pid))
        run = wire.create(_plan(wire, "allocate", 3))
        records = list(wire.watch(run.name))
        with pytest.raises(grpc.RpcError) as refused:
            wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=run.name))
        check_history(list(wire.watch(wire.create(wire.plan(5)).name)), 5)

    failure = finished_of(records).failure
    assert (failure.failure_class, failure.oom_scope) == (record_pb2.FAILURE_CLASS_OOM, record_pb2.OOM_SCOPE_HOST)
    assert failure.signal == 9
    assert "the kernel killed the worker" in failure.message
    assert len(samples_of(records)) == 3
    assert reason_of(refused.value)[1] == "STATE_FORBIDS"
