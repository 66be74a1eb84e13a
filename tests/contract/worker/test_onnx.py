"""The onnxruntime engine with the ctc adapter, in a real worker on real graphs and sounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from orinbench.internal.v1.worker_pb2 import Prepare
from orinbench.v1.record_pb2 import (
    FAILURE_CLASS_BOARD,
    FAILURE_CLASS_INPUT,
    FAILURE_CLASS_MODEL,
    FAILURE_CLASS_OOM,
    FAILURE_CLASS_POLICY,
    MEMORY_METHOD_PROCESS_RSS,
    OOM_SCOPE_HOST,
    FailureClass,
)
from orinbench_engines.failures import WorkerFailure

from tests.contract.worker.graphs import (
    VOCABULARY,
    big_graph,
    ctc_graph,
    quantised_graph,
    sound,
    typed_graph,
    with_data_file,
)
from tests.contract.worker.kit import RunningWorker, Store, fail, heard, opened, run, samples


def _prepare(
    store: Store,
    graph: bytes,
    sounds: list[bytes],
    vocabulary: bytes = VOCABULARY,
    device: str = "cpu",
    options: dict[str, int] | None = None,
) -> Prepare:
    model = store.put_model("onnxruntime", "ctc", {"m/graph.onnx": graph, "m/vocab.json": vocabulary}, options)
    return store.prepare(model, store.put_inputs(sounds, "audio/flac"), len(sounds), device=device)


def test_speech_becomes_text(store: Store) -> None:
    """FLAC and WAV go through the graph to the text worked out by hand; stages fill the window in order."""
    said = run(_prepare(store, ctc_graph(), [sound("ab a"), sound("b", form="WAV"), sound("  ")]))
    records = samples(said)

    assert [record.text for record in records] == ["aba", "b", ""]
    assert [record.audio_seconds for record in records] == [0.2, 0.05, 0.1]
    for record in records:
        assert [stage.name for stage in record.stages] == ["decode_audio", "inference", "decode_text"]
        assert 0 < sum(stage.duration_ns for stage in record.stages) <= record.window_ns


def test_facts_memory_and_settings_are_recorded(store: Store) -> None:
    """The record tells provider, checkpoint size, threads and versions, and the peak resident set never falls."""
    graph = ctc_graph("n")
    said = run(_prepare(store, graph, [sound("a")] * 3, options={"threads": 2}))
    ready = next(message.ready for message in said if message.HasField("ready"))
    peaks = [record.memory.peak_rss_bytes for record in samples(said)]

    assert list(ready.model_facts.devices) == ["CPUExecutionProvider"]
    assert (ready.model_facts.checkpoint_bytes, ready.model_facts.batch_size) == (len(graph), 1)
    assert ready.environment.settings["threads"] == "2"
    assert ready.environment.settings["memory_peak_since"] == "before the checkpoint was loaded"
    assert {"numpy", "onnxruntime", "soundfile"} <= set(ready.environment.packages)
    assert ready.memory.method == MEMORY_METHOD_PROCESS_RSS
    assert 1 << 20 < ready.memory.peak_rss_bytes <= peaks[0]
    assert peaks == sorted(peaks)
    assert said[-1].done.memory.peak_rss_bytes >= peaks[-1]


def test_as_many_threads_compute_as_declared(store: Store) -> None:
    """Five threads are four more than one, which is what a declaration without the option gets."""
    inputs = [sound("a"), sound("b")]

    def threads(**options: int) -> int:
        prepare = _prepare(store, ctc_graph(), inputs, options=options)
        prepare.window = 1
        with RunningWorker() as worker:
            worker.prepare(prepare)
            worker.until("result")
            return len(list((worker.process_folder / "task").iterdir()))

    assert threads(threads=5) - threads() == 4
    assert threads(threads=1) == threads()


def test_two_runs_give_the_same_text(store: Store) -> None:
    """The same model and inputs in two processes give the same outputs."""
    prepare = _prepare(store, ctc_graph(), [sound("ab"), sound("a a")])

    assert [r.text for r in samples(run(prepare))] == [r.text for r in samples(run(prepare))]


@pytest.mark.parametrize(
    ("graph", "vocabulary", "failure_class", "reason", "message"),
    [
        (b"garbage" * 99, VOCABULARY, FAILURE_CLASS_MODEL, "CHECKPOINT_UNREADABLE", "m/graph.onnx"),
        (ctc_graph()[:-200], VOCABULARY, FAILURE_CLASS_MODEL, "CHECKPOINT_UNREADABLE", "m/graph.onnx"),
        (ctc_graph(2), VOCABULARY, FAILURE_CLASS_POLICY, "BATCH_SIZE", "input 'audio' takes a batch of 2"),
        (ctc_graph(output="probs"), VOCABULARY, FAILURE_CLASS_MODEL, "GRAPH_INTERFACE", "probs [1, '?', 3]"),
        (ctc_graph(classes=4), VOCABULARY, FAILURE_CLASS_MODEL, "GRAPH_INTERFACE", "4 classes, its vocabulary 3"),
        (ctc_graph(), b"{}", FAILURE_CLASS_MODEL, "VOCABULARY_INVALID", "m/vocab.json: blank: Field required"),
        (
            ctc_graph(),
            b'{"blank":3,"tokens":["","a","b"]}',
            FAILURE_CLASS_MODEL,
            "VOCABULARY_INVALID",
            "m/vocab.json: blank is 3 of 3 tokens",
        ),
    ],
    ids=["garbage", "cut short", "batch of two", "other output", "other classes", "empty vocabulary", "no blank"],
)
def test_an_unfit_model_is_refused_at_load(
    store: Store, graph: bytes, vocabulary: bytes, failure_class: FailureClass, reason: str, message: str
) -> None:
    """A model that cannot be read, has a batch, or does not fit its vocabulary is refused by its declared name."""
    failure = fail(_prepare(store, graph, [sound("a")], vocabulary))

    assert (failure.failure_class, failure.reason) == (failure_class, reason)
    assert message in failure.message
    assert str(store.folder) not in failure.message
    assert "Traceback" not in failure.message


@pytest.mark.parametrize(
    ("dtype", "weights", "found"),
    [
        ("bfloat16", {}, "float32 (1203 elements)"),
        ("float32", {"FLOAT16": 1}, "float32 (1203 elements), float16 (1 elements)"),
        ("float16", {"FLOAT16": 1204, "BFLOAT16": 1}, "float16 (1204 elements), float32 (1203 elements), bfloat16"),
        ("float16", {"FLOAT16": 1202}, "float32 (1203 elements), float16 (1202 elements)"),
    ],
    ids=["another", "some in less", "some in another as wide", "most in more"],
)
def test_weights_of_another_type_are_refused(store: Store, dtype: str, weights: dict[str, int], found: str) -> None:
    """What a graph holds is read off its file: the declared type must be that of most weights, and none in less."""
    files = {"graph.onnx": typed_graph(**weights), "vocab.json": VOCABULARY}
    with pytest.raises(WorkerFailure, match="nothing is ever cast") as caught:
        opened(store, store.put_model("onnxruntime", "ctc", files, dtype=dtype))

    assert (caught.value.failure_class, caught.value.reason) == (FAILURE_CLASS_MODEL, "DTYPE")
    assert f"declared is {dtype}, its weights are {found}" in str(caught.value)


def test_a_float16_graph_runs_as_it_is(store: Store) -> None:
    """Its weights, its input and its logits are in half precision, and the text is the same."""
    files = {"graph.onnx": ctc_graph(kind=np.float16), "vocab.json": VOCABULARY}
    pipeline = opened(store, store.put_model("onnxruntime", "ctc", files, dtype="float16"))

    assert heard(pipeline, sound("ab a")).text == "aba"


def test_constants_in_more_than_the_declared_type_are_told(store: Store) -> None:
    """Exporters keep single constants wide: the graph runs, and the record says what it holds."""
    files = {"graph.onnx": typed_graph(DOUBLE=2), "vocab.json": VOCABULARY}
    pipeline = opened(store, store.put_model("onnxruntime", "ctc", files))

    assert list(pipeline.facts.notes) == [
        "graph.onnx holds constants in more than float32: float32 (1203 elements), float64 (2 elements)"
    ]
    assert heard(pipeline, sound("ab")).text == "ab"


@pytest.mark.filterwarnings("ignore")
def test_a_quantised_graph_is_refused(store: Store, tmp_path: Path) -> None:
    """Whatever dtype is declared: the suites' contract is native precision, and the operators give it away."""
    files = {"graph.onnx": quantised_graph(tmp_path), "vocab.json": VOCABULARY}
    with pytest.raises(WorkerFailure, match="ConvInteger, DynamicQuantizeLinear: it is quantised") as caught:
        opened(store, store.put_model("onnxruntime", "ctc", files))

    assert (caught.value.failure_class, caught.value.reason) == (FAILURE_CLASS_POLICY, "QUANTISED")


def test_a_graph_takes_its_weights_from_the_data_file_beside_it(store: Store, tmp_path: Path) -> None:
    """Both files lie under their digests, each in a folder of its own; size and text are those of the whole."""
    files = {f"m/{name}": data for name, data in with_data_file(tmp_path).items()}
    pipeline = opened(store, store.put_model("onnxruntime", "ctc", {**files, "m/vocab.json": VOCABULARY}))

    assert heard(pipeline, sound("ab a")).text == "aba"
    assert pipeline.facts.checkpoint_bytes == sum(map(len, files.values()))


def test_a_data_file_that_is_not_declared_is_named(store: Store, tmp_path: Path) -> None:
    """The name is as the declaration would have it."""
    graph = with_data_file(tmp_path)["graph.onnx"]
    with pytest.raises(WorkerFailure, match=r"weights in m/graph\.onnx_data, which its files lack") as caught:
        opened(store, store.put_model("onnxruntime", "ctc", {"m/graph.onnx": graph, "m/vocab.json": VOCABULARY}))

    assert caught.value.reason == "FILE_MISSING"


def test_a_missing_provider_is_not_replaced(store: Store) -> None:
    """A run that needs CUDA is refused where ONNX Runtime has none, not run on the CPU."""
    onnxruntime = pytest.importorskip("onnxruntime")
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has CUDA")
    failure = fail(_prepare(store, ctc_graph(), [sound("a")], device="cuda"))

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_BOARD, "PROVIDER_MISSING")


def test_auto_takes_what_is_there(store: Store) -> None:
    """Where the hardware profile leaves the device open, the run takes place and says on what."""
    said = run(_prepare(store, ctc_graph(), [sound("a")], device="auto"))

    assert next(message.ready for message in said if message.HasField("ready")).model_facts.devices


def test_memory_the_runtime_cannot_get_is_out_of_memory(store: Store) -> None:
    """A graph that asks for forty terabytes ends as out of host memory, by the text of ONNX Runtime itself."""
    failure = fail(_prepare(store, big_graph(10**13), [sound("a")]))

    assert (failure.failure_class, failure.oom_scope) == (FAILURE_CLASS_OOM, OOM_SCOPE_HOST)
    assert failure.reason == "HOST_OUT_OF_MEMORY"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (sound("a", rate=44_100, channels=2), "SAMPLE_RATE"),
        (sound("aaaa", form="WAV")[:-40], "AUDIO_TRUNCATED"),
        (sound("", form="WAV"), "AUDIO_EMPTY"),
        (b"", "AUDIO_EMPTY"),
    ],
    ids=["44.1 kHz stereo", "cut short", "no frame", "no byte"],
)
def test_unfit_audio_ends_the_run_and_names_its_sample(store: Store, data: bytes, reason: str) -> None:
    """Audio that is not canonical is the input's fault: results before it stand, and the sample is named."""
    failure = fail(_prepare(store, ctc_graph(), [sound("a"), data]))

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_INPUT, reason)
    assert (failure.sample_index, failure.sample_id) == (1, "s-1")
    assert "sample s-1" in failure.message
