"""The client's config file: the default board, and boards by names of the user's own.

    host = "lab"                          # an address, or a name from below

    [hosts.lab]
    address = "tls://agx.lab:50061"
    token_file = "/home/me/lab.token"
    ca = "/home/me/lab-ca.pem"

Beside `host`, the keys of a host may stand at the top: they are for addresses that have no name here.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orinbench_client.errors import BadInput

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = ("token_file", "ca", "certificate", "key")
HOST_KEYS = ("address", "token", *FILES)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
# A config file is a few lines; what is larger is no config file.
_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Config:
    """What the file says. `plain` holds the keys at the top beside `host`; `hosts` those of each host by its name."""

    host: str | None = None
    plain: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def config_file() -> Path:
    """Return where the client's config file is looked for."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "orinbench" / "config.toml"


def read_config() -> Config:
    """Read the config file; empty if there is none. Raises BadInput naming the file and the key."""
    path = config_file()
    return _checked(_parsed(_text(path), path), path)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file that a user names. Raises BadInput."""
    if not path.is_file():
        raise BadInput(f"{path}: no such file")
    return _parsed(_text(path), path)


def change_config(key: str, value: str | None) -> None:
    """Set a key, or remove it (None); see edit. The file is then readable by its owner alone. Raises BadInput."""
    path = config_file()
    text = edit(_text(path), key, value, path)
    # Imported here: reading needs none of it.
    from orinbench_client.bundles.files import write_file

    # Through a link, such as into a folder of dotfiles; for the owner alone, as it may hold a token.
    write_file(path.resolve(), text.encode(), 0o600)


def edit(text: str, key: str, value: str | None, path: Path) -> str:
    """Return a config file's text with a key set, or removed (None). Comments stay.

    `key` is ``host``, one of HOST_KEYS for addresses without a name, or ``NAME.KEY``; to remove, ``NAME`` alone is all
    of that host. Raises BadInput, which names `path`, for an unknown key, and for a text written in another way than
    ours.
    """
    before = _parsed(text, path)
    _checked(before, path)
    name, last = _place(key, before, removing=value is None)
    wanted = _changed(before, name, last, value)
    _checked(wanted, path)
    edited = _edited(text, name, last, value)
    if not _says(edited, wanted):
        raise BadInput(f"{path}: {key}: is written there in a way that cannot be edited here: change it by hand")
    return edited


def split_key(key: str) -> tuple[str | None, str]:
    """Return (name of the host or None, key). Raises BadInput for a key there cannot be."""
    name, dot, last = key.rpartition(".")
    if not dot and last in ("host", *HOST_KEYS[1:]):
        return None, last
    if dot and _NAME.match(name) and last in HOST_KEYS:
        return name, last
    known = f"'host', or NAME.KEY with {', '.join(HOST_KEYS)} as KEY"
    raise BadInput(f"no key is called {key!r}: there are {known}, such as lab.address")


def _place(key: str, before: Mapping[str, Any], removing: bool) -> tuple[str | None, str | None]:
    if removing and key in before.get("hosts", {}):
        return key, None
    name, last = split_key(key)
    table = before.get("hosts", {}).get(name, {}) if name is not None else before
    if removing and last not in table:
        raise BadInput(f"{config_file()}: {key} is not set")
    return name, last


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise BadInput(f"{path}: larger than 1 MiB: this is no config file")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not valid TOML: {error}") from None


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not valid TOML: {error}") from None


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _checked(content: Mapping[str, Any], path: Path) -> Config:
    hosts = content.get("hosts", {})
    if not isinstance(hosts, dict):
        raise BadInput(f"{path}: hosts: a table of hosts is meant, such as [hosts.lab]")
    top = {key: value for key, value in content.items() if key != "hosts"}
    _require_text(top, ("host", *HOST_KEYS[1:]), f"{path}: ")
    for name, keys in hosts.items():
        where = f"{path}: hosts.{name}"
        if not _NAME.match(name) or not isinstance(keys, dict):
            raise BadInput(f"{where}: a host is a table with a name of letters, digits, '.', '_' and '-'")
        _require_text(keys, HOST_KEYS, f"{where}.")
        if "address" not in keys:
            raise BadInput(f"{where}: has no address: orinbench config set {name}.address ADDRESS")
    return Config(top.get("host"), {key: value for key, value in top.items() if key != "host"}, hosts)


def _require_text(keys: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key, value in keys.items():
        if key not in known or not isinstance(value, str):
            raise BadInput(f"{where}{key}: only the keys {', '.join(known)} are known, all are text")


def _changed(before: Mapping[str, Any], name: str | None, key: str | None, value: str | None) -> dict[str, Any]:
    after: dict[str, Any] = json.loads(json.dumps(before))
    if key is None:
        del after["hosts"][name]
    else:
        table = after if name is None else after.setdefault("hosts", {}).setdefault(name, {})
        if value is None:
            del table[key]
        else:
            table[key] = value
    return {key: table for key, table in after.items() if key != "hosts" or table}


def _edited(text: str, name: str | None, key: str | None, value: str | None) -> str:
    """Return the text with one line changed: a guess that holds for files as they are usually written."""
    lines = text.splitlines()
    start, end = _section(lines, name)
    if key is None:
        return _joined([*lines[: start - 1], *lines[end:]])
    # A JSON string is a TOML string too, unless DEL is in it.
    new = [] if value is None else [f"{key} = {json.dumps(value, ensure_ascii=False)}"]
    if start > len(lines):
        # There is no such section yet.
        header = name if _BARE.match(name or "") else json.dumps(name)
        return _joined([*lines, *([""] if lines else []), f"[hosts.{header}]", *new])
    for index in range(start, end):
        if re.match(rf"\s*{key}\s*=", lines[index]):
            return _joined([*lines[:index], *new, *lines[index + 1 :]])
    # Behind the last key: comments and empty lines at the end may belong to what follows.
    last = max((index + 1 for index in range(start, end) if "=" in lines[index].partition("#")[0]), default=start)
    gap = [""] if last < len(lines) and lines[last].lstrip().startswith("[") else []
    return _joined([*lines[:last], *new, *gap, *lines[last:]])


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _section(lines: list[str], name: str | None) -> tuple[int, int]:
    """Return the lines of a host's section without its header, or of the top; past the end if there is none."""
    headers = [index for index, line in enumerate(lines) if line.lstrip().startswith("[")]
    ends = [*headers[1:], len(lines)]
    if name is None:
        return 0, headers[0] if headers else len(lines)
    for index, end in zip(headers, ends, strict=False):
        try:
            if tomllib.loads(lines[index]) == {"hosts": {name: {}}}:
                return index + 1, end
        except tomllib.TOMLDecodeError:
            continue
    return len(lines) + 1, len(lines) + 1
