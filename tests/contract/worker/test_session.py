"""A whole session between a daemon and a worker process, as the protocol has it."""

from __future__ import annotations

from pathlib import Path

from orinbench.internal.v1.worker_pb2 import (
    PHASE_KIND_LOADING,
    PHASE_KIND_PROVING,
    PHASE_KIND_SAMPLING,
    PHASE_KIND_WARMING_UP,
    FromWorker,
)
from orinbench.v1.record_pb2 import MEMORY_METHOD_NONE, RecordBody
from orinbench_engines.protocol import PROTOCOL_VERSION
from orinbench_profiles import canonical_json

from tests.contract.worker.kit import RunningWorker, Store, kinds, run, samples


def _phases(said: list[FromWorker]) -> list[int]:
    return [message.phase.kind for message in said if message.HasField("phase")]


def test_messages_come_in_the_order_of_the_protocol(store: Store) -> None:
    """Hello, phases, ready, then each result with the phase of the next sample, then done."""
    said = run(store.prepare(store.put_model("null"), store.put_inputs([b"a", b"b"]), 2))

    assert kinds(said) == [
        *["hello", "phase", "phase", "phase", "phase", "phase", "ready"],
        *["phase", "result", "phase", "result", "done"],
    ]
    assert _phases(said) == [
        *[PHASE_KIND_LOADING] * 2,
        *[PHASE_KIND_PROVING] * 2,
        PHASE_KIND_WARMING_UP,
        *[PHASE_KIND_SAMPLING] * 2,
    ]


def test_hello_says_who_speaks(store: Store) -> None:
    """The first message has the protocol's version and the process's id, before anything is asked."""
    with RunningWorker() as worker:
        hello = worker.until("hello").hello

        assert (hello.protocol, hello.pid) == (PROTOCOL_VERSION, worker.process.pid)


def test_attachments_reach_the_engine_in_order(store: Store, trial_path: Path) -> None:
    """A sample has the bytes and media types of what its line attaches; files may be shared and come twice."""
    model = store.put_model("trial", options={"fault": "attachments"})
    inputs = store.put_inputs([b"a", b"b"], attached=[b"two", b"one", b"two"])
    said = run(store.prepare(model, inputs, 2), trial_path)

    assert [record.text for record in samples(said)] == ["audio/wav=two audio/wav=one audio/wav=two"] * 2


def test_a_record_holds_what_the_engine_said(store: Store) -> None:
    """Each record has its index, id, segment, text, window and memory method, and a time of the wall clock."""
    model = store.put_model("null", options={"text": "  raw ", "delay_ms": 2})
    said = run(store.prepare(model, store.put_inputs([b"a", b"b"]), 2, segment=3))
    records = samples(said)

    assert [(record.index, record.sample_id, record.segment, record.text) for record in records] == [
        (0, "s-0", 3, "  raw "),
        (1, "s-1", 3, "  raw "),
    ]
    assert all(record.window_ns >= 2_000_000 for record in records)
    assert records[1].start_monotonic_ns >= records[0].start_monotonic_ns + records[0].window_ns
    assert all(record.memory.method == MEMORY_METHOD_NONE for record in records)
    assert not any(record.memory.HasField("peak_rss_bytes") for record in records)
    first = next(message for message in said if message.HasField("result"))
    assert RecordBody.FromString(first.result.body).time.seconds > 1_700_000_000


def test_replay_gives_recorded_predictions_by_id(store: Store) -> None:
    """Predictions are matched by sample id, in any order, with their structured output as canonical JSON."""
    predictions = [
        {"sample_id": "s-1", "text": "دو"},
        {"sample_id": "s-0", "text": "", "structured": {"b": 1, "a": [None]}},
    ]
    model = store.put_model("replay", files={"predictions.jsonl": b"".join(map(canonical_json, predictions))})
    records = samples(run(store.prepare(model, store.put_inputs([b"a", b"b"]), 2)))

    assert [(record.text, record.structured_json) for record in records] == [("", '{"a":[null],"b":1}'), ("دو", "")]


def test_replay_takes_the_recorded_time(store: Store) -> None:
    """A prediction with a window takes at least that long again."""
    prediction = canonical_json({"sample_id": "s-0", "text": "", "window_ns": 5_000_000})
    model = store.put_model("replay", files={"predictions.jsonl": prediction})
    (record,) = samples(run(store.prepare(model, store.put_inputs([b"a"]), 1)))

    assert record.window_ns >= 5_000_000


def test_a_segment_begins_where_it_is_told(store: Store) -> None:
    """A resumed run computes the samples from first_index on and no other, and proves on the first of them."""
    prepare = store.prepare(store.put_model("null"), store.put_inputs([b"a", b"b", b"c"]), 3, first_index=1, segment=2)
    said = run(prepare)

    assert [(record.index, record.segment) for record in samples(said)] == [(1, 2), (2, 2)]
    assert any("s-1" in message.log.message for message in said)


def test_a_limited_run_takes_the_first_samples(store: Store) -> None:
    """With fewer samples planned than the manifest has, the rest is not computed and need not be there."""
    inputs = [b"a", b"b", b"c"]
    prepare = store.prepare(store.put_model("null"), store.put_inputs(inputs), 2)
    store.path(store.put(b"c")).unlink()

    assert [record.index for record in samples(run(prepare))] == [0, 1]


def test_warm_up_is_the_runs_or_the_models(store: Store) -> None:
    """The run's number of warm-up passes goes before the declaration's, also when it is 0."""
    model, inputs = store.put_model("null", warmup=2), store.put_inputs([b"a"])

    declared = _phases(run(store.prepare(model, inputs, 1)))
    overridden = _phases(run(store.prepare(model, inputs, 1, warmup=0)))

    assert (declared.count(PHASE_KIND_WARMING_UP), overridden.count(PHASE_KIND_WARMING_UP)) == (2, 0)


def test_phases_carry_the_bounds_of_the_next_sample(store: Store) -> None:
    """What the manifest declares of a sample is sent ahead of it, so that its deadline can be scaled."""
    inputs = store.put_inputs([b"a"], audio_seconds=12.5, max_tokens=40)
    phases = [
        message.phase
        for message in run(store.prepare(store.put_model("null"), inputs, 1))
        if message.HasField("phase") and message.phase.kind != PHASE_KIND_LOADING
    ]

    assert len(phases) == 4
    assert {(phase.audio_seconds, phase.max_tokens) for phase in phases} == {(12.5, 40)}


def test_ready_tells_facts_and_surroundings(store: Store) -> None:
    """Before the first sample come the facts of the model and the versions and settings in force."""
    prepare = store.prepare(store.put_model("null"), store.put_inputs([b"a"]), 1, isolation="network")
    said = run(prepare)
    ready = next(message.ready for message in said if message.HasField("ready"))

    facts, environment = ready.model_facts, ready.environment
    assert (facts.engine, facts.adapter, facts.batch_size, facts.native_dtype) == ("null", "none", 1, "float32")
    assert not facts.HasField("parameter_count")
    assert (environment.runtime, environment.isolation) == ("default", "network")
    assert environment.settings["seed"] == "20250731"
    assert environment.settings["oom_score_adj"] == "900"
    assert environment.packages["protobuf"]


def test_nothing_heavy_is_imported_for_a_light_engine(store: Store) -> None:
    """A worker without a model imports neither numpy nor a runtime, and never gRPC."""
    with RunningWorker() as worker:
        worker.prepare(store.prepare(store.put_model("null"), store.put_inputs([b"a", b"b"]), 2, window=1))
        worker.until("result")
        maps = (worker.process_folder / "maps").read_text()

    assert "python" in maps
    assert not any(name in maps for name in ("numpy", "onnxruntime", "grpc", "soundfile"))
