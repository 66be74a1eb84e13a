"""Tokens and what their bearers may do, at the TCP door of a running daemon."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from orinbench.v1 import artifact_pb2, board_pb2, run_pb2
from orinbench_profiles import digest_bytes
from orinbenchd.doors.tokens import TokenFile
from orinbenchd.start_error import StartError

from tests.integration.harness import Daemon, Wire, connect, make_tokens, reason_of, running


def orinbenchd(daemon: Daemon, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the daemon's program with its configuration."""
    command = [sys.executable, "-m", "orinbenchd", "--config", str(daemon.config), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture
def tokens(folder: Path) -> dict[str, str]:
    """A token for each role."""
    return make_tokens(folder)


@pytest.fixture
def daemon(folder: Path, tokens: dict[str, str]) -> Iterator[Daemon]:
    """A daemon with a TCP door and small limits for each caller."""
    limits = {"queue_per_submitter": 2, "streams_per_caller": 2, "upload_silence_s": 0.5}
    with running(folder, tcp="127.0.0.1:0", limits=limits) as started:
        yield started


def target(daemon: Daemon) -> str:
    """The address of its TCP door."""
    return f"127.0.0.1:{daemon.ready['tcp_port']}"


def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    """Make a call that must fail; return code and reason."""
    with pytest.raises(grpc.RpcError) as error:
        call()
    return reason_of(error.value)[:2]


def test_a_token_works_at_once_until_it_is_revoked(daemon: Daemon) -> None:
    """Made, listed without its secret, used without a restart, revoked with its open stream; kept as a hash alone."""
    made = orinbenchd(daemon, "token", "create", "--name", "ci", "--role", "submit")
    token = made.stdout.strip()
    assert (made.returncode, len(token)) == (0, 43)
    file = daemon.folder / "data" / "tokens.json"
    assert file.stat().st_mode & 0o777 == 0o600
    listed = orinbenchd(daemon, "token", "list").stdout
    assert "ci  submit  " in listed
    assert token not in listed + file.read_text()

    with Wire(target(daemon), token) as wire:
        run = wire.create(wire.plan(1000, delay_ms=20))
        assert run.submitter == "ci"
        stream = wire.runs.WatchRun(run_pb2.WatchRunRequest(name=run.name))
        next(stream)
        assert orinbenchd(daemon, "token", "revoke", "ci").returncode == 0
        assert refused(lambda: wire.get(run.name)) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID")
        assert refused(lambda: list(stream)) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID")
    assert token not in daemon.log


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda file: file.create("watch", "admin"), "there is one of this name"),
        (lambda file: file.create("local", "watch"), "stands for somebody else"),
        (lambda file: file.create("a b", "watch"), "a name has 1 to 64 of"),
        (lambda file: file.create("x\n", "watch"), "a name has 1 to 64 of"),
        (lambda file: file.revoke("who"), "there is none of this name (there are: watch, submit, admin)"),
    ],
)
def test_a_wrong_change_leaves_the_tokens_as_they_are(
    folder: Path, tokens: dict[str, str], change: Callable[[TokenFile], object], wanted: str
) -> None:
    """A name that is taken, reserved, odd or unknown is refused in words, and the file is not touched."""
    file = TokenFile(folder / "data")
    before = (folder / "data" / "tokens.json").read_bytes()
    with pytest.raises(StartError, match=re.escape(wanted)):
        change(file)

    assert (folder / "data" / "tokens.json").read_bytes() == before
    assert all(file.find(token) is not None for token in tokens.values())


def test_a_damaged_token_file_lets_nobody_in(daemon: Daemon, tokens: dict[str, str]) -> None:
    """A file that cannot be read admits no one, is said in the log, and the Unix socket still answers."""
    (daemon.folder / "data" / "tokens.json").write_text('{"tokens": [{"name": 1}]}')
    with Wire(target(daemon), tokens["admin"]) as wire, connect(daemon) as local:
        assert refused(lambda: wire.get("runs/a"))[1] == "TOKEN_INVALID"
        assert local.board.GetBoard(board_pb2.GetBoardRequest()).board.key_id
    assert "no token is taken" in daemon.log
    assert orinbenchd(daemon, "token", "list").returncode == 78


def test_tokens_made_at_the_same_time_are_all_kept(daemon: Daemon) -> None:
    """Commands that run at once wait for each other."""
    command = [sys.executable, "-m", "orinbenchd", "--config", str(daemon.config), "token", "create", "--name"]
    silent = subprocess.DEVNULL
    started = [subprocess.Popen([*command, name], stdout=silent, stderr=silent) for name in ("ta", "tb", "tc")]
    assert [process.wait(30) for process in started] == [0, 0, 0]
    names = {token["name"] for token in json.loads((daemon.folder / "data" / "tokens.json").read_text())["tokens"]}
    assert {"ta", "tb", "tc"} <= names


def test_a_submitter_stops_only_their_own_runs(daemon: Daemon, tokens: dict[str, str]) -> None:
    """Somebody else's run is refused to cancel and to resume; its submitter and an admin may."""
    with connect(daemon) as local, Wire(target(daemon), tokens["submit"]) as wire:
        theirs = local.create(local.plan(1000, delay_ms=20))
        own = wire.create(wire.plan(1000, delay_ms=20))
        cancel = run_pb2.CancelRunRequest
        for call in (
            lambda: wire.runs.CancelRun(cancel(name=theirs.name)),
            lambda: wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=theirs.name)),
        ):
            assert refused(call) == (grpc.StatusCode.PERMISSION_DENIED, "ROLE_INSUFFICIENT")
        assert wire.runs.CancelRun(cancel(name=own.name)).run.name == own.name
        with Wire(target(daemon), tokens["admin"]) as admin:
            admin.runs.CancelRun(cancel(name=theirs.name))


def test_one_caller_cannot_take_all_places(daemon: Daemon, tokens: dict[str, str]) -> None:
    """Runs and streams of one token are bounded; others and the operator go on; a repeated request is no new run."""
    with connect(daemon) as local, Wire(target(daemon), tokens["submit"]) as wire:
        plan = local.plan(1000, delay_ms=20)
        first = wire.create(plan, "r-1")
        wire.create(plan, "r-2")
        assert refused(lambda: wire.create(plan, "r-3")) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
        assert wire.create(plan, "r-1").name == first.name
        local.create(plan, "r-4")
        request = run_pb2.WatchRunRequest(name=first.name)
        streams = [wire.runs.WatchRun(request) for _ in range(2)]
        for stream in streams:
            next(stream)
        assert refused(lambda: next(wire.runs.WatchRun(request))) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "TOO_MANY_WATCHERS",
        )
        next(local.runs.WatchRun(request))


def test_a_silent_upload_is_ended_and_kept(daemon: Daemon, tokens: dict[str, str]) -> None:
    """An upload that sends nothing more loses its place after a while; what came can be gone on with."""
    digest = "sha256:" + "0" * 64
    header = artifact_pb2.PutArtifactRequest(header=artifact_pb2.PutArtifactHeader(digest=digest, size_bytes=100))
    with Wire(target(daemon), tokens["submit"]) as wire:
        hold = threading.Event()

        def messages() -> Iterator[artifact_pb2.PutArtifactRequest]:
            yield header
            yield artifact_pb2.PutArtifactRequest(chunk=b"half")
            hold.wait(30)

        assert refused(lambda: wire.artifacts.PutArtifact(messages())) == (
            grpc.StatusCode.UNAVAILABLE,
            "UPLOAD_STALLED",
        )
        hold.set()
        missing = wire.artifacts.HasArtifacts(artifact_pb2.HasArtifactsRequest(digests=[digest])).missing
        assert [(artifact.digest, artifact.received_bytes) for artifact in missing] == [(digest, 4)]


def test_an_upload_ends_with_its_token(daemon: Daemon) -> None:
    """Of somebody whose token is revoked in mid-upload nothing more is taken, and the artifact never comes to be."""
    token = orinbenchd(daemon, "token", "create", "--name", "ci", "--role", "submit").stdout.strip()
    half = bytes(1 << 18)
    digest = digest_bytes(half + half)
    header = artifact_pb2.PutArtifactHeader(digest=digest, size_bytes=2 * len(half))

    def received() -> int:
        request = artifact_pb2.HasArtifactsRequest(digests=[digest])
        (missing,) = local.artifacts.HasArtifacts(request).missing
        return int(missing.received_bytes)

    def messages() -> Iterator[artifact_pb2.PutArtifactRequest]:
        yield artifact_pb2.PutArtifactRequest(header=header)
        yield artifact_pb2.PutArtifactRequest(chunk=half)
        while received() < len(half):
            pass
        TokenFile(daemon.folder / "data").revoke("ci")
        yield artifact_pb2.PutArtifactRequest(chunk=half)

    with Wire(target(daemon), token) as wire, connect(daemon) as local:
        assert refused(lambda: wire.artifacts.PutArtifact(messages())) == (
            grpc.StatusCode.UNAUTHENTICATED,
            "TOKEN_INVALID",
        )
        assert received() == len(half)


def test_the_audit_log_tells_who_did_what(daemon: Daemon, tokens: dict[str, str]) -> None:
    """Changes and refusals are there with name, role, peer and subject; readings are not; no token is anywhere."""
    with Wire(target(daemon), tokens["submit"]) as wire:
        run = wire.create(wire.plan(1000, delay_ms=20))
        wire.get(run.name)
        wire.runs.CancelRun(run_pb2.CancelRunRequest(name=run.name))
        refused(lambda: wire.artifacts.DeleteArtifact(artifact_pb2.DeleteArtifactRequest(digest="sha256:1")))
        refused(lambda: wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name="runs/none")))
    with Wire(target(daemon), "guess") as stranger:
        refused(lambda: stranger.get(run.name))
    daemon.stop()

    lines = [json.loads(line) for line in daemon.log.splitlines() if '"channel": "audit"' in line]
    seen = {(line["action"], line["outcome"], line["reason"], line["caller"], line["on"]) for line in lines}
    assert {
        ("CreateRun", "done", "", "submit", run.name),
        ("CancelRun", "done", "", "submit", run.name),
        ("DeleteArtifact", "refused", "ROLE_INSUFFICIENT", "submit", ""),
        ("ResumeRun", "failed", "RUN_NOT_FOUND", "submit", "runs/none"),
        ("GetRun", "refused", "TOKEN_INVALID", "nobody", ""),
    } <= seen
    assert {line["action"] for line in lines if line["outcome"] == "done"} == {"CreateRun", "CancelRun", "PutArtifact"}
    assert all(line["peer"].startswith("ipv4:127.0.0.1:") and line["time"] for line in lines)
    for token in (*tokens.values(), "guess"):
        assert token not in daemon.log
