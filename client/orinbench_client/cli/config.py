"""`orinbench config`: boards by names of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orinbench_client.cli.common import JsonOption, group, print_json
from orinbench_client.cli.terminal import table
from orinbench_client.config import FILES, Config, change_config, config_file, read_config, split_key
from orinbench_client.errors import BadInput

_KEYS = "host, or NAME.address, .token, .token_file, .ca, .certificate, .key"
KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help=_KEYS)]

_HELP = """Give boards names, and choose the one that is meant.

A name stands wherever an address may: --host NAME, ORINBENCH_HOST=NAME. The key 'host' is the board that is meant
when neither is given. The file is readable by its owner alone.

\b
Examples:
  orinbench config set lab.address tls://agx.lab:50061
  orinbench config set lab.token_file ~/lab.token
  orinbench config set host lab
  orinbench config list
"""
app = group(_HELP)


@app.command("set")
def set_(key: KeyArgument, value: Annotated[str, typer.Argument(metavar="VALUE", help="What it shall be.")]) -> None:
    """Set a key: what the default board is, or where a named one is and how it lets us in.

    \b
    Examples:
      orinbench config set lab.address tls://agx.lab:50061
      orinbench config set lab.ca lab-ca.pem
      orinbench config set host lab
    """
    change_config(key, _meant(key, value))
    print(f"{key} is set ({config_file()})")


@app.command()
def unset(key: Annotated[str, typer.Argument(metavar="KEY", help=f"{_KEYS}, or NAME for all of it")]) -> None:
    """Remove a key, or a board with all its keys.

    \b
    Examples:
      orinbench config unset host
      orinbench config unset lab
    """
    change_config(key, None)
    print(f"{key} is not set any more ({config_file()})")


@app.command()
def get(key: KeyArgument, as_json: JsonOption = False) -> None:
    """Print the value of a key.

    \b
    Examples:
      orinbench config get host
      orinbench config get lab.address
    """
    config = read_config()
    name, last = split_key(key)
    keys = config.hosts.get(name, {}) if name is not None else _top(config)
    if last not in keys:
        raise BadInput(f"{config_file()}: {key} is not set")
    print_json({key: keys[last]}) if as_json else print(keys[last])


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List all that is set. A token is not shown.

    \b
    Examples:
      orinbench config list
      orinbench config list --json
    """
    config = read_config()
    found = {key: _shown(key, value) for key, value in _top(config).items()}
    for name, keys in config.hosts.items():
        found |= {f"{name}.{key}": _shown(key, value) for key, value in keys.items()}
    if as_json:
        print_json({"file": str(config_file()), "keys": found})
    elif found:
        print(table([("key", "value"), *found.items()]))
    else:
        print(f"nothing is set ({config_file()})")


@app.command()
def path() -> None:
    """Print where the config file is, whether it is there or not.

    \b
    Examples:
      orinbench config path
    """
    print(config_file())


def _top(config: Config) -> dict[str, str]:
    return {**({"host": config.host} if config.host is not None else {}), **config.plain}


def _shown(key: str, value: str) -> str:
    return "(set)" if key == "token" else value


def _meant(key: str, value: str) -> str:
    """Return the value as it is to be kept: checked, and with the files by their whole paths."""
    # Imported here: the other verbs need no more than the file.
    from orinbench_client.sdk.address import parse_target, sendable

    last = key.rpartition(".")[2]
    if last in FILES:
        return str(Path(value).expanduser().absolute())
    if last == "address":
        parse_target(value)
    elif last == "host" and value not in read_config().hosts:
        try:
            parse_target(value)
        except BadInput as error:
            raise BadInput(f"{error}, nor a name that is set: orinbench config set NAME.address ADDRESS") from None
    elif last == "token":
        return sendable(value, key)
    return value
