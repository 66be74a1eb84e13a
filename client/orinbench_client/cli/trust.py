"""`orinbench trust`: whose signatures count on a leaderboard."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from orinbench_client.bundles.trust import PublicKey, TrustList, trust_file
from orinbench_client.cli.common import HostOption, JsonOption, TokenOption, TrustOption, group, print_json
from orinbench_client.cli.terminal import table
from orinbench_client.errors import BadInput
from orinbench_client.sdk import Client, find_address

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What you call the board.")]

_HELP = """Trust boards by their public keys.

\b
Examples:
  orinbench trust add lab-agx --host tls://agx.lab:50061
  orinbench trust list
"""
app = group(_HELP)


@app.command()
def add(
    name: NameArgument,
    host: HostOption = None,
    token_file: TokenOption = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="ed25519:…, or a file of it; else the board is asked.")
    ] = None,
    trust: TrustOption = None,
    as_json: JsonOption = False,
) -> None:
    """Trust a board's public key.

    What the board answers is only as sure as the way to it: compare the fingerprint with `orinbenchd key` there.

    \b
    Examples:
      orinbench trust add lab-agx --host tls://agx.lab:50061
      orinbench trust add lab-agx --key agx.pub --trust results/trust.json
    """
    found = _given(key) if key is not None else asyncio.run(_asked(host, token_file))
    trusted = _list(trust)
    trusted.add(name, found)
    if as_json:
        print_json({"name": name, "key_id": found.key_id})
    else:
        print(f"{name} is trusted by {found.key_id} ({trusted.path})")


@app.command("list")
def list_(trust: TrustOption = None, as_json: JsonOption = False) -> None:
    """List the trusted boards and the fingerprints of their keys.

    \b
    Examples:
      orinbench trust list
    """
    rows = [(name, key.key_id) for name, key in _list(trust).keys.items()]
    if as_json:
        for name, key_id in rows:
            print_json({"name": name, "key_id": key_id})
    elif rows:
        print(table([("board", "fingerprint"), *rows]))
    else:
        print("no board is trusted")


@app.command()
def remove(name: NameArgument, trust: TrustOption = None) -> None:
    """Trust a board no longer.

    \b
    Examples:
      orinbench trust remove lab-agx
    """
    trusted = _list(trust)
    trusted.remove(name)
    print(f"{name} is not trusted any more ({trusted.path})")


def _list(path: Path | None) -> TrustList:
    return TrustList(path or trust_file())


def _given(text: str) -> PublicKey:
    if text.startswith("ed25519:"):
        return PublicKey.parse(text, "--key")
    try:
        return PublicKey.parse(Path(text).read_text(encoding="ascii"), text)
    except OSError as error:
        raise BadInput(f"--key {text}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{text}: not plain ASCII text") from None


async def _asked(host: str | None, token_file: Path | None) -> PublicKey:
    async with Client(find_address(host, token_file)) as client:
        board = await client.get_board()
    if len(board.public_key) != 32:
        raise BadInput(f"{board.name} has no key: its daemon (version {board.daemon_version}) signs nothing: update it")
    return PublicKey(board.public_key)
