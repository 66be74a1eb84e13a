"""Artifacts over the wire: by digest, resumable, verified, deleted only when nobody needs them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from orinbench.v1 import artifact_pb2 as pb
from orinbench.v1 import run_pb2
from orinbench_profiles import canonical_json, digest_bytes

from tests.integration.harness import Daemon, Wire, connect, reason_of, running, samples_of


def messages(
    data: bytes, digest: str, size: int, offset: int = 0, chunk: int = 1 << 18
) -> Iterator[pb.PutArtifactRequest]:
    """An upload as a client sends it."""
    yield pb.PutArtifactRequest(header=pb.PutArtifactHeader(digest=digest, size_bytes=size, offset=offset))
    for start in range(0, len(data), chunk):
        yield pb.PutArtifactRequest(chunk=data[start : start + chunk])


def has(wire: Wire, digest: str) -> pb.HasArtifactsResponse:
    """Ask for one artifact."""
    return wire.artifacts.HasArtifacts(pb.HasArtifactsRequest(digests=[digest]))


def test_a_broken_upload_goes_on_where_it_stopped(wire: Wire) -> None:
    """After a link that broke half-way the client sends the rest only, and the artifact is whole."""
    data = os.urandom(3 << 20)
    digest = digest_bytes(data)
    with pytest.raises(grpc.RpcError):
        wire.artifacts.PutArtifact(messages(data[: 1 << 20], digest, len(data)))

    (missing,) = has(wire, digest).missing
    assert missing.received_bytes == 1 << 20
    rest = messages(data[missing.received_bytes :], digest, len(data), missing.received_bytes)
    assert wire.artifacts.PutArtifact(rest).artifact.size_bytes == len(data)
    assert not has(wire, digest).missing


def test_a_begun_upload_survives_a_restart(folder: Path) -> None:
    """What was received before a SIGKILL counts after it."""
    data = os.urandom(1 << 20)
    digest = digest_bytes(data)
    with running(folder) as daemon:
        with connect(daemon) as wire, pytest.raises(grpc.RpcError):
            wire.artifacts.PutArtifact(messages(data[:500_000], digest, len(data)))
        daemon.kill()
        daemon.start()
        with connect(daemon) as wire:
            kept = has(wire, digest).missing[0].received_bytes
            assert 0 < kept <= 500_000
            wire.artifacts.PutArtifact(messages(data[kept:], digest, len(data), kept))
            assert not has(wire, digest).missing


def test_wrong_bytes_are_refused_and_forgotten(wire: Wire, daemon: Daemon) -> None:
    """Bytes that are not what the digest says leave nothing behind."""
    digest = digest_bytes(b"right")
    with pytest.raises(grpc.RpcError) as error:
        wire.artifacts.PutArtifact(messages(b"wrong", digest, 5))
    code, reason, metadata = reason_of(error.value)
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "DIGEST_MISMATCH")
    assert metadata["found"] == "sha256:" + hashlib.sha256(b"wrong").hexdigest()
    assert has(wire, digest).missing[0].received_bytes == 0
    assert not list((daemon.folder / "data/uploads").iterdir())


@pytest.mark.parametrize(
    "digest", ["", "sha256:../../../../etc/passwd", "sha256:" + "A" * 64, "md5:" + "0" * 32, "sha256:" + "0" * 63]
)
def test_names_that_are_no_digest_never_reach_the_disk(wire: Wire, digest: str) -> None:
    """Anything but a digest is refused in every call that takes one."""
    for call in (
        lambda: has(wire, digest),
        lambda: wire.artifacts.PutArtifact(messages(b"", digest, 0)),
        lambda: wire.artifacts.DeleteArtifact(pb.DeleteArtifactRequest(digest=digest)),
    ):
        with pytest.raises(grpc.RpcError) as error:
            call()
        assert reason_of(error.value)[1] == "FIELD_INVALID"


def test_more_bytes_than_announced_are_refused(wire: Wire) -> None:
    """An upload longer than its header says ends as a mismatch, however long it would go on."""
    digest = digest_bytes(b"x" * 10)
    with pytest.raises(grpc.RpcError) as error:
        wire.artifacts.PutArtifact(messages(b"x" * 1000, digest, 10, chunk=7))
    assert reason_of(error.value)[1] == "DIGEST_MISMATCH"


def test_an_artifact_over_the_limit_is_refused_before_it_is_sent(folder: Path) -> None:
    """The limit of the configuration holds for the announced size."""
    with running(folder, limits={"artifact_gib": 0.001}) as daemon, connect(daemon) as wire:
        with pytest.raises(grpc.RpcError) as error:
            wire.artifacts.PutArtifact(messages(b"", digest_bytes(b"big"), 1 << 30))
        assert reason_of(error.value)[1] == "TOO_LARGE"


def test_eight_uploads_of_one_artifact_at_once(wire: Wire) -> None:
    """Racing uploads of the same bytes all succeed and leave one artifact."""
    data = os.urandom(1 << 20)
    with ThreadPoolExecutor(8) as pool:
        digests = set(pool.map(lambda _: wire.put(data), range(8)))
    assert digests == {digest_bytes(data)}
    listed = wire.artifacts.ListArtifacts(pb.ListArtifactsRequest()).artifacts
    assert [artifact.digest for artifact in listed] == [digest_bytes(data)]


def test_an_artifact_in_use_is_not_deleted(wire: Wire) -> None:
    """What a queued or active run needs stays until the run has ended."""
    run = wire.create(wire.plan(1000, delay_ms=20))
    needed = run.plan.inputs_digest
    with pytest.raises(grpc.RpcError) as error:
        wire.artifacts.DeleteArtifact(pb.DeleteArtifactRequest(digest=needed))
    assert reason_of(error.value)[1:] == ("ARTIFACT_IN_USE", {"digest": needed, "run": run.name})

    wire.runs.CancelRun(run_pb2.CancelRunRequest(name=run.name))
    list(wire.watch(run.name))
    wire.artifacts.DeleteArtifact(pb.DeleteArtifactRequest(digest=needed))
    assert has(wire, needed).missing


def test_attachments_are_needed_and_protected_as_inputs_are(wire: Wire) -> None:
    """A plan is refused while an attachment is missing; with it the run is made, and it stays while needed."""
    plan, shared = wire.plan(1000, delay_ms=20), b"audio that all samples share"
    text = {"digest": wire.put(b"nothing"), "bytes": 7, "media_type": "text/plain"}
    attached = {"digest": digest_bytes(shared), "bytes": len(shared), "media_type": "audio/wav"}
    lines = (canonical_json({"sample_id": str(i), "input": text, "attachments": [attached]}) for i in range(1000))
    plan.inputs_digest = wire.put(b"".join(lines))

    with pytest.raises(grpc.RpcError) as refused:
        wire.create(plan)
    assert reason_of(refused.value)[1:] == ("ARTIFACT_MISSING", {"digests": attached["digest"], "count": "1"})

    wire.put(shared)
    run = wire.create(plan)
    assert len(samples_of(wire.until_sample(run.name, 0))) >= 1
    with pytest.raises(grpc.RpcError) as in_use:
        wire.artifacts.DeleteArtifact(pb.DeleteArtifactRequest(digest=digest_bytes(shared)))
    assert reason_of(in_use.value)[1] == "ARTIFACT_IN_USE"


def test_artifacts_are_listed_in_pages(wire: Wire) -> None:
    """Following the tokens gives every artifact once."""
    put = {wire.put(bytes([i])) for i in range(7)}
    found, token = [], ""
    while True:
        page = wire.artifacts.ListArtifacts(pb.ListArtifactsRequest(page_size=3, page_token=token))
        found += [artifact.digest for artifact in page.artifacts]
        token = page.next_page_token
        if not token:
            break
    assert sorted(found) == sorted(put)
