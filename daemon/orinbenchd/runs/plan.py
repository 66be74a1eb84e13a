"""Checks what a client wants to run against what the board has, before anything is queued."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orinbench.v1 import run_pb2
from orinbench_profiles import DeclarationError, ModelDeclaration, is_digest, parse_model

from orinbenchd.artifacts.store import ArtifactStore
from orinbenchd.errors import (
    DaemonError,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    artifact_not_found,
    invalid_field,
)
from orinbenchd.runs.queue import HIGHEST, LOWEST
from orinbenchd.worker.runtimes import missing

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
_KEYS = {"sample_id", "input", "attachments", "audio_seconds", "max_tokens"}
_ARTIFACT_KEYS = {"digest", "bytes", "media_type"}
_NAMED = 20
# Of one sample with thousands of attachments.
_LINE = 1 << 20


@dataclass(frozen=True)
class ManifestLine:
    """One sample of an inputs manifest: its id, the digests of its input and attachments, and its declared bounds."""

    sample_id: str
    digests: tuple[str, ...]
    audio_seconds: float | None
    max_tokens: int | None


@dataclass(frozen=True)
class Checked:
    """A plan that can run: its model and how many samples it has."""

    model: ModelDeclaration
    samples: int


def check_fields(request: run_pb2.CreateRunRequest) -> None:
    """Check the shape of a request. Raises InvalidArgument."""
    plan = request.plan
    for field, value in (("request_id", request.request_id), ("plan.suite_id", plan.suite_id)):
        if not _ID.match(value):
            raise invalid_field(field, f"{value[:80]!r} must be 1 to 128 of A-Z a-z 0-9 . _ -")
    for field in ("suite_digest", "inputs_digest", "model_digest"):
        if not is_digest(getattr(plan, field)):
            raise invalid_field(f"plan.{field}", f"{getattr(plan, field)[:80]!r} is not 'sha256:' and 64 hex digits")
    options = plan.options
    if options.HasField("limit") and options.limit < 1:
        raise invalid_field("plan.options.limit", "must be at least 1")
    if options.HasField("warmup") and options.warmup > 100:
        raise invalid_field("plan.options.warmup", "must be at most 100")
    if not LOWEST <= options.priority <= HIGHEST:
        raise invalid_field("plan.options.priority", f"{options.priority} is not from {LOWEST} to {HIGHEST}")
    for field in ("time_limit_s", "cancel_unwatched_after_s", "queue_timeout_s"):
        seconds = getattr(options, field)
        if options.HasField(field) and not (math.isfinite(seconds) and seconds > 0):
            raise invalid_field(f"plan.options.{field}", "must be a positive number of seconds")
    if len(options.labels) > 32 or any(len(key) + len(value) > 512 for key, value in options.labels.items()):
        raise invalid_field("plan.options.labels", "at most 32, of at most 512 characters each")


def check_plan(plan: run_pb2.RunPlan, store: ArtifactStore, runtimes: list[str], max_samples: int) -> Checked:
    """Read model and manifest and see that everything they name is there. Raises DaemonError."""
    missing = [digest for digest in (plan.model_digest, plan.inputs_digest) if not store.use(digest)]
    if missing:
        raise _missing(missing)
    model = _check_model(plan, store, runtimes)
    missing = [file.digest for file in model.files if not store.use(file.digest)]
    samples, seen = 0, set[str]()
    for line in read_manifest(store.path(plan.inputs_digest), plan.inputs_digest):
        samples += 1
        if samples > max_samples:
            raise _bad_manifest(plan.inputs_digest, samples, f"more than the {max_samples} samples this board takes")
        if line.sample_id in seen:
            raise _bad_manifest(plan.inputs_digest, samples, f"sample {line.sample_id!r} comes twice")
        seen.add(line.sample_id)
        missing += [digest for digest in line.digests if not store.use(digest)]
    if samples == 0:
        raise _bad_manifest(plan.inputs_digest, 1, "it holds no sample")
    if missing:
        raise _missing(sorted(set(missing)))
    return Checked(model, min(samples, plan.options.limit) if plan.options.HasField("limit") else samples)


def digests_of(plan: run_pb2.RunPlan, store: ArtifactStore) -> set[str]:
    """Return the digests of everything a checked plan needs, as far as what names them is still there.

    Raises InvalidArgument, DeclarationError if what names them cannot be read.
    """
    named = {plan.model_digest, plan.inputs_digest}
    with contextlib.suppress(NotFound):
        named |= {file.digest for file in parse_model(store.read(plan.model_digest)).files}
    with contextlib.suppress(NotFound):
        inputs = read_manifest(store.path(plan.inputs_digest), plan.inputs_digest)
        named |= {digest for line in inputs for digest in line.digests}
    return named


def read_manifest(path: Path, digest: str) -> Iterator[ManifestLine]:
    """Yield the samples of a manifest, one line at a time. Raises NotFound, InvalidArgument naming the line."""
    try:
        opened = path.open("rb")
    except FileNotFoundError:
        raise artifact_not_found(digest) from None
    with opened as file:
        for number, raw in enumerate(iter(lambda: file.readline(_LINE + 1), b""), 1):
            if len(raw) > _LINE:
                raise _bad_manifest(digest, number, f"longer than {_LINE} bytes: this is no line of a manifest")
            try:
                yield _manifest_line(json.loads(raw))
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
                raise _bad_manifest(digest, number, reason) from None


def _manifest_line(value: object) -> ManifestLine:
    if not isinstance(value, dict):
        raise TypeError("not a JSON object")
    _refuse_unknown(value, _KEYS)
    sample_id, attached = value["sample_id"], value.get("attachments", [])
    if not isinstance(sample_id, str) or not 1 <= len(sample_id) <= 256:
        raise ValueError("sample_id must be a string of 1 to 256 characters")
    sample_id.encode()  # half of a surrogate pair is JSON and no text
    if not isinstance(attached, list):
        raise TypeError("attachments must be a list")
    digests = (_digest(value["input"], "input"), *(_digest(entry, "attachments") for entry in attached))
    seconds, tokens = value.get("audio_seconds"), value.get("max_tokens")
    # True is an int.
    if seconds is not None and not (type(seconds) in (int, float) and 0 < seconds < 86400):
        raise ValueError("audio_seconds must be a positive number of seconds below a day")
    if tokens is not None and not (type(tokens) is int and 0 < tokens <= 1_000_000):
        raise ValueError("max_tokens must be a positive whole number")
    return ManifestLine(sample_id, digests, seconds, tokens)


def _digest(given: object, where: str) -> str:
    if not isinstance(given, dict):
        raise TypeError(f"{where} must hold digest, bytes and media_type")
    _refuse_unknown(given, _ARTIFACT_KEYS)
    digest = given["digest"]
    if not isinstance(digest, str) or not is_digest(digest):
        raise ValueError(f"{where}.digest must be 'sha256:' and 64 hex digits")
    return digest


def _refuse_unknown(given: dict[object, object], known: set[str]) -> None:
    if unknown := {str(key) for key in given} - known:
        raise ValueError(f"unknown keys: {', '.join(sorted(unknown))}")


def _check_model(plan: run_pb2.RunPlan, store: ArtifactStore, runtimes: list[str]) -> ModelDeclaration:
    try:
        model = parse_model(store.read(plan.model_digest))
    except DeclarationError as error:
        raise InvalidArgument("DECLARATION_INVALID", str(error), digest=plan.model_digest) from None
    if model.id != plan.model_id:
        raise invalid_field("plan.model_id", f"{plan.model_id[:80]!r}, but the declaration is of {model.id!r}")
    if model.unresolved:
        raise FailedPrecondition(
            "MODEL_NOT_PREPARED",
            f"the files of model {model.id} lie on a hub: prepare it, and name the digest that this gives",
            model=model.id,
        )
    if model.runtime not in runtimes:
        text = f"model {model.id} needs the runtime {model.runtime!r}: {missing(model.runtime, runtimes)}"
        raise FailedPrecondition("RUNTIME_UNKNOWN", text, runtime=model.runtime, available=", ".join(sorted(runtimes)))
    return model


def _missing(digests: list[str]) -> DaemonError:
    named = ", ".join(digests[:_NAMED])
    return FailedPrecondition(
        "ARTIFACT_MISSING",
        f"the board lacks {len(digests)} artifacts of this plan: push them first ({named})",
        digests=named,
        count=len(digests),
    )


def _bad_manifest(digest: str, number: int, reason: str) -> InvalidArgument:
    return InvalidArgument(
        "DECLARATION_INVALID",
        f"inputs manifest {digest}, line {number}: {reason}",
        digest=digest,
        line=number,
    )
