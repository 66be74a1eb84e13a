"""TLS of the TCP door. Certificates are read again when their files change; streams that are open live on."""

from __future__ import annotations

import ssl
from pathlib import Path

import grpc
import structlog

from orinbenchd.config import Tls
from orinbenchd.start_error import StartError

log = structlog.get_logger("tls")


class Certificates:
    """The server's certificate, its key, and the authority of its clients if they must show one."""

    def __init__(self, tls: Tls) -> None:
        """Read the files. Raises StartError naming the one that is wrong."""
        self._tls = tls
        self._seen = self._states()
        self._refused: list[tuple[int, ...]] | None = None
        self._first = self._read()

    def credentials(self) -> grpc.ServerCredentials:
        """Return what a server is bound with."""
        demanded = self._tls.client_ca is not None
        # None means "no change", which the stubs do not know.
        return grpc.dynamic_ssl_server_credentials(self._first, self._fetch, demanded)  # type: ignore[arg-type]

    def _fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """Return what changed since the last handshake; None goes on with what is in force."""
        now = self._states()
        if now in (self._seen, self._refused):
            return None
        try:
            changed = self._read()
        except StartError as error:
            # A pair is often replaced one file at a time: the last good one stays in force until it fits.
            self._refused = now
            log.error("the changed certificate is not taken", reason=str(error))
            return None
        self._seen, self._refused = now, None
        log.info("certificate changed", file=str(self._tls.certificate))
        return changed

    def _states(self) -> list[tuple[int, ...]]:
        return [_state(path) for path in (self._tls.certificate, self._tls.key, self._tls.client_ca) if path]

    def _read(self) -> grpc.ServerCertificateConfiguration:
        tls = self._tls
        certificate, key = _bytes(tls.certificate, "certificate"), _bytes(tls.key, "key")
        if tls.key.stat().st_mode & 0o007:
            raise StartError(f"tls.key {tls.key}: everybody on this machine may read it: chmod o= it")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            # An encrypted key would ask on a terminal that is not there.
            context.load_cert_chain(tls.certificate, tls.key, password=lambda: "")
        except (ssl.SSLError, OSError):
            raise StartError(
                f"tls: {tls.certificate} and {tls.key} are no pair: a PEM certificate and its own, unencrypted key"
            ) from None
        return grpc.ssl_server_certificate_configuration([(key, certificate)], _authority(tls.client_ca))


def _authority(path: Path | None) -> bytes | None:
    if path is None:
        return None
    authority = _bytes(path, "client_ca")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
    except ssl.SSLError:
        raise StartError(f"tls.client_ca {path}: holds no certificate in PEM form") from None
    return authority


def _bytes(path: Path, key: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StartError(f"tls.{key} {path}: cannot be read: {error.strerror}") from None


def _state(path: Path) -> tuple[int, ...]:
    try:
        state = path.stat()
    except OSError:
        return ()
    return (state.st_mtime_ns, state.st_ino, state.st_size)
