"""A native run as scores and boards read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from orinbench.v1.record_pb2 import (
    RUN_STATE_SUCCEEDED,
    FailureClass,
    MemoryMethod,
    MemoryReading,
    RunState,
    SampleRecord,
)
from orinbench.v1.record_pb2 import (
    Axis as ProtoAxis,
)
from orinbench.v1.record_pb2 import (
    Violation as ProtoViolation,
)
from orinbench.v1.run_pb2 import Run
from orinbench_profiles import is_digest
from orinbench_profiles.schema import Name
from pydantic import TypeAdapter, ValidationError

from orinbench_client.bundles.model import (
    AXES,
    Axis,
    Labelled,
    Memory,
    ModelFacts,
    RunFacts,
    Sample,
    Timing,
    Violation,
)
from orinbench_client.bundles.native import NativeContent, answer_of, audio_seconds
from orinbench_client.bundles.signature import Signature, check_signature
from orinbench_client.scoring.score import repeated

_NS = 1e9
#: Above these a reading is broken; below them the sums of any suite are exact in 64 bits.
_LONGEST_NS, _MOST_J = 10**13, 1e6
_NAME = TypeAdapter[str](Name)


def run_id_of(run: Run) -> str:
    """Return the id of a run, which is also the name of its bundle's folder."""
    return run.name.removeprefix("runs/")


def samples_of(content: NativeContent) -> list[Sample]:
    """Return the samples in the order of the suite."""
    return [
        Sample(sample.sample_id, sample.text, audio_seconds(sample), answer_of(sample)) for sample in content.ordered()
    ]


def facts_of(run: Run, content: NativeContent) -> RunFacts:
    """Return what a native bundle says of its run."""
    samples = content.ordered()
    timing, speed_unread = _timing(samples)
    energy_uj, energy_unread = _energy(samples, content.energy_j)
    signature = check_signature(run, content)
    return RunFacts(
        run_id=run_id_of(run),
        origin="orinbench",
        suite=Labelled(run.plan.suite_id, run.plan.suite_digest),
        model=Labelled(run.plan.model_id, run.plan.model_digest),
        hardware=Labelled(run.plan.hardware_profile or run.board or "unnamed", run.hardware_profile_digest),
        contract=Labelled("orinbench, native", run.execution_contract_digest),
        state=_word(RunState, run.state, "RUN_STATE_"),
        failure=None if run.state == RUN_STATE_SUCCEEDED else _failure(run),
        violations=tuple(_violation(violation) for violation in run.violations),
        memory=_memory(run.memory),
        timing=timing,
        energy_uj=energy_uj,
        unread={**speed_unread, **energy_unread},
        facts=_model_facts(run),
        end_ns=run.end_time.ToNanoseconds(),
        causes=tuple(_causes(run, samples, signature)),
        key_id=signature.key_id,
        standing="invalid" if signature.problem else "unknown",
        first=run.plan.options.limit if run.plan.options.HasField("limit") else None,
    )


def _causes(run: Run, samples: Sequence[SampleRecord], signature: Signature) -> Iterator[str]:
    """Yield why a run is ranked nowhere, whatever its verdict says."""
    if signature.problem:
        yield f"signature invalid: {signature.problem}"
    if run.state == RUN_STATE_SUCCEEDED:
        yield from _misnamed(run)
    if twice := repeated([sample.sample_id for sample in samples]):
        yield twice


def _misnamed(run: Run) -> Iterator[str]:
    """Yield what is no name or digest as declarations have them: boards and other programs read these as such."""
    plan = run.plan
    names = {"suite": plan.suite_id, "model": plan.model_id, "hardware profile": plan.hardware_profile or None}
    digests = {
        "suite": plan.suite_digest,
        "model": plan.model_digest,
        "hardware profile": run.hardware_profile_digest,
        "execution contract": run.execution_contract_digest,
    }
    for kind, fits, found in (("name", _is_name, names), ("digest", is_digest, digests)):
        for what, text in found.items():
            if text is not None and not fits(text):
                yield f"{text[:80]!r} is no {kind} of a {what}"


def _is_name(text: str) -> bool:
    try:
        _NAME.validate_python(text)
    except ValidationError:
        return False
    return True


def _word(enum: Any, value: int, prefix: str) -> str:
    try:
        return str(enum.Name(value)).removeprefix(prefix).lower().replace("_", "-")
    except ValueError:
        return f"number-{value}"


def _failure(run: Run) -> str:
    state = _word(RunState, run.state, "RUN_STATE_")
    if not run.HasField("failure"):
        return state
    failure = run.failure
    kind = _word(FailureClass, failure.failure_class, "FAILURE_CLASS_")
    return f"{kind}: {failure.message or failure.reason or state}"


def _violation(violation: ProtoViolation) -> Violation:
    voids = {_word(ProtoAxis, axis, "AXIS_") for axis in violation.voids}
    return Violation(violation.reason, violation.message, frozenset(axis for axis in AXES if axis in voids))


def _memory(reading: MemoryReading) -> Memory | None:
    method = _word(MemoryMethod, reading.method, "MEMORY_METHOD_")
    if method in ("unspecified", "none"):
        return None
    reserved = reading.peak_reserved_bytes if reading.HasField("peak_reserved_bytes") else None
    allocated = reading.peak_allocated_bytes if reading.HasField("peak_allocated_bytes") else None
    rss = reading.peak_rss_bytes if reading.HasField("peak_rss_bytes") else None
    peak = rss if method == "process-rss" else reserved
    return Memory(method, peak or None, reserved, allocated, rss)


def _timing(samples: list[SampleRecord]) -> tuple[Timing | None, dict[Axis, str]]:
    windows = np.array([sample.window_ns for sample in samples], dtype=np.int64)
    if not samples:
        return None, {}
    if windows.min() <= 0 or windows.max() > _LONGEST_NS:
        return None, {"speed": "a timed window is 0, negative, or of hours"}
    seconds = [audio_seconds(sample) for sample in samples]
    known = [second for second in seconds if second is not None]
    if len(known) < len(seconds):
        return Timing(int(windows.sum()), None, windows), {}
    audio = np.array([round(second * _NS) for second in known], dtype=np.int64)
    return Timing(int(windows.sum()), int(audio.sum()), windows, audio), {}


def _energy(samples: list[SampleRecord], joules: dict[int, float]) -> tuple[Any, dict[Axis, str]]:
    if not joules:
        return None, {}
    lacking = sum(sample.index not in joules for sample in samples)
    if lacking:
        return None, {"energy": f"the energy of {lacking} of {len(samples)} samples is not known"}
    readings = [joules[sample.index] for sample in samples]
    if min(readings) < 0 or max(readings) > _MOST_J:
        return None, {"energy": "the energy of a sample is negative, or above a megajoule"}
    return np.array([round(reading * 1e6) for reading in readings], dtype=np.int64), {}


def _model_facts(run: Run) -> ModelFacts:
    facts = run.model_facts
    return ModelFacts(
        facts.parameter_count if facts.HasField("parameter_count") else None,
        facts.checkpoint_bytes if facts.HasField("checkpoint_bytes") else None,
        facts.native_dtype or None,
    )
