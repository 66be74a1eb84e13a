"""Whether a run is as its board signed it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from google.protobuf.message import DecodeError
from orinbench.v1.record_pb2 import Verdict
from orinbench.v1.run_pb2 import Run

from orinbench_client.bundles.native import NativeContent


@dataclass(frozen=True)
class Signature:
    """What can be said of a run's signature without knowing whom to trust.

    `key_id` is the key that signed it, empty where nobody did; `problem` says why the signature does not hold.
    """

    key_id: str = ""
    problem: str = ""


def check_signature(run: Run, content: NativeContent) -> Signature:
    """Check the board's signature over a run against all that the run and its records say (Ed25519, RFC 8032)."""
    finished = content.finished
    signed, signature = run.signed_verdict, run.signature
    if finished is not None and (finished.signed_verdict, finished.signature) != (signed, signature):
        return Signature(problem="run.json and the last record bear different signatures")
    if not signed and not signature:
        return Signature()
    try:
        verdict = Verdict.FromString(signed)
    except DecodeError:
        return Signature(problem="the signed verdict cannot be read")
    key = verdict.board_public_key
    key_id = "sha256:" + hashlib.sha256(key).hexdigest()
    if key_id != verdict.board_key_id or not _verified(key, signed, signature):
        return Signature(problem="it was not made by the key it names")
    different = _different(verdict, _verdict(run, content))
    if different:
        return Signature(key_id, f"the board signed another {', '.join(different)}")
    return Signature(key_id)


def _different(signed: Verdict, held: Verdict) -> list[str]:
    """Return the names of the fields in which two verdicts differ, the key apart."""
    # What a newer board says beside what we know is lost in run.json, and we do not rank by it.
    signed.DiscardUnknownFields()
    names = [field.name for field in Verdict.DESCRIPTOR.fields]
    compared = [name for name in names if name not in ("board_key_id", "board_public_key")]
    return [name.replace("_", " ") for name in compared if _only(signed, name) != _only(held, name)]


def _only(verdict: Verdict, name: str) -> bytes:
    """Return one field as bytes: the same for the same content within a process, NaN and all."""
    alone = Verdict()
    alone.CopyFrom(verdict)
    for field in Verdict.DESCRIPTOR.fields:
        if field.name != name:
            alone.ClearField(field.name)
    return alone.SerializeToString(deterministic=True)


def _verified(key: bytes, signed: bytes, signature: bytes) -> bool:
    # Imported here: nothing but bundles needs it.
    from nacl.exceptions import CryptoError
    from nacl.signing import VerifyKey

    try:
        VerifyKey(key).verify(signed, signature)
    except (CryptoError, ValueError):
        return False
    return True


def _verdict(run: Run, content: NativeContent) -> Verdict:
    """Return what the board must have signed, from what we hold: the records' digest is counted anew."""
    plan = run.plan
    return Verdict(
        run=run.name,
        state=run.state,
        record_digest=content.digest.value,
        record_count=content.digest.count,
        suite_id=plan.suite_id,
        suite_digest=plan.suite_digest,
        inputs_digest=plan.inputs_digest,
        model_id=plan.model_id,
        model_digest=plan.model_digest,
        hardware_profile=plan.hardware_profile,
        hardware_profile_digest=run.hardware_profile_digest,
        execution_contract_digest=run.execution_contract_digest,
        board=run.board,
        planned_samples=run.planned_samples,
        accepted_samples=run.accepted_samples,
        violations=run.violations,
        end_time=run.end_time if run.HasField("end_time") else None,
        memory=run.memory if run.HasField("memory") else None,
        telemetry=run.telemetry if run.HasField("telemetry") else None,
        model_facts=run.model_facts if run.HasField("model_facts") else None,
    )
