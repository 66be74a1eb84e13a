"""Why a TCP door cannot be passed. gRPC says little of it, and each version something else: so we knock once more."""

from __future__ import annotations

import socket
import ssl

from orinbench_client.sdk.address import Address, Tls

_WAIT_S = 3.0
# X509_V_ERR of OpenSSL's x509_vfy.h.
_NOT_YET, _EXPIRED, _NAMES = 9, 10, (62, 64)
_UNKNOWN_CA = (2, 18, 19, 20, 21)
_MUTE = "something takes connections there and does not answer: is it the board's door?"


def diagnose(address: Address) -> str | None:
    """Return what is wrong between us and the door, and what to do; None if nothing of it shows here."""
    host, _, port = address.target.rpartition(":")
    host = host.strip("[]")
    try:
        with socket.create_connection((host, int(port)), _WAIT_S) as connection:
            connection.settimeout(_WAIT_S)
            if address.tls is not None:
                return _knock(connection, host, address.tls)
            return _speaks_tls(connection, address.target)
    except (socket.gaierror, UnicodeError):
        return "nobody knows this name: check it, or give the address in numbers"
    except ConnectionRefusedError:
        return "connection refused: is orinbenchd running there?"
    except TimeoutError:
        return f"no answer within {_WAIT_S:g} s: is the board on, and this its door?"
    except OSError as error:
        return f"{error.strerror or error}: is the board on, and this its address?"


def _knock(connection: socket.socket, host: str, tls: Tls) -> str | None:
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        if tls.certificate is not None:
            context.load_cert_chain(tls.certificate, tls.key)
    except (ssl.SSLError, OSError):
        return f"{tls.ca}, {tls.certificate} or {tls.key} is not what it should be: PEM files of 'orinbenchd certs'"
    context.set_alpn_protocols(["h2"])
    try:
        with context.wrap_socket(connection, server_hostname=host) as wrapped:
            # Of TLS 1.3 the refusal of a client comes after the handshake, as an alert or as the end.
            return None if wrapped.recv(1) else _refused(tls)
    except ssl.SSLCertVerificationError as error:
        return _certificate(error, host, tls)
    except TimeoutError:
        return _MUTE
    except ssl.SSLError as error:
        if error.reason == "WRONG_VERSION_NUMBER":
            return "this port speaks no TLS: is it the board's port? A daemon serves TLS by [tls] in its configuration"
        return _refused(tls)
    except ConnectionError:
        return _refused(tls)


def _certificate(error: ssl.SSLCertVerificationError, host: str, tls: Tls) -> str:
    code = error.verify_code
    if code == _EXPIRED:
        return "its certificate has expired: the operator makes a new one with 'orinbenchd certs server'"
    if code == _NOT_YET:
        return "its certificate is not valid yet: compare the clocks of the board and of this machine"
    if code in _NAMES:
        return f"its certificate is not for {host}: use a name it has, or make one with --host {host}"
    if code in _UNKNOWN_CA:
        trusted = f"{tls.ca} did not sign it" if tls.ca is not None else "no authority this machine knows signed it"
        return f"its certificate cannot be trusted, {trusted}: set ORINBENCH_CA to the ca.pem of the lab"
    return f"its certificate cannot be trusted: {error.verify_message}"


def _refused(tls: Tls) -> str:
    if tls.certificate is None:
        return "it wants a certificate of the client: set ORINBENCH_CERT and ORINBENCH_KEY"
    return f"it does not take the certificate {tls.certificate}: its authority is another, or it has expired"


def _speaks_tls(connection: socket.socket, target: str) -> str | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Nothing is sent but a greeting, so nobody needs to be trusted.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        context.wrap_socket(connection).close()
    except TimeoutError:
        return _MUTE
    except OSError:
        return None
    return f"this port speaks TLS: write tls://{target}"
