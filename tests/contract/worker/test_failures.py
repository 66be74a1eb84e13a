"""Every way a run can fail in the worker: its class, its reason, and a message that names the place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from orinbench.internal.v1.worker_pb2 import Prepare
from orinbench.v1.record_pb2 import (
    FAILURE_CLASS_INPUT,
    FAILURE_CLASS_MODEL,
    FAILURE_CLASS_OOM,
    OOM_SCOPE_DEVICE,
    OOM_SCOPE_HOST,
    FailureClass,
)
from orinbench_profiles import canonical_json

from tests.contract.worker.kit import RunningWorker, Store, fail, samples

INPUT, MODEL = FAILURE_CLASS_INPUT, FAILURE_CLASS_MODEL


def _null(store: Store) -> Prepare:
    return store.prepare(store.put_model("null"), store.put_inputs([b"one", b"two"]), 2)


def _too_few_lines(store: Store) -> Prepare:
    return store.prepare(store.put_model("null"), store.put_inputs([b"one"]), 2)


def _bad_line(store: Store) -> Prepare:
    lines = store.path(store.put_inputs([b"one", b"two"])).read_bytes().splitlines(keepends=True)
    return store.prepare(store.put_model("null"), store.put(lines[0] + lines[1][:40] + b"\n"), 2)


def _reference_in_manifest(store: Store) -> Prepare:
    line = json.loads(store.path(store.put_inputs([b"one"])).read_bytes())
    return store.prepare(store.put_model("null"), store.put(canonical_json({**line, "reference": "one"})), 1)


def _missing_input(store: Store) -> Prepare:
    prepare = _null(store)
    store.path(store.put(b"two")).unlink()
    return prepare


def _changed_input(store: Store) -> Prepare:
    prepare = _null(store)
    store.path(store.put(b"two")).write_bytes(b"TWO")
    return prepare


def _changed_attachment(store: Store) -> Prepare:
    inputs = store.put_inputs([b"one", b"two"], attached=[b"left", b"right"])
    store.path(store.put(b"right")).write_bytes(b"wrong")
    return store.prepare(store.put_model("null"), inputs, 2)


def _changed_manifest(store: Store) -> Prepare:
    prepare = _null(store)
    store.path(prepare.inputs_digest).write_bytes(b"{}\n")
    return prepare


def _changed_file(store: Store) -> Prepare:
    prepare = _replay(store, {"p.jsonl": b"{}\n"})
    store.path(store.put(b"{}\n")).write_bytes(b"[]\n")
    return prepare


def _shorter_file(store: Store) -> Prepare:
    prepare = _replay(store, {"p.jsonl": b"{}\n"})
    store.path(store.put(b"{}\n")).write_bytes(b"{")
    return prepare


def _replay(store: Store, files: dict[str, bytes]) -> Prepare:
    return store.prepare(store.put_model("replay", files=files), store.put_inputs([b"one"]), 1)


def _model(**fields: object) -> Callable[[Store], Prepare]:
    def make(store: Store) -> Prepare:
        return store.prepare(store.put_model(**{"engine": "null", **fields}), store.put_inputs([b"one"]), 1)  # type: ignore[arg-type]

    return make


def _not_a_declaration(store: Store) -> Prepare:
    return store.prepare(store.put(b'{"id":"x"}\n'), store.put_inputs([b"one"]), 1)


def _prediction(*lines: dict[str, str]) -> Callable[[Store], Prepare]:
    return lambda store: _replay(store, {"p.jsonl": b"".join(map(canonical_json, lines))})


CASES: list[tuple[Callable[[Store], Prepare], FailureClass, str, str]] = [
    (_too_few_lines, INPUT, "SAMPLE_COUNT", "has 1 samples, but 2 are planned"),
    (_bad_line, INPUT, "MANIFEST_INVALID", "inputs manifest, line 2: Invalid JSON"),
    (_reference_in_manifest, INPUT, "MANIFEST_INVALID", "line 1: reference: Extra inputs are not permitted"),
    (_missing_input, INPUT, "ARTIFACT_MISSING", "the input of sample s-1"),
    (_changed_input, INPUT, "DIGEST_MISMATCH", "the input of sample s-1"),
    (_changed_attachment, INPUT, "DIGEST_MISMATCH", "attachment 1 of sample s-0"),
    (_changed_manifest, INPUT, "DIGEST_MISMATCH", "the inputs manifest"),
    (_changed_file, INPUT, "DIGEST_MISMATCH", "file p.jsonl of model trial"),
    (_shorter_file, INPUT, "DIGEST_MISMATCH", "file p.jsonl of model trial has 1 bytes, 3 are declared"),
    (_not_a_declaration, MODEL, "DECLARATION_INVALID", "title: Field required"),
    (_model(engine="nil"), MODEL, "ENGINE_UNKNOWN", "engine 'nil' is unknown; known are: "),
    (_model(adapter="nil"), MODEL, "ADAPTER_UNKNOWN", "adapter 'nil' is unknown; known are: "),
    (_model(adapter="ctc"), MODEL, "ADAPTER_UNFIT", "needs a GraphSession or a TorchSession, engine null gives a"),
    (_model(options={"dealy_ms": 1}), MODEL, "OPTION_UNKNOWN", "'dealy_ms'"),
    (_model(options={"delay_ms": "1"}), MODEL, "OPTION_INVALID", "delay_ms: Input should be a valid number"),
    (_model(options={"delay_ms": -1}), MODEL, "OPTION_INVALID", "delay_ms"),
    (_model(engine="replay"), MODEL, "FILE_MISSING", "its files: none"),
    (_model(engine="replay", options={"predictions": "x"}), MODEL, "FILE_MISSING", "'x'"),
    (_prediction(), MODEL, "PREDICTION_MISSING", "sample s-0"),
    (_prediction({"sample_id": "s-0"}), MODEL, "CHECKPOINT_UNREADABLE", "p.jsonl, line 1: text: Field required"),
    (
        _prediction(*[{"sample_id": "s-0", "text": ""}] * 2),
        MODEL,
        "CHECKPOINT_UNREADABLE",
        "p.jsonl, line 2: sample s-0 has a line already",
    ),
]


def _shown(value: object) -> str:
    return str(getattr(value, "__name__", value))[:30]


@pytest.mark.parametrize(("make", "failure_class", "reason", "message"), CASES, ids=_shown)
def test_what_was_given_is_refused(
    store: Store, make: Callable[[Store], Prepare], failure_class: FailureClass, reason: str, message: str
) -> None:
    """Bad inputs and bad declarations end the run with their class, and the message says where to look."""
    failure = fail(make(store))

    assert (failure.failure_class, failure.reason) == (failure_class, reason)
    assert message in failure.message
    assert "Traceback" not in failure.message


@pytest.mark.parametrize(
    ("fault", "reason", "message"),
    [
        ("counter", "NONDETERMINISTIC", "'answer 1' and then 'answer 2'"),
        ("structured-counter", "NONDETERMINISTIC", """'{"calls":1}' and then '{"calls":2}'"""),
        ("bytes", "BAD_OUTPUT", "the text is not text"),
        ("surrogate", "BAD_OUTPUT", "the text is not text"),
        ("nan", "BAD_OUTPUT", "the structured output is not JSON"),
        ("object", "BAD_OUTPUT", "the structured output is not JSON"),
        ("bug", "ADAPTER_ERROR", "KeyError: 'logits'"),
    ],
)
def test_a_bad_output_is_the_models_failure(
    store: Store, trial_path: Path, fault: str, reason: str, message: str
) -> None:
    """Output that cannot be recorded or differs between two passes, and a bug, are the model's, at the first sample."""
    model = store.put_model("trial", options={"fault": fault})
    failure = fail(store.prepare(model, store.put_inputs([b"one"]), 1), trial_path)

    assert (failure.failure_class, failure.reason) == (MODEL, reason)
    assert message in failure.message
    assert (failure.HasField("sample_index"), failure.sample_index, failure.sample_id) == (True, 0, "s-0")


def test_a_failure_in_mid_run_names_its_sample(store: Store, trial_path: Path) -> None:
    """Results before the failure are sent, the failure names the sample in work, and the traceback is on stderr."""
    model = store.put_model("trial", options={"fault": "bug", "samples": 2})
    with RunningWorker(trial_path) as worker:
        worker.prepare(store.prepare(model, store.put_inputs([b"one", b"two", b"three"]), 3))
        said = list(worker.messages())
        worker.hang_up()
        code, stderr = worker.end()

    assert [record.text for record in samples(said)] == ["one", "two"]
    assert (said[-1].failure.sample_index, said[-1].failure.sample_id, code) == (2, "s-2", 1)
    assert "Traceback" in stderr
    assert "the device would not let go" in stderr


@pytest.mark.parametrize(("fault", "scope"), [("memory", OOM_SCOPE_HOST), ("tegra", OOM_SCOPE_DEVICE)])
def test_memory_that_ran_out_has_a_class_of_its_own(store: Store, trial_path: Path, fault: str, scope: int) -> None:
    """Out of memory is not the model's error, and the record says which memory it was."""
    model = store.put_model("trial", options={"fault": fault})
    failure = fail(store.prepare(model, store.put_inputs([b"one"]), 1), trial_path)

    assert (failure.failure_class, failure.oom_scope) == (FAILURE_CLASS_OOM, scope)


def test_an_output_too_large_for_a_record_is_refused(store: Store, trial_path: Path) -> None:
    """A text of a megabyte would not fit a page of the stream: the run ends and says how large it was."""
    model = store.put_model("trial", options={"fault": "huge"})
    failure = fail(store.prepare(model, store.put_inputs([b"one"]), 1), trial_path)

    assert (failure.failure_class, failure.reason) == (MODEL, "OUTPUT_TOO_LARGE")


def test_an_engine_whose_package_is_missing_is_named(store: Store, trial_path: Path) -> None:
    """An engine that this runtime cannot import is one clear error that names the module."""
    failure = fail(store.prepare(store.put_model("absent"), store.put_inputs([b"one"]), 1), trial_path)

    assert (failure.failure_class, failure.reason) == (MODEL, "ENGINE_UNAVAILABLE")
    assert "No module named 'a_module_that_nobody_has'" in failure.message


def test_an_input_that_shrinks_in_mid_run_is_noticed(store: Store) -> None:
    """An input that was verified and is then cut on disk is refused, not computed."""
    prepare = store.prepare(store.put_model("null"), store.put_inputs([b"one", b"two"]), 2, window=1)
    with RunningWorker() as worker:
        worker.prepare(prepare)
        worker.until("result")
        store.path(store.put(b"two")).write_bytes(b"t")
        worker.acknowledge(0)
        failure = worker.until("failure").failure

    assert (failure.failure_class, failure.reason, failure.sample_id) == (INPUT, "DIGEST_MISMATCH", "s-1")
