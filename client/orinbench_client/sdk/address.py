"""Where the board is: from an option, the environment, the config file, or the usual sockets."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orinbench_client.errors import BadInput

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT_PORT = 50061
_TLS = "tls://"
_KEYS = ("host", "token", "ca", "certificate", "key")
# sun_path of Linux holds 108 bytes with its final zero.
_SOCKET_PATH_MAX = 107
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

    The token comes from `token_file`, ORINBENCH_TOKEN, ORINBENCH_TOKEN_FILE or the config file, in this
    order; the files of TLS from ORINBENCH_CA, ORINBENCH_CERT and ORINBENCH_KEY or the config file.
    Raises BadInput for an address of another form, or for a token or config file that cannot be read.
    """
    config = read_config()
    text = host or os.environ.get("ORINBENCH_HOST") or config.get("host")
    target, encrypted = parse_target(text) if text else (f"unix:{_usual_socket()}", False)
    if target.startswith("unix:"):
        return Address(target)
    return Address(target, _token(token_file) or config.get("token"), _tls(config) if encrypted else None)


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


def config_file() -> Path:
    """Return where the client's config file is looked for."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "orinbench" / "config.toml"


def read_config() -> dict[str, str]:
    """Read the config file: host, token, ca, certificate, key, all text. Empty if there is none. Raises BadInput."""
    path = config_file()
    try:
        config: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not valid TOML: {error}") from None
    for key, value in config.items():
        if key not in _KEYS or not isinstance(value, str):
            raise BadInput(f"{path}: {key}: only the keys {', '.join(_KEYS)} are known, all are text")
    return config


def _usual_socket() -> Path:
    system = Path("/run/orinbench/orinbench.sock")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if system.exists() or not runtime:
        return system
    return Path(runtime) / "orinbench" / "orinbench.sock"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _tls(config: dict[str, str]) -> Tls:
    found: dict[str, Path | None] = {}
    for field, variable in (("ca", "ORINBENCH_CA"), ("certificate", "ORINBENCH_CERT"), ("key", "ORINBENCH_KEY")):
        text = os.environ.get(variable) or config.get(field)
        found[field] = Path(text).expanduser() if text else None
    tls = Tls(**found)
    if (tls.certificate is None) != (tls.key is None):
        raise BadInput("a certificate of a client and its key go together: set ORINBENCH_CERT and ORINBENCH_KEY")
    return tls


def _token(token_file: Path | None) -> str | None:
    if token_file is None:
        token = os.environ.get("ORINBENCH_TOKEN")
        named = os.environ.get("ORINBENCH_TOKEN_FILE")
        if token or not named:
            return token or None
        token_file = Path(named)
    try:
        return token_file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise BadInput(f"token file {token_file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"token file {token_file}: not plain ASCII text") from None
