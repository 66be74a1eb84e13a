"""An imported run as scores and boards read it: its facts, its texts, its references."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orinbench_profiles.digest import canonical_json, digest_bytes

from orinbench_client.bundles.files import parse_model, read_json
from orinbench_client.bundles.model import (
    SUCCEEDED,
    Axis,
    Labelled,
    Memory,
    ModelFacts,
    Origin,
    RunFacts,
    Sample,
    Timing,
)
from orinbench_client.bundles.peste import PesteBundle, PesteFacts, PesteRun, PesteSpeed
from orinbench_client.bundles.peste_check import summarise
from orinbench_client.bundles.peste_import import IMPORTS, UPSTREAM, ImportNote
from orinbench_client.errors import BadInput

MEMORY_METHOD = "torch-reserved"
_STATES = {"success": SUCCEEDED, "failed": "failed", "oom": "failed", "killed": "failed", "running": "unfinished"}
_SPEED_TOLERANCE = 0.01


def read_upstream(folder: Path) -> PesteBundle:
    """Return the upstream bundle inside an imported one. Raises BadInput."""
    path = folder / UPSTREAM / "run.json"
    return PesteBundle(path.parent, parse_model(PesteRun, read_json(path), str(path)))


def read_notes(folder: Path) -> list[ImportNote]:
    """Return what the imports of this run said of it. Raises BadInput when there is none."""
    paths = sorted((folder / IMPORTS).glob("*.json"))
    if not paths:
        raise BadInput(f"{folder / IMPORTS}: empty: nothing says what is current; import the directory again")
    return [parse_model(ImportNote, read_json(path), str(path)) for path in paths]


def samples_of(bundle: PesteBundle, notes: list[ImportNote]) -> tuple[list[Sample], dict[str, str]]:
    """Return the samples of a bundle, and the references. Raises BadInput."""
    lines = [line for _, line in bundle.lines()]
    lengths = next((note.audio_seconds for note in notes if note.audio_seconds is not None), None)
    seconds = lengths if lengths and len(lengths) == len(lines) else [None] * len(lines)
    samples = [Sample(line.sample_id, line.prediction, second) for line, second in zip(lines, seconds, strict=True)]
    return samples, {line.sample_id: line.reference for line in lines}


def facts_of(run: PesteRun, notes: list[ImportNote]) -> RunFacts:
    """Return what an imported bundle says of its run."""
    origin: Origin = "peste-1" if run.schema_version == 1 else "peste-2"
    hardware = _hardware(run.environment)
    memory, memory_unread = _memory(run)
    timing, speed_unread = _timing(run)
    return RunFacts(
        run_id=run.run_id,
        origin=origin,
        suite=Labelled(run.suite_id, f"sha256:{run.suite_digest}"),
        model=Labelled(run.model_id, f"sha256:{run.model_digest}"),
        hardware=Labelled(hardware or "not recorded", digest_bytes(canonical_json({"profile": hardware}))),
        contract=_contract(run),
        state=_STATES[run.status],
        failure=None if run.successful else _failure(run),
        causes=tuple(_causes(run, hardware, notes)),
        memory=memory,
        timing=timing,
        unread={**memory_unread, **speed_unread},
        facts=_model_facts(run.memory or run.model_facts),
    )


def _failure(run: PesteRun) -> str:
    return run.status if run.error is None else f"{run.status}: {run.error}"


def _causes(run: PesteRun, hardware: str | None, notes: list[ImportNote]) -> list[str]:
    """Return why the run cannot be ranked: nothing when at least one of its imports has it as current and sound."""
    by_import = [_causes_by(run, note) for note in notes]
    causes = [] if [] in by_import else by_import[0]
    if hardware is None:
        causes = [*causes, "environment.hardware_profile names no profile: it cannot share a board"]
    if run.environment.get("peste_revision") in (None, "", "unknown"):
        causes = [*causes, "environment.peste_revision: no source revision recorded"]
    return causes


def _causes_by(run: PesteRun, note: ImportNote) -> list[str]:
    causes = []
    if note.suite_digest != f"sha256:{run.suite_digest}":
        causes.append(f"suite digest {run.suite_digest[:12]} is not the current one ({note.suite_digest[7:19]})")
    if note.model_digest is None:
        causes.append(f"no current specification of model {run.model_id} came with the import")
    elif note.model_digest != f"sha256:{run.model_digest}":
        causes.append(f"stale: model digest {run.model_digest[:12]} is not the current one ({note.model_digest[7:19]})")
    if note.differences:
        causes.append(summarise(note.differences))
    return causes


def _hardware(environment: Mapping[str, object]) -> str | None:
    profile = environment.get("hardware_profile")
    if isinstance(profile, Mapping):
        profile = profile.get("profile")
    return profile if isinstance(profile, str) and profile else None


def _contract(run: PesteRun) -> Labelled:
    seed = run.environment.get("seed")
    content = {"rules": "PESTE", "schema": run.schema_version, "container": True, "seed": str(seed)}
    return Labelled(f"PESTE schema {run.schema_version}, in a container", digest_bytes(canonical_json(content)))


def _memory(run: PesteRun) -> tuple[Memory | None, dict[Axis, str]]:
    memory = run.memory
    if memory is None:
        return None, {"memory": "no memory recorded"} if run.schema_version == 1 else {}
    peak = memory.peak_cuda_reserved_bytes or None
    unread: dict[Axis, str] = {} if peak else {"memory": "memory.peak_cuda_reserved_bytes is missing or 0"}
    reading = Memory(MEMORY_METHOD, peak, peak, memory.peak_cuda_allocated_bytes, memory.peak_process_rss_bytes)
    return reading, unread


def _timing(run: PesteRun) -> tuple[Timing | None, dict[Axis, str]]:
    speed = run.speed
    if speed is None:
        return None, {}
    if not speed.valid:
        return None, {"speed": f"speed not valid: {speed.invalidity_reason or 'no reason recorded'}"}
    if speed.processing_seconds is None or speed.total_audio_seconds is None:
        return None, {"speed": "speed.processing_seconds or speed.total_audio_seconds is missing"}
    rtf = speed.processing_seconds / speed.total_audio_seconds
    if not _agree(speed, rtf):
        return None, {"speed": f"speed.rtf or speed.audio_throughput_x is not that of its seconds (RTF {rtf:.6g})"}
    return Timing(round(speed.processing_seconds * 1e9), round(speed.total_audio_seconds * 1e9)), {}


def _agree(speed: PesteSpeed, rtf: float) -> bool:
    stored = [speed.rtf, None if speed.audio_throughput_x is None else 1 / speed.audio_throughput_x]
    return all(value is None or abs(value / rtf - 1) <= _SPEED_TOLERANCE for value in stored)


def _model_facts(facts: PesteFacts | None) -> ModelFacts:
    if facts is None:
        return ModelFacts()
    return ModelFacts(facts.parameter_count, facts.checkpoint_bytes, facts.native_dtype)
