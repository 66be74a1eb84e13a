"""The tensorrt engine with the ctc adapter in a real worker, over TensorRT's and pycuda's names without a GPU.

What computes is ONNX Runtime; what is proven is the engine's side: plans, profiles, memory, refusals. That the
names are the real ones is test_tensorrt_api.py's matter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from orinbench.internal.v1.worker_pb2 import FromWorker, Prepare
from orinbench.v1.record_pb2 import (
    FAILURE_CLASS_BOARD,
    FAILURE_CLASS_INFRASTRUCTURE,
    FAILURE_CLASS_MODEL,
    FAILURE_CLASS_OOM,
    FAILURE_CLASS_POLICY,
    MEMORY_METHOD_TENSORRT_POOL,
    OOM_SCOPE_DEVICE,
    FailureClass,
)

from tests.contract.worker.graphs import VOCABULARY, ctc_graph, quantised_graph, sound, with_data_file
from tests.contract.worker.kit import Store, fail, run, samples

FAKES = Path(__file__).parent / "fakes"
PROFILE: dict[str, Any] = {"audio": {"min": [1, 400], "opt": [1, 16_000], "max": [1, 48_000]}}
MIB = 1 << 20


@pytest.fixture(autouse=True)
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the daemon sets for every worker."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")


def _prepare(
    store: Store, sounds: list[bytes], graph: bytes | None = None, device: str = "cuda", **options: Any
) -> Prepare:
    files = {"m/graph.onnx": ctc_graph() if graph is None else graph, "m/vocab.json": VOCABULARY}
    model = store.put_model("tensorrt", "ctc", files, {"profile": PROFILE, **options})
    inputs = store.put_inputs(sounds, "audio/flac")
    return store.prepare(model, inputs, len(sounds), device=device, cache_path=str(store.folder.parent / "cache"))


def _settings(said: list[FromWorker]) -> dict[str, str]:
    return dict(next(message.ready for message in said if message.HasField("ready")).environment.settings)


def _plans(store: Store) -> list[Path]:
    return sorted((store.folder.parent / "cache").rglob("*"))


def test_speech_becomes_text_and_memory_is_that_of_the_pool(store: Store) -> None:
    """The text is as worked out by hand; the peak is the workspace and the buffers, without what the build took."""
    said = run(_prepare(store, [sound("ab a"), sound("b" * 8, form="WAV")]), FAKES)
    ready = next(message.ready for message in said if message.HasField("ready"))
    memory = [record.memory for record in samples(said)]

    assert [record.text for record in samples(said)] == ["aba", "b"]
    assert list(ready.model_facts.devices) == ["cuda:0 Fake GPU"]
    assert ready.memory.method == MEMORY_METHOD_TENSORRT_POOL
    assert all(MIB < reading.peak_allocated_bytes <= reading.peak_reserved_bytes < 2 * MIB for reading in memory)
    assert memory[0].peak_reserved_bytes < memory[1].peak_reserved_bytes
    assert memory[1].peak_rss_bytes > MIB
    assert memory[1].HasField("mem_available_dip_bytes")
    assert not memory[1].HasField("peak_nvmap_bytes")


def test_a_plan_is_built_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run takes the first one's plan and measures the same; another GPU, release or profile builds anew."""
    prepare = _prepare(store, [sound("ab")])
    first, second = (run(prepare, FAKES) for _ in range(2))

    assert [_settings(said)["plan"] for said in (first, second)] == ["built", "cached"]
    assert _settings(first)["plan_digest"] == _settings(second)["plan_digest"]
    peaks = [said[-1].done.memory.peak_reserved_bytes for said in (first, second)]
    assert peaks[0] == peaks[1]
    other = {"audio": {**PROFILE["audio"], "max": [1, 64_000]}}
    assert _settings(run(_prepare(store, [sound("ab")], profile=other), FAKES))["plan"] == "built"
    for name in ("FAKE_CUDA_NAME", "FAKE_TENSORRT_VERSION"):
        monkeypatch.setenv(name, "another")
        assert _settings(run(prepare, FAKES))["plan"] == "built"
    assert [path.suffix for path in _plans(store) if path.is_file()] == [".plan"] * 4


def test_a_plan_is_of_the_data_files_too(store: Store, tmp_path: Path) -> None:
    """Weights beside the graph are found when it is built; other weights under the same graph give another plan."""

    def plan(data: bytes) -> tuple[str, str]:
        files = {**graph, "graph.onnx_data": data, "vocab.json": VOCABULARY}
        model = store.put_model("tensorrt", "ctc", files, {"profile": PROFILE})
        cache = str(store.folder.parent / "cache")
        inputs = store.put_inputs([sound("ab")], "audio/flac")
        said = run(store.prepare(model, inputs, 1, device="cuda", cache_path=cache), FAKES)
        return _settings(said)["plan"], samples(said)[0].text

    graph = with_data_file(tmp_path)
    weights = np.frombuffer(graph["graph.onnx_data"], np.float32)

    assert plan(weights.tobytes()) == ("built", "ab")
    assert plan((-weights).tobytes()) == ("built", "ba")
    assert plan(weights.tobytes()) == ("cached", "ab")


def test_a_quantised_graph_is_refused(store: Store, tmp_path: Path) -> None:
    """A strongly typed build would compute in 8 bits what the graph quantises: it is not begun."""
    failure = fail(_prepare(store, [sound("a")], quantised_graph(tmp_path)), FAKES)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_POLICY, "QUANTISED")


def test_a_damaged_plan_goes_out_of_the_cache(store: Store) -> None:
    """A plan that cannot be loaded is the board's fault, not the model's; the next run builds it again."""
    prepare = _prepare(store, [sound("ab")])
    run(prepare, FAKES)
    (plan,) = (path for path in _plans(store) if path.is_file())
    plan.write_bytes(b"no plan")
    failure = fail(prepare, FAKES)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_BOARD, "PLAN_UNREADABLE")
    assert "magicTag" in failure.message
    assert _settings(run(prepare, FAKES))["plan"] == "built"


@pytest.mark.parametrize(
    ("fields", "failure_class", "reason", "message"),
    [
        (
            {"profile": {"audio": {"min": [1, 400], "opt": [1, 16_000], "max": [2, 48_000]}}},
            FAILURE_CLASS_POLICY,
            "BATCH_SIZE",
            "option 'profile': input 'audio' takes a batch of 2",
        ),
        ({"graph_bytes": ctc_graph(2)}, FAILURE_CLASS_POLICY, "BATCH_SIZE", "input 'audio' takes a batch of 2"),
        ({"profile": {}}, FAILURE_CLASS_MODEL, "PROFILE_UNFIT", "the inputs with open sizes are audio"),
        (
            {"profile": {"audio": {"min": [1, 400], "opt": [1, 300], "max": [1, 48_000]}}},
            FAILURE_CLASS_MODEL,
            "OPTION_INVALID",
            "profile.audio: Value error, each dimension must be 0 <= min <= opt <= max",
        ),
        (
            {"profile": {"audio": {"min": [0, 400], "opt": [1, 400], "max": [1, 48_000]}}},
            FAILURE_CLASS_MODEL,
            "OPTION_INVALID",
            "profile.audio: Value error, the first dimension, the batch, is at least 1",
        ),
        ({"graph_bytes": b"garbage" * 99}, FAILURE_CLASS_MODEL, "CHECKPOINT_UNREADABLE", "m/graph.onnx"),
        ({"device": "cpu"}, FAILURE_CLASS_BOARD, "DEVICE_UNAVAILABLE", "needs CUDA"),
    ],
    ids=["batch in the profile", "batch in the graph", "no profile", "bad profile", "no batch", "corrupt", "no device"],
)
def test_what_cannot_run_is_refused_at_load(
    store: Store, fields: dict[str, Any], failure_class: FailureClass, reason: str, message: str
) -> None:
    """Each gives one failure with its class, before any sample; no plan is left behind."""
    graph = fields.pop("graph_bytes", None)
    failure = fail(_prepare(store, [sound("a")], graph, **fields), FAKES)

    assert (failure.failure_class, failure.reason) == (failure_class, reason)
    assert message in failure.message
    assert not [path for path in _plans(store) if path.is_file()]


def test_a_plan_that_allows_a_batch_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the loaded plan says of itself decides, whatever it was built from."""
    monkeypatch.setenv("FAKE_TENSORRT_BATCH", "1")
    failure = fail(_prepare(store, [sound("a")]), FAKES)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_POLICY, "BATCH_SIZE")


@pytest.mark.parametrize(
    ("name", "value"),
    [("CUDA_VISIBLE_DEVICES", "0,1"), ("CUDA_VISIBLE_DEVICES", ""), ("FAKE_CUDA_DEVICES", "2")],
)
def test_anything_but_one_device_is_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Two named in the environment, none named, and two that the driver counts: against the contract."""
    monkeypatch.setenv(name, value)
    failure = fail(_prepare(store, [sound("a")]), FAKES)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_POLICY, "DEVICES")


@pytest.mark.parametrize(
    ("have", "built"), [(8 * MIB, False), (MIB // 2, True), (MIB + (1 << 17), True)], ids=["build", "context", "run"]
)
def test_device_memory_that_ran_out_is_out_of_memory(
    store: Store, monkeypatch: pytest.MonkeyPatch, have: int, built: bool
) -> None:
    """Whether the build, the context or a sample's buffers found no memory: class OOM, device, never tried again."""
    prepare = _prepare(store, [sound("ab" * 20)])
    if built:
        run(prepare, FAKES)
    monkeypatch.setenv("FAKE_CUDA_BYTES", str(have))
    failure = fail(prepare, FAKES)

    assert (failure.failure_class, failure.oom_scope) == (FAILURE_CLASS_OOM, OOM_SCOPE_DEVICE)


def test_a_sample_longer_than_the_profile_is_named(store: Store) -> None:
    """Nothing is cut: the run ends at the sample, with the shape and the option."""
    failure = fail(_prepare(store, [sound("a"), sound("ab" * 40)]), FAKES)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_MODEL, "SHAPE_OUTSIDE_PROFILE")
    assert "[1, 64000]" in failure.message
    assert failure.sample_id == "s-1"


def test_a_daemon_that_gives_no_cache_is_told(store: Store) -> None:
    """Without a folder for plans nothing is built somewhere else."""
    prepare = _prepare(store, [sound("a")])
    prepare.ClearField("cache_path")
    failure = fail(prepare, FAKES)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_INFRASTRUCTURE, "PREPARE_INVALID")
