"""Who gets in, and what a start that cannot work says."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from orinbench.v1 import artifact_pb2, board_pb2, run_pb2
from orinbenchd.doors.roles import ORDER, ROLES
from orinbenchd.doors.tokens import TokenFile

from tests.integration.harness import Daemon, Wire, connect, make_tokens, reason_of, running, to_toml


def start_failure(folder: Path, text: str) -> str:
    """Start a daemon that cannot start; return its one line."""
    config = folder / "bad.toml"
    config.write_text(text)
    command = [sys.executable, "-m", "orinbenchd", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 78
    lines = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert len(lines) == 1, done.stderr
    assert done.stdout == ""
    return lines[0]


GOOD = {"data_dir": "data", "socket": "d.sock"}
CLIENT = {"name": "ci", "role": "submit"}


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"telemetry_intervall_s": 1}, "unknown key 'telemetry_intervall_s': did you mean 'telemetry_interval_s'?"),
        ({"limits": {"queue_lenght": 3}}, "unknown key 'limits.queue_lenght': did you mean 'queue_length'?"),
        ({"telemetry_interval_s": "fast"}, "telemetry_interval_s"),
        ({"profile": "agx-orin-32gb-max"}, "no hardware profile is called 'agx-orin-32gb-max'"),
        ({"tcp": "0.0.0.0:50061"}, "0.0.0.0 is not a loopback address, so it needs TLS"),
        ({"tcp": "board.lab:50061"}, "so it needs TLS"),
        ({"tcp": ":50061"}, "not host:port"),
        ({"tcp": "127.0.0.1:50061"}, "nobody could come in: make a token with 'orinbenchd token create"),
        ({"tls": {"certificate": "c", "key": "k"}}, "tls: is of the TCP door only"),
        ({"tcp": "[::]:1", "tls": {"certificate": "c", "key": "k", "clients": [CLIENT]}}, "set client_ca"),
        ({"tcp": "[::]:1", "tls": {"certifikate": "c", "key": "k"}}, "did you mean 'certificate'?"),
        ({"tcp": "localhost"}, "not host:port"),
        ({"runtimes": {"nemo": {"python": "/usr/bin/python3"}}}, "'default'"),
        ({"isolation": "full"}, "isolation: Input should be 'none', 'network' or 'sandbox'"),
        ({"socket": "x" * 120}, "107 bytes"),
        ({"socket": "", "tcp": ""}, "tcp"),
    ],
)
def test_a_wrong_configuration_is_named(folder: Path, change: dict[str, Any], wanted: str) -> None:
    """A mistake in the file gives one line that names it, and exit code 78."""
    assert wanted in start_failure(folder, to_toml(GOOD | change))


def test_broken_toml_and_a_missing_file_are_named(folder: Path) -> None:
    """The line tells the file and what is wrong with it."""
    assert "not valid TOML" in start_failure(folder, "data_dir = ")
    command = [sys.executable, "-m", "orinbenchd", "--config", str(folder / "none.toml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (78, 1)
    assert "cannot be read" in done.stderr


def test_a_taken_port_and_a_taken_socket_are_named(daemon: Daemon, folder: Path) -> None:
    """The daemon does not start beside whoever has its address, and leaves them alone."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        TokenFile(folder / "other").create("a", "watch")
        text = to_toml({"data_dir": "other", "socket": "e.sock", "tcp": address})
        assert f"cannot listen on {address}" in start_failure(folder, text)
    assert "another daemon listens there" in start_failure(folder, to_toml(GOOD | {"data_dir": "other"}))
    with connect(daemon) as wire:
        assert wire.board.GetBoard(board_pb2.GetBoardRequest()).board.state == board_pb2.BOARD_STATE_IDLE


def test_a_data_directory_that_cannot_be_written_is_named(folder: Path) -> None:
    """A path below a file cannot become a folder: one line, exit code 78."""
    (folder / "file").write_text("")
    assert "cannot be written" in start_failure(folder, to_toml(GOOD | {"data_dir": "file/data"}))


def test_a_journal_of_a_newer_daemon_is_refused(folder: Path) -> None:
    """A journal with a schema from the future is left as it is."""
    (folder / "data").mkdir()
    journal = folder / "data" / "journal.sqlite"
    with sqlite3.connect(journal) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = journal.read_bytes()

    assert "newer daemon" in start_failure(folder, to_toml(GOOD))
    assert journal.read_bytes() == before


@pytest.fixture
def tokens(folder: Path) -> dict[str, str]:
    """A token for each role."""
    return make_tokens(folder)


@pytest.fixture
def tcp(folder: Path, tokens: dict[str, str]) -> Iterator[str]:
    """The TCP door of a daemon."""
    with running(folder, tcp="127.0.0.1:0") as daemon:
        yield f"127.0.0.1:{daemon.ready['tcp_port']}"


CALLS: dict[str, Any] = {
    "RunService/CreateRun": run_pb2.CreateRunRequest(),
    "RunService/GetRun": run_pb2.GetRunRequest(),
    "RunService/ListRuns": run_pb2.ListRunsRequest(),
    "RunService/CancelRun": run_pb2.CancelRunRequest(),
    "RunService/ResumeRun": run_pb2.ResumeRunRequest(),
    "RunService/WatchRun": run_pb2.WatchRunRequest(),
    "RunService/ListRecords": run_pb2.ListRecordsRequest(),
    "BoardService/GetBoard": board_pb2.GetBoardRequest(),
    "BoardService/CheckBoard": board_pb2.CheckBoardRequest(),
    "BoardService/WatchTelemetry": board_pb2.WatchTelemetryRequest(interval_s=-1),
    "ArtifactService/HasArtifacts": artifact_pb2.HasArtifactsRequest(),
    "ArtifactService/PutArtifact": artifact_pb2.PutArtifactRequest(),
    "ArtifactService/PrepareModel": artifact_pb2.PrepareModelRequest(),
    "ArtifactService/ListArtifacts": artifact_pb2.ListArtifactsRequest(),
    "ArtifactService/DeleteArtifact": artifact_pb2.DeleteArtifactRequest(),
}


def call(wire: Wire, method: str, token: str | None) -> grpc.StatusCode:
    """Make a call with a token; return its status."""
    metadata = [("authorization", f"Bearer {token}")] if token else []
    path = f"/orinbench.v1.{method}"
    data = CALLS[method].SerializeToString()
    kinds = {"WatchRun": "unary_stream", "WatchTelemetry": "unary_stream", "PrepareModel": "unary_stream"}
    kind = kinds.get(method.partition("/")[2], "stream_unary" if method.endswith("PutArtifact") else "unary_unary")
    stub = getattr(wire.channel, kind)(path, None, None)
    try:
        answer = stub(iter([data]) if kind == "stream_unary" else data, metadata=metadata, timeout=10)
        if kind == "unary_stream":
            list(answer)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def test_every_method_of_the_surface_has_a_role() -> None:
    """A method that the protos have and the table lacks, or the other way round, fails here."""
    services = [
        service
        for module in (run_pb2, board_pb2, artifact_pb2)
        for service in module.DESCRIPTOR.services_by_name.values()
    ]
    assert {f"/{service.full_name}/{method.name}" for service in services for method in service.methods} == set(ROLES)


def test_every_method_has_its_role_at_the_tcp_door(tcp: str, tokens: dict[str, str]) -> None:
    """Every method × no token, a wrong token, and each role: refused below its role, answered from it on."""
    assert {f"/orinbench.v1.{method}" for method in CALLS} == set(ROLES)
    refused = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
    with Wire(tcp) as wire:
        for method in CALLS:
            assert call(wire, method, None) == grpc.StatusCode.UNAUTHENTICATED
            assert call(wire, method, tokens["admin"][:-1]) == grpc.StatusCode.UNAUTHENTICATED
            for role in ORDER:
                enough = ORDER.index(role) >= ORDER.index(ROLES[f"/orinbench.v1.{method}"])
                status = call(wire, method, tokens[role])
                assert (status not in refused) == enough, (method, role, status)
                assert status != grpc.StatusCode.INTERNAL, method


def test_a_wrong_token_says_what_to_do(tcp: str) -> None:
    """The error has the reason and tells the variable; the token itself is nowhere in it."""
    with Wire(tcp) as wire, pytest.raises(grpc.RpcError) as error:
        wire.runs.ListRuns(run_pb2.ListRunsRequest(), metadata=(("authorization", "Bearer s3cret"),))
    assert reason_of(error.value)[1] == "TOKEN_INVALID"
    assert "ORINBENCH_TOKEN" in (error.value.details() or "")
    assert "s3cret" not in str(error.value)


def test_health_and_reflection_answer_without_a_token(tcp: str) -> None:
    """Monitors and grpcurl can see that the daemon serves, and which services it has."""
    with grpc.insecure_channel(tcp) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", "orinbench.v1.RunService"):
            answer = health.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
            watch = health.Watch(health_pb2.HealthCheckRequest(service=service))
            assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
            watch.cancel()
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        (listed,) = list(stub.ServerReflectionInfo(iter([request])))
    names = {service.name for service in listed.list_services_response.service}
    assert {"orinbench.v1.RunService", "orinbench.v1.BoardService", "orinbench.v1.ArtifactService"} <= names


def test_the_socket_is_for_owner_and_group_only(daemon: Daemon) -> None:
    """Nobody else can connect to the Unix socket, and it is gone after the stop."""
    assert daemon.socket.stat().st_mode & 0o777 == 0o660
    daemon.stop()
    assert not daemon.socket.exists()


def test_an_older_client_is_told_what_is_missing(wire: Wire) -> None:
    """A client of an API revision that is not understood any more is refused with both numbers."""
    with pytest.raises(grpc.RpcError) as error:
        wire.runs.ListRuns(run_pb2.ListRunsRequest(), metadata=(("orinbench-api", "0"),))
    assert reason_of(error.value)[1:] == ("API_TOO_OLD", {"needed": "1", "found": "0"})


def test_drain_ends_watches_with_a_reason(daemon: Daemon, wire: Wire) -> None:
    """A watcher of a daemon that goes down gets UNAVAILABLE with the reason DRAINING, not a broken link."""
    run = wire.create(wire.plan(1000, delay_ms=50))
    stream = wire.runs.WatchRun(run_pb2.WatchRunRequest(name=run.name))
    readings = wire.board.WatchTelemetry(board_pb2.WatchTelemetryRequest())
    next(stream)
    next(readings)

    assert daemon.stop() == 0
    for ending in (stream, readings):
        with pytest.raises(grpc.RpcError) as error:
            list(ending)
        assert reason_of(error.value)[:2] == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
