"""The onnxruntime engine's side of CUDA in a real worker: what is refused, what is measured, what is written down.

No GPU: the CPU computes behind the CUDA provider's name, pycuda's names stand over memory of the host, and the
allocator's hooks are called through their addresses as the provider calls them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import onnxruntime
import pytest
from orinbench.internal.v1.worker_pb2 import Prepare
from orinbench.v1.record_pb2 import (
    FAILURE_CLASS_BOARD,
    FAILURE_CLASS_OOM,
    FAILURE_CLASS_POLICY,
    MEMORY_METHOD_ONNXRUNTIME_POOL,
    MEMORY_METHOD_PROCESS_RSS,
    OOM_SCOPE_DEVICE,
)

from tests.contract.worker.graphs import VOCABULARY, ctc_graph, sound
from tests.contract.worker.kit import Store, fail, run, samples

FAKES = Path(__file__).parent / "fakes"
CUDA = FAKES / "onnxruntime_cuda"
MIB = 1 << 20


@pytest.fixture(autouse=True)
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the daemon sets for every worker, and pycuda's names."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.syspath_prepend(str(FAKES))


def _prepare(store: Store) -> Prepare:
    files = {"m/graph.onnx": ctc_graph(), "m/vocab.json": VOCABULARY}
    model = store.put_model("onnxruntime", "ctc", files)
    return store.prepare(model, store.put_inputs([sound("ab"), sound("b")], "audio/flac"), 2, device="cuda")


def test_the_pool_behind_the_hooks_is_what_counts(store: Store) -> None:
    """Weights and workspace are in the peaks, what was freed stays reserved, the settings say who allocates."""
    said = run(_prepare(store), CUDA)
    ready = next(message.ready for message in said if message.HasField("ready"))
    memory = said[-1].done.memory

    assert [record.text for record in samples(said)] == ["ab", "b"]
    assert ready.environment.settings["gpu_allocator"] == "pycuda pool"
    # ONNX Runtime up to 1.23 does not tell where its nodes are.
    tells = hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info")
    told = "3 of 3: 1 Conv, 1 Transpose, 1 Unsqueeze" if tells else None
    assert ready.environment.settings.get("nodes_on_cpu") == told
    assert memory.method == MEMORY_METHOD_ONNXRUNTIME_POOL
    assert memory.peak_allocated_bytes == 5 * MIB
    # pycuda's bins: a block may be up to a sixteenth larger than what was asked for.
    assert 5 * MIB <= memory.peak_reserved_bytes <= 5 * MIB * 17 // 16


def test_without_pycuda_the_record_says_that_nothing_counts_the_device(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run works, by the resident set's method, which a CUDA profile does not count; device peaks are absent."""
    monkeypatch.setattr("sys.path", [path for path in sys.path if path != str(FAKES)])
    said = run(_prepare(store), CUDA)
    ready = next(message.ready for message in said if message.HasField("ready"))

    assert "pycuda is not installed" in ready.environment.settings["gpu_allocator"]
    assert ready.memory.method == MEMORY_METHOD_PROCESS_RSS
    assert not ready.memory.HasField("peak_reserved_bytes")


def test_a_session_that_fell_back_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider was there, the session has only the CPU: nothing is computed in its name."""
    monkeypatch.setenv("FAKE_ONNXRUNTIME", "fallback")
    failure = fail(_prepare(store), CUDA)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_BOARD, "PROVIDER_MISSING")
    assert "in force after the load: CPUExecutionProvider" in failure.message


def test_a_provider_that_did_not_take_its_options_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An allocator that is not in force would measure nothing: what was asked is read back."""
    monkeypatch.setenv("FAKE_ONNXRUNTIME", "deaf")
    failure = fail(_prepare(store), CUDA)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_BOARD, "PROVIDER_OPTION")
    assert "gpu_external_alloc is '0'" in failure.message


@pytest.mark.parametrize("have", [2 * MIB, 4 * MIB + (1 << 19)], ids=["load", "run"])
def test_device_memory_that_ran_out_is_out_of_memory(store: Store, monkeypatch: pytest.MonkeyPatch, have: int) -> None:
    """At the load and in a sample: class OOM, device, whatever the runtime makes of an allocator that gives nothing."""
    monkeypatch.setenv("FAKE_CUDA_BYTES", str(have))
    failure = fail(_prepare(store), CUDA)

    assert (failure.failure_class, failure.oom_scope) == (FAILURE_CLASS_OOM, OOM_SCOPE_DEVICE)
    assert "memory_pool::allocate failed" in failure.message


def test_several_visible_devices_are_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset means all of them: one is named, or nothing runs."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    failure = fail(_prepare(store), CUDA)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_POLICY, "DEVICES")
    assert "CUDA_VISIBLE_DEVICES is not set" in failure.message
