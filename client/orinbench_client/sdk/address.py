"""Where the board is: from an option, the environment, the config file, or the usual sockets."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from orinbench_client.config import Config, config_file, read_config
from orinbench_client.errors import BadInput

DEFAULT_PORT = 50061
#: Where an installed daemon listens.
SYSTEM_SOCKET = Path("/run/orinbench/orinbench.sock")
_TLS = "tls://"
# sun_path of Linux holds 108 bytes with its final zero.
_SOCKET_PATH_MAX = 107
_TOKEN_MAX = 4096
_HOST_PORT = re.compile(r"(?P<host>\[[0-9a-fA-F:]+\]|[^:/\s]+):(?P<port>\d{1,5})\Z")


@dataclass(frozen=True)
class Tls:
    """The PEM files of a connection: whom to trust (None: the usual public authorities), and who we are."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True)
class Address:
    """A board's door: the target gRPC dials, its TLS, and the token it asks for (None on a Unix socket).

    Without TLS the target is a Unix socket or on loopback, so a token never travels in clear.
    """

    target: str
    token: str | None = None
    tls: Tls | None = None

    def __str__(self) -> str:
        return f"{_TLS}{self.target}" if self.tls is not None else self.target


def find_address(host: str | None = None, token_file: Path | None = None) -> Address:
    """Resolve the address: `host`, else ORINBENCH_HOST, else the config file, else the usual Unix sockets.

    Each may be an address or the name of a host in the config file. The token comes from `token_file`,
    ORINBENCH_TOKEN, ORINBENCH_TOKEN_FILE or the config file, in this order; the files of TLS from ORINBENCH_CA,
    ORINBENCH_CERT and ORINBENCH_KEY or the config file. A named host takes its own keys of the config file alone.
    Raises BadInput for an address of another form, or for a token or config file that cannot be read.
    """
    if host is not None and not host.strip():
        raise BadInput("--host is empty: give an address or the name of a host, or leave it out")
    config = read_config()
    text = host or os.environ.get("ORINBENCH_HOST") or config.host or f"unix:{_usual_socket()}"
    keys = config.hosts.get(text, config.plain)
    target, encrypted = _target(text, keys, config)
    if target.startswith("unix:"):
        return Address(target)
    return Address(target, _token(token_file, keys), _tls(keys) if encrypted else None)


def _target(text: str, keys: Mapping[str, str], config: Config) -> tuple[str, bool]:
    if "address" in keys:
        try:
            return parse_target(keys["address"])
        except BadInput as error:
            raise BadInput(f"{config_file()}: hosts.{text}.address: {error}") from None
    try:
        return parse_target(text)
    except BadInput as error:
        if not config.hosts:
            raise
        close = get_close_matches(text, config.hosts, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(config.hosts)}"
        raise BadInput(f"{error}, nor a host of {config_file()}: {hint}") from None


def parse_target(text: str) -> tuple[str, bool]:
    """Return the gRPC target, and whether TLS is spoken there. Raises BadInput.

    ``unix:/path`` and ``/path`` are sockets. ``host:port`` is TLS, on loopback plain text; ``tls://host:port`` is TLS
    wherever it is.
    """
    if text.startswith(("unix:", "/", "./")):
        path = Path(re.sub(r"^unix:(//(?=/))?", "", text)).absolute()
        if len(os.fsencode(path)) > _SOCKET_PATH_MAX:
            raise BadInput(f"host {text!r}: a socket path has at most {_SOCKET_PATH_MAX} bytes: choose another")
        return f"unix:{path}", False
    match = _HOST_PORT.match(text.removeprefix(_TLS))
    if match is None or not 0 < int(match["port"]) < 65536:
        raise BadInput(
            f"host {text!r} is neither unix:/path, /path, host:port nor tls://host:port (usually {DEFAULT_PORT})"
        )
    return match[0], text.startswith(_TLS) or not _is_loopback(match["host"].strip("[]"))


def _usual_socket() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if SYSTEM_SOCKET.exists() or not runtime:
        return SYSTEM_SOCKET
    return Path(runtime) / "orinbench" / "orinbench.sock"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _tls(keys: Mapping[str, str]) -> Tls:
    found: dict[str, Path | None] = {}
    for field, variable in (("ca", "ORINBENCH_CA"), ("certificate", "ORINBENCH_CERT"), ("key", "ORINBENCH_KEY")):
        text = os.environ.get(variable) or keys.get(field)
        found[field] = Path(text).expanduser() if text else None
    tls = Tls(**found)
    if (tls.certificate is None) != (tls.key is None):
        raise BadInput("a certificate of a client and its key go together: set ORINBENCH_CERT and ORINBENCH_KEY")
    return tls


def _token(token_file: Path | None, keys: Mapping[str, str]) -> str | None:
    if token_file is None:
        token = os.environ.get("ORINBENCH_TOKEN")
        named = os.environ.get("ORINBENCH_TOKEN_FILE")
        if not token and not named:
            token, named = keys.get("token"), keys.get("token_file")
        if token or not named:
            return sendable(token, "the token") if token else None
        token_file = Path(named).expanduser()
    try:
        with token_file.open("rb") as file:
            data = file.read(_TOKEN_MAX + 1)
    except OSError as error:
        raise BadInput(f"token file {token_file}: cannot be read: {error.strerror}") from None
    if len(data) > _TOKEN_MAX:
        raise BadInput(f"token file {token_file}: larger than {_TOKEN_MAX} bytes: this is no token")
    return sendable(data.decode("latin-1").strip(), f"token file {token_file}")


def sendable(token: str, where: str) -> str:
    """Return a token that may stand in a header of HTTP. Raises BadInput."""
    if not token:
        raise BadInput(f"{where}: is empty: a token is made by 'orinbenchd token create'")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise BadInput(f"{where}: not a token, which is one word of plain ASCII text")
    return token
