"""TLS of the TCP door: who trusts whom, certificates that change under a running daemon, and what each fault says."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from orinbench.v1 import board_pb2, run_pb2
from orinbenchd.config import Tls
from orinbenchd.doors import certs
from orinbenchd.doors.tls import Certificates
from orinbenchd.start_error import StartError

from tests.integration.cli.program import Orinbench
from tests.integration.harness import Daemon, Wire, make_tokens, reason_of, running, to_toml
from tests.integration.test_doors import start_failure

CLIENTS = [{"name": "ci", "role": "submit"}, {"name": "eye", "role": "watch"}]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority with a server's certificate and two clients'."""
    folder = tmp_path_factory.mktemp("lab")
    certs.make_authority(folder)
    certs.issue_server(folder, ["localhost", "127.0.0.1"])
    for name in ("ci", "eye", "nobody"):
        certs.issue_client(folder, name)
    return folder


def tls(lab: Path, **more: Any) -> dict[str, Any]:
    """The section of a daemon's configuration."""
    return {"certificate": str(lab / "server.pem"), "key": str(lab / "server.key"), **more}


def credentials(lab: Path, client: str | None = None) -> grpc.ChannelCredentials:
    """What a client trusts and shows."""
    key, certificate = (
        ((lab / f"{client}.key").read_bytes(), (lab / f"{client}.pem").read_bytes()) if client else (None, None)
    )
    return grpc.ssl_channel_credentials((lab / "ca.pem").read_bytes(), key, certificate)


def port(daemon: Daemon) -> int:
    """The port of its TCP door."""
    found: int = daemon.ready["tcp_port"]
    return found


def serial(target: int, lab: Path) -> int:
    """The serial number of the certificate that is shown to a new connection."""
    context = ssl.create_default_context(cafile=lab / "ca.pem")
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(("localhost", target), 5) as connection,
        context.wrap_socket(connection, server_hostname="localhost") as wrapped,
    ):
        shown = wrapped.getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown).serial_number


def write_expired(lab: Path) -> None:
    """Put a certificate that ended yesterday over the server's."""
    old = x509.load_pem_x509_certificate((lab / "server.pem").read_bytes())
    private: Any = serialization.load_pem_private_key((lab / "ca.key").read_bytes(), None)
    now = datetime.now(timezone.utc)
    builder = x509.CertificateBuilder(
        issuer_name=old.issuer,
        subject_name=old.subject,
        public_key=old.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(days=9),
        not_valid_after=now - timedelta(days=1),
        extensions=list(old.extensions),
    )
    expired = builder.sign(private, hashes.SHA256())
    (lab / "server.pem").write_bytes(expired.public_bytes(serialization.Encoding.PEM))


def test_a_changed_certificate_is_shown_to_new_connections(folder: Path, tmp_path: Path) -> None:
    """New files count from the next connection on, a torn pair is not taken, an open stream lives through it all."""
    certs.make_authority(tmp_path)
    certs.issue_server(tmp_path, ["localhost"])
    token = make_tokens(folder)["admin"]
    with running(folder, tcp="0.0.0.0:0", tls=tls(tmp_path)) as daemon:
        first = serial(port(daemon), tmp_path)
        with Wire(f"localhost:{port(daemon)}", token, credentials(tmp_path)) as wire:
            run = wire.create(wire.plan(10_000, delay_ms=20))
            stream = wire.runs.WatchRun(run_pb2.WatchRunRequest(name=run.name))
            next(stream)

            certs.issue_server(tmp_path, ["localhost"])
            second = serial(port(daemon), tmp_path)
            assert second != first
            (tmp_path / "server.key").write_bytes((tmp_path / "ca.key").read_bytes())
            assert serial(port(daemon), tmp_path) == second
            assert "the changed certificate is not taken" in daemon.log
            certs.issue_server(tmp_path, ["localhost"])
            assert serial(port(daemon), tmp_path) not in (first, second)

            next(stream)
            wire.runs.CancelRun(run_pb2.CancelRunRequest(name=run.name))
            list(stream)


def test_a_certificate_of_a_client_has_a_role(folder: Path, lab: Path) -> None:
    """The name in the certificate decides; one that has no role needs a token; nobody comes without a certificate."""
    token = make_tokens(folder)["admin"]
    section = tls(lab, client_ca=str(lab / "ca.pem"), clients=CLIENTS)
    with running(folder, tcp="0.0.0.0:0", tls=section) as daemon:
        target = f"localhost:{port(daemon)}"
        with Wire(target, None, credentials(lab, "ci")) as wire:
            assert wire.create(wire.plan(1)).submitter == "ci"
        with Wire(target, None, credentials(lab, "eye")) as wire:
            wire.board.GetBoard(board_pb2.GetBoardRequest())
            with pytest.raises(grpc.RpcError) as error:
                wire.plan(1)
            assert reason_of(error.value)[1:] == ("ROLE_INSUFFICIENT", {"role": "watch", "needed": "submit"})
        with Wire(target, None, credentials(lab, "nobody")) as wire, pytest.raises(grpc.RpcError) as error:
            wire.board.GetBoard(board_pb2.GetBoardRequest())
        assert reason_of(error.value)[1] == "TOKEN_INVALID"
        with Wire(target, token, credentials(lab, "nobody")) as wire:
            assert wire.create(wire.plan(1)).submitter == "admin"
        with Wire(target, token, credentials(lab)) as wire, pytest.raises(grpc.RpcError) as error:
            wire.board.GetBoard(board_pb2.GetBoardRequest())
        assert error.value.code() == grpc.StatusCode.UNAVAILABLE


def test_each_fault_of_tls_says_what_to_do(folder: Path, tmp_path: Path, lab: Path) -> None:
    """Wrong token, unknown authority, wrong name, expired, plain text to TLS: one line each, exit 4 or 5."""
    own = tmp_path / "own"
    certs.make_authority(own)
    certs.issue_server(own, ["localhost"])
    token = make_tokens(folder)["watch"]
    with running(folder, tcp="127.0.0.1:0", tls=tls(own)) as daemon:
        program = Orinbench(tmp_path, f"tls://localhost:{port(daemon)}")
        program.environment |= {"ORINBENCH_CA": str(own / "ca.pem"), "ORINBENCH_TOKEN": token}
        assert "boards/" in program.good("board")
        assert "the token is not known here" in with_(program, ORINBENCH_TOKEN="guess").fails(4, "board")
        unknown = with_(program, ORINBENCH_CA=str(lab / "ca.pem")).fails(5, "board")
        assert "ca.pem did not sign it: set ORINBENCH_CA" in unknown
        name = program.fails(5, "board", "--host", f"tls://127.0.0.1:{port(daemon)}")
        assert "its certificate is not for 127.0.0.1" in name
        plain = program.fails(5, "board", "--host", f"localhost:{port(daemon)}")
        assert f"this port speaks TLS: write tls://localhost:{port(daemon)}" in plain
        gone = with_(program, ORINBENCH_CA="gone.pem").fails(2, "board")
        assert "gone.pem: cannot be read" in gone
        write_expired(own)
        assert "its certificate has expired" in program.fails(5, "board")


def test_a_client_without_its_certificate_is_told(folder: Path, tmp_path: Path, lab: Path) -> None:
    """A door that wants a certificate says so to whoever has none, or one of another authority."""
    other = tmp_path / "other"
    certs.make_authority(other)
    certs.issue_client(other, "ci")
    section = tls(lab, client_ca=str(lab / "ca.pem"), clients=CLIENTS)
    with running(folder, tcp="127.0.0.1:0", tls=section) as daemon:
        program = Orinbench(tmp_path, f"tls://localhost:{port(daemon)}")
        program.environment["ORINBENCH_CA"] = str(lab / "ca.pem")
        assert "it wants a certificate of the client: set ORINBENCH_CERT" in program.fails(5, "board")
        pair = {"ORINBENCH_CERT": str(other / "ci.pem"), "ORINBENCH_KEY": str(other / "ci.key")}
        assert "it does not take the certificate" in with_(program, **pair).fails(5, "board")
        pair = {"ORINBENCH_CERT": str(lab / "ci.pem"), "ORINBENCH_KEY": str(lab / "ci.key")}
        assert "boards/" in with_(program, **pair).good("board")


def test_no_token_goes_to_a_port_without_tls(folder: Path, tmp_path: Path) -> None:
    """To a port that speaks no TLS nothing but a TLS greeting is sent, and the line says what is wrong."""
    token = make_tokens(folder)["watch"]
    with running(folder, tcp="127.0.0.1:0") as daemon:
        program = Orinbench(tmp_path, f"tls://127.0.0.1:{port(daemon)}")
        program.environment["ORINBENCH_TOKEN"] = token
        assert "this port speaks no TLS" in program.fails(5, "board")
    with listener() as (address, heard):
        program.environment["ORINBENCH_HOST"] = f"tls://{address}"
        program.fails(5, "board")
    assert heard
    assert all(data[:1] == b"\x16" and token.encode() not in data for data in heard)


@pytest.mark.parametrize(
    ("break_it", "wanted"),
    [
        (lambda lab: (lab / "server.pem").unlink(), "server.pem: cannot be read"),
        (lambda lab: (lab / "server.pem").write_text("x"), "are no pair"),
        (lambda lab: (lab / "server.key").write_bytes((lab / "ca.key").read_bytes()), "are no pair"),
        (lambda lab: (lab / "server.key").chmod(0o604), "everybody on this machine may read it"),
        (lambda lab: (lab / "ca.pem").write_text("x"), "client_ca"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, break_it: Callable[[Path], object], wanted: str) -> None:
    """A file of TLS that cannot work is named before a door opens."""
    certs.make_authority(tmp_path)
    certs.issue_server(tmp_path, ["localhost"])
    break_it(tmp_path)

    with pytest.raises(StartError, match=wanted):
        Certificates(Tls(**tls(tmp_path, client_ca=str(tmp_path / "ca.pem"))))


def test_broken_files_stop_the_start(folder: Path, tmp_path: Path) -> None:
    """The daemon does not start without its certificate: one line, exit code 78."""
    make_tokens(folder)

    text = to_toml({"data_dir": "data", "tcp": "0.0.0.0:0", "tls": tls(tmp_path)})
    assert "server.pem: cannot be read" in start_failure(folder, text)


def with_(program: Orinbench, **environment: str) -> Orinbench:
    """The same program with other variables."""
    changed = Orinbench(program.folder, "")
    changed.environment = {**program.environment, **environment}
    return changed


class listener:  # noqa: N801  # a context manager, used like a function
    """A port that reads what comes and answers nothing: its address, and the first bytes of each connection."""

    def __enter__(self) -> tuple[str, list[bytes]]:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._heard: list[bytes] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return f"127.0.0.1:{self._socket.getsockname()[1]}", self._heard

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self._heard.append(connection.recv(65536))
