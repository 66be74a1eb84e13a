"""A small certificate authority for a lab: one CA, certificates of boards, certificates of clients."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from orinbenchd.start_error import StartError

_CA_DAYS = 3650
# What most TLS libraries accept as the longest.
_DAYS = 397
# A board without a battery for its clock may be a little behind.
_BEHIND = timedelta(hours=1)


@dataclass(frozen=True)
class Issued:
    """The two files of a certificate."""

    certificate: Path
    key: Path


def make_authority(folder: Path) -> Issued:
    """Make ``ca.pem`` and ``ca.key``. Raises StartError when there is one already: its clients trust it."""
    files = Issued(folder / "ca.pem", folder / "ca.key")
    if files.certificate.exists() or files.key.exists():
        raise StartError(f"{folder}: holds an authority already: 'orinbenchd certs server' makes certificates by it")
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "orinbench lab CA")])
    usage = {"key_cert_sign": True, "crl_sign": True}
    builder = _builder(name, name, private.public_key(), _CA_DAYS, usage).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    _write(files, builder.sign(private, hashes.SHA256()), private)
    return files


def issue_server(folder: Path, hosts: Sequence[str]) -> Issued:
    """Make ``server.pem`` and ``server.key`` for a board under these names and addresses, over those that are there."""
    names = [_general_name(host) for host in hosts]
    return _issue(folder, "server", hosts[0], names, ExtendedKeyUsageOID.SERVER_AUTH)


def issue_client(folder: Path, name: str) -> Issued:
    """Make ``NAME.pem`` and ``NAME.key`` for a client, over those that are there. Raises StartError."""
    if name in ("ca", "server") or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise StartError(f"client {name!r}: a name has letters, digits, - _ and ., and is not 'ca' or 'server'")
    return _issue(folder, name, name, [_general_name(name)], ExtendedKeyUsageOID.CLIENT_AUTH)


def _issue(
    folder: Path, stem: str, common: str, names: Sequence[x509.GeneralName], purpose: x509.ObjectIdentifier
) -> Issued:
    authority, signer = _read_authority(folder)
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])
    builder = (
        _builder(subject, authority.subject, private.public_key(), _DAYS, {"digital_signature": True})
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    files = Issued(folder / f"{stem}.pem", folder / f"{stem}.key")
    _write(files, builder.sign(signer, hashes.SHA256()), private)
    return files


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int, usage: dict[str, bool]
) -> x509.CertificateBuilder:
    now = datetime.now(timezone.utc)
    unused = dict.fromkeys(
        (
            "digital_signature",
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "key_cert_sign",
            "crl_sign",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEHIND)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.KeyUsage(**{**unused, **usage}), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError:
        raise StartError(f"host {host!r}: neither an address nor a host name in ASCII") from None


def _read_authority(folder: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    try:
        certificate = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
        private = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), password=None)
    except OSError as error:
        raise StartError(f"{error.filename}: {error.strerror}: 'orinbenchd certs init' makes an authority") from None
    except (ValueError, TypeError):
        private = None
    if not isinstance(private, ec.EllipticCurvePrivateKey):
        raise StartError(f"{folder}: ca.pem and ca.key are not as 'orinbenchd certs init' wrote them")
    return certificate, private


def _write(files: Issued, certificate: x509.Certificate, private: ec.EllipticCurvePrivateKey) -> None:
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        files.key.parent.mkdir(parents=True, exist_ok=True)
        _replace(files.key, pem, 0o600)
        _replace(files.certificate, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    except OSError as error:
        raise StartError(f"{error.filename}: cannot be written: {error.strerror}") from None


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Write a file that is never seen half, nor by others if it is a key. A running daemon takes it up."""
    scratch = path.with_name(f".{path.name}-{os.getpid()}")
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    scratch.replace(path)
