"""Models from a hub: the real client of the hub against a small hub over HTTP, in a daemon's own process for it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from orinbench.v1 import artifact_pb2 as pb
from orinbench.v1 import record_pb2, run_pb2
from orinbench_profiles import (
    ModelFile,
    canonical_declaration,
    canonical_json,
    digest_bytes,
    parse_model,
    resolve_model,
)

from tests.integration.harness import Daemon, Wire, connect, finished_of, reason_of
from tests.integration.hub import REVISION, TOKEN, Hub, Repository, serving

PREDICTIONS = b"".join(canonical_json({"sample_id": f"s-{i:05}", "text": "said"}) for i in range(2))
# The hub's client writes what it reads in pieces of ten MiB.
PIECE = 10 << 20
NUMBERS = itertools.count()


@dataclass(frozen=True)
class Published:
    """A model in a repository of its own: the files that are wanted, beside a copy for another framework, a
    checkpoint of its training and a card."""

    repository: str
    weights: bytes

    @property
    def files(self) -> dict[str, bytes]:
        return {"model.safetensors": self.weights, "predictions.jsonl": PREDICTIONS}

    @property
    def path(self) -> str:
        return f"{self.repository}/model.safetensors"

    def declaration(self, **changes: Any) -> bytes:
        """Its declaration, the files named by patterns."""
        source = {
            "kind": "huggingface",
            "repository": self.repository,
            "revision": REVISION,
            "include": ["*.jsonl", "model.safetensors"],
            **changes.pop("source", {}),
        }
        model = {"id": "small", "title": "S", "license": "MIT", "engine": "replay", "adapter": "none"}
        return canonical_json({**model, "dtype": "none", "warmup": 0, "source": source, **changes})


def named(path: str, data: bytes) -> dict[str, Any]:
    """A file of a declaration."""
    return {"path": path, "digest": digest_bytes(data), "bytes": len(data)}


def publish(hub: Hub, gated: bool = False, pieces: float = 0.2) -> Published:
    """Put a model that nobody has yet onto the hub."""
    published = Published(f"me/small-{next(NUMBERS)}", os.urandom(int(pieces * PIECE)))
    others = {"README.md": b"card", "flax_model.msgpack": b"twice", "checkpoint-9/old.jsonl": b"old"}
    hub.repositories[published.repository] = Repository({**published.files, **others}, gated=gated)
    return published


@contextmanager
def board(folder: Path, hub: Hub, settings: dict[str, Any] | None = None, **environment: str) -> Iterator[Daemon]:
    """A daemon that knows the hub's address."""
    daemon = Daemon(folder, **settings or {})
    daemon.start(HF_ENDPOINT=hub.url, **environment)
    try:
        yield daemon
    finally:
        daemon.close()


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """A hub."""
    with serving() as started:
        yield started


@pytest.fixture(scope="module")
def daemon(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon without a token of its own."""
    with board(tmp_path_factory.mktemp("d"), hub, HF_TOKEN="") as started:
        yield started


@pytest.fixture
def wire(daemon: Daemon) -> Iterator[Wire]:
    """A client of it."""
    with connect(daemon) as client:
        yield client


def prepare(wire: Wire, data: bytes, token: str = "") -> list[pb.PrepareModelResponse]:
    """Prepare a model to the end."""
    return list(wire.artifacts.PrepareModel(pb.PrepareModelRequest(declaration=data, hub_token=token)))


def refused(wire: Wire, data: bytes, token: str = "") -> tuple[str, str]:
    """Return reason and text of the error a preparation ends with: one line."""
    with pytest.raises(grpc.RpcError) as error:
        prepare(wire, data, token)
    call: Any = error.value
    assert "\n" not in call.details()
    return reason_of(error.value)[1], call.details()


@contextmanager
def stalled(hub: Hub, daemon: Daemon, wire: Wire, data: bytes, token: str = "") -> Iterator[tuple[Any, psutil.Process]]:
    """Begin to prepare a model whose weights stop coming in the middle: the call, and the process that fetches."""
    hub.stall["model.safetensors"] = PIECE + PIECE // 2
    call = wire.artifacts.PrepareModel(pb.PrepareModelRequest(declaration=data, hub_token=token))
    assert next(call).received_bytes == PIECE
    (child,) = psutil.Process(daemon.pid).children()
    try:
        yield call, child
    finally:
        hub.go.set()


def run(wire: Wire, model_digest: str) -> record_pb2.FinishedRecord:
    """Run a model over two inputs to its verdict, which must be good."""
    plan = wire.plan(2)
    plan.model_id, plan.model_digest = "small", model_digest
    finished = finished_of(list(wire.watch(wire.create(plan).name)))
    assert finished.state == record_pb2.RUN_STATE_SUCCEEDED, finished.failure
    return finished


def doubts(finished: record_pb2.FinishedRecord) -> list[str]:
    """Return what is said against the source of a run's model; it must void every axis."""
    found = [violation for violation in finished.violations if violation.reason == "SOURCE_REVISION_UNKNOWN"]
    assert all(len(violation.voids) == 4 for violation in found)
    return [violation.message for violation in found]


def test_a_model_is_fetched_once_and_its_record_says_what_was_loaded(hub: Hub, daemon: Daemon, wire: Wire) -> None:
    """The declaration that runs name holds the digests of what came; the run's record names repository and revision."""
    published = publish(hub)
    *progress, last = prepare(wire, published.declaration())
    asked = len(hub.asked)
    assert prepare(wire, published.declaration()) == [last]
    assert len(hub.asked) == asked

    received = [response.received_bytes for response in progress]
    assert received == sorted(received)
    assert received[-1] == progress[-1].total_bytes == sum(map(len, published.files.values()))
    model = parse_model(last.model_declaration)
    assert model.resolves == digest_bytes(published.declaration())
    assert last.model_digest == digest_bytes(last.model_declaration)
    assert [file.model_dump() for file in model.files] == [named(*file) for file in sorted(published.files.items())]
    digests = {last.model_digest, *(file.digest for file in model.files)}
    assert {artifact.digest for artifact in last.artifacts} == digests

    assert doubts(run(wire, last.model_digest)) == []
    facts = wire.runs.ListRuns(run_pb2.ListRunsRequest()).runs[0].model_facts
    assert (facts.source_repository, facts.source_revision) == (published.repository, REVISION)
    folder = digest_bytes(published.declaration()).removeprefix("sha256:")
    assert not (daemon.folder / "data/hub" / folder).exists()


def test_a_declaration_that_was_not_fetched_cannot_run(hub: Hub, wire: Wire) -> None:
    """A plan that names the declaration without digests is refused before it is queued."""
    plan = wire.plan(2)
    plan.model_id, plan.model_digest = "small", wire.put(publish(hub).declaration())
    with pytest.raises(grpc.RpcError) as error:
        wire.create(plan)
    assert reason_of(error.value)[1] == "MODEL_NOT_PREPARED"


def test_pushed_files_do_not_prove_where_they_come_from(hub: Hub, wire: Wire) -> None:
    """Until the board has checked the same bytes against the hub itself, every axis is void."""
    published = publish(hub)
    given = published.declaration()
    files = [ModelFile(**named(*file)) for file in sorted(published.files.items())]
    resolved = canonical_declaration(resolve_model(parse_model(given), digest_bytes(given), files))
    for data in (*published.files.values(), resolved):
        wire.put(data)
    (doubt,) = doubts(run(wire, digest_bytes(resolved)))
    assert f"did not fetch them from {published.repository} itself" in doubt

    assert prepare(wire, given)[-1].model_digest == digest_bytes(resolved)
    assert hub.ranges(published.path) == []
    assert doubts(run(wire, digest_bytes(resolved))) == []


@pytest.mark.parametrize("source", [{"kind": "packaged", "path": "demo"}, {"kind": "folder"}])
def test_other_sources_are_not_known(wire: Wire, source: dict[str, str]) -> None:
    """A folder has no revision, and a declaration that merely says that it comes with the package does not."""
    model = {"id": "small", "title": "S", "license": "MIT", "engine": "replay", "adapter": "none", "dtype": "none"}
    wire.put(PREDICTIONS)
    files = [named("predictions.jsonl", PREDICTIONS)]
    assert doubts(run(wire, wire.put(canonical_json({**model, "warmup": 0, "source": source, "files": files}))))


def test_a_broken_link_is_taken_up_in_the_middle(hub: Hub, wire: Wire) -> None:
    """When the connection ends inside a file, the rest of it is asked for and no more."""
    published = publish(hub, pieces=2)
    hub.cut["model.safetensors"] = PIECE + PIECE // 2
    assert prepare(wire, published.declaration())[-1].done
    assert hub.ranges(published.path) == ["all", f"bytes={PIECE}-"]


def test_a_client_that_leaves_ends_the_download_and_the_next_goes_on(hub: Hub, daemon: Daemon, wire: Wire) -> None:
    """The process that talks to the hub is gone with the client; the bytes it left are not fetched again."""
    published = publish(hub, pieces=2)
    folder = daemon.folder / "data/hub" / digest_bytes(published.declaration())[7:]
    with stalled(hub, daemon, wire, published.declaration()) as (call, child):
        call.cancel()
        child.wait(60)
        kept = (folder / f".{sha256(published.weights).hexdigest()}.part").stat().st_size
    assert kept == PIECE
    assert prepare(wire, published.declaration())[-1].done
    assert hub.ranges(published.path)[1:] == [f"bytes={PIECE}-"]


def test_a_killed_daemon_goes_on_too(hub: Hub, folder: Path) -> None:
    """After SIGKILL in the middle of a file the next daemon has the rest fetched, with the token of its own."""
    published = publish(hub, gated=True, pieces=4)
    with board(folder, hub) as daemon:
        with connect(daemon) as wire, stalled(hub, daemon, wire, published.declaration(), TOKEN) as (_, orphan):
            daemon.kill()
        # Nobody reads what the orphan says, so it ends when the hub goes on.
        orphan.wait(60)
        daemon.start(HF_ENDPOINT=hub.url, HF_TOKEN=TOKEN)
        with connect(daemon) as wire:
            artifacts = prepare(wire, published.declaration())[-1].artifacts
        assert digest_bytes(published.weights) in {artifact.digest for artifact in artifacts}
        assert "all" not in hub.ranges(published.path)[1:]
        assert TOKEN not in daemon.log


def test_wrong_bytes_are_refused_and_forgotten(hub: Hub, wire: Wire) -> None:
    """Bytes that are not what the hub states are named and removed, for a large and for a small file."""
    published = publish(hub)
    for path, right in published.files.items():
        hub.instead[path] = bytes(len(right))
        reason, text = refused(wire, published.declaration())
        assert reason == "DIGEST_MISMATCH"
        assert f"{path} of {published.repository} at {REVISION}" in text
    assert prepare(wire, published.declaration())[-1].done


def test_a_declared_digest_holds(hub: Hub, wire: Wire) -> None:
    """A declaration that names digests itself is run as it is; where the hub has other bytes it is refused."""
    published = publish(hub)
    right = [named(*file) for file in published.files.items()]
    for file in right:
        wrong = [{**each, "digest": digest_bytes(b"other")} if each is file else each for each in right]
        reason, text = refused(wire, published.declaration(source={"include": []}, files=wrong))
        assert reason == "DIGEST_MISMATCH"
        assert f"{file['path']} of {published.repository}" in text
        assert "the declaration says" in text
    pinned = published.declaration(source={"include": []}, files=right)
    assert prepare(wire, pinned)[-1].model_digest == digest_bytes(pinned)


def test_what_the_hub_does_not_have(hub: Hub, wire: Wire) -> None:
    """No such repository, revision or file, or a gated one without a token, is one line that says which."""
    published, gated = publish(hub), publish(hub, gated=True)
    for source, reason, text in (
        ({"repository": "me/nothing"}, "HUB_NOT_FOUND", "there is no model me/nothing"),
        ({"revision": "0" * 40}, "HUB_NOT_FOUND", f"{published.repository} has no revision {'0' * 40}"),
        ({"include": ["vocab.json", "*.jsonl"]}, "HUB_NOT_FOUND", "has no vocab.json; it has: README.md"),
        ({"include": ["*.onnx"]}, "HUB_NOT_FOUND", "has no *.onnx"),
        ({"repository": gated.repository}, "HUB_DENIED", "accept its conditions on the hub; no token was given"),
    ):
        found = refused(wire, published.declaration(source=source))
        assert found[0] == reason
        assert text in found[1]


def test_a_token_opens_a_gated_repository_and_is_seen_nowhere(hub: Hub, daemon: Daemon, wire: Wire) -> None:
    """The token reaches the hub alone: not its file store, a command line, an environment, the log or the disk."""
    gated = publish(hub, gated=True, pieces=2).declaration()
    wrong = refused(wire, gated, token="hf_wrong")
    assert wrong[0] == "HUB_DENIED"
    assert "the token given may not read it" in wrong[1]
    with stalled(hub, daemon, wire, gated, TOKEN) as (call, child):
        for process in (child, psutil.Process(daemon.pid)):
            assert TOKEN not in " ".join(process.cmdline())
            assert TOKEN not in Path(f"/proc/{process.pid}/environ").read_text()
    assert list(call)[-1].done

    sent = [path for _, path, headers in hub.asked if TOKEN in headers.get("authorization", "")]
    assert sent
    assert not [path for path in sent if path.startswith("/bytes/")]
    assert TOKEN not in daemon.log
    for path in (daemon.folder / "data").rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path


def test_without_a_network(hub: Hub, folder: Path) -> None:
    """A hub that cannot be reached is one line; what the board has is given without asking."""
    published = publish(hub)
    with board(folder, hub) as daemon:
        with connect(daemon) as wire:
            last = prepare(wire, published.declaration())[-1]
        daemon.stop()
        daemon.start(HF_ENDPOINT="http://127.0.0.1:9")
        with connect(daemon) as wire:
            assert prepare(wire, published.declaration()) == [last]
            reason, text = refused(wire, published.declaration(id="other"))
    assert reason == "HUB_UNREACHABLE"
    assert text.startswith("http://127.0.0.1:9 cannot be reached")


def test_without_room_or_a_client_of_the_hub(hub: Hub, folder: Path) -> None:
    """A file larger than the board takes is told, and so is what to install where huggingface_hub is not."""
    published = publish(hub)
    blocked = folder / "blocked" / "huggingface_hub"
    blocked.mkdir(parents=True)
    path = os.pathsep.join([str(blocked.parent), os.environ.get("PYTHONPATH", "")])
    with board(folder, hub, {"limits": {"artifact_gib": 0.001}}, PYTHONPATH=path) as daemon, connect(daemon) as wire:
        reason, text = refused(wire, published.declaration())
        assert reason == "TOO_LARGE"
        assert str(len(published.weights)) in text
        (blocked / "__init__.py").write_text("raise ImportError('not here')")
        reason, text = refused(wire, published.declaration())
        assert reason == "HUB_CLIENT_MISSING"
        assert "pip install 'orinbench[prepare]'" in text


def test_a_model_without_a_hub_is_pushed(wire: Wire) -> None:
    """What does not lie on a hub, or is no declaration, is refused by field and by key."""
    model = {"id": "small", "title": "S", "license": "MIT", "engine": "replay", "adapter": "none", "dtype": "none"}
    assert refused(wire, canonical_json(model))[0] == "FIELD_INVALID"
    reason, text = refused(wire, b'{"id":"x"}\n')
    assert reason == "DECLARATION_INVALID"
    assert "title" in text


def test_a_deleted_file_is_fetched_again(hub: Hub, wire: Wire) -> None:
    """An artifact that was deleted comes back by preparing the model again."""
    published = publish(hub)
    prepare(wire, published.declaration())
    wire.artifacts.DeleteArtifact(pb.DeleteArtifactRequest(digest=digest_bytes(published.weights)))
    artifacts = prepare(wire, published.declaration())[-1].artifacts
    assert digest_bytes(published.weights) in {artifact.digest for artifact in artifacts}
    assert hub.ranges(published.path) == ["all", "all"]
