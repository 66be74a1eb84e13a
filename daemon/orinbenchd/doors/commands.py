"""`orinbenchd token`, `certs` and `key`: what an operator does about who gets in and who signs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from orinbenchd.config import load_config
from orinbenchd.doors.roles import ORDER

Commands = argparse._SubParsersAction  # argparse has no public name for it


def add_commands(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the commands to the daemon's."""
    _add_token(commands)
    _add_certs(commands)
    key = commands.add_parser(
        "key",
        help="show the board's public key, making the key if there is none",
        epilog="example: orinbenchd key",
    )
    key.set_defaults(action=_show_key)


def _add_token(commands: Commands[argparse.ArgumentParser]) -> None:
    token = commands.add_parser(
        "token",
        help="make, list and revoke tokens for clients that come by TCP",
        epilog="example: orinbenchd token create --name ci --role submit",
    )
    verbs = token.add_subparsers(required=True, metavar="create|list|revoke")
    create = verbs.add_parser(
        "create",
        help="print a new token, this once; it counts at once, without a restart",
        epilog="example: orinbenchd token create --name ci --role submit > ci.token",
    )
    create.add_argument("--name", required=True, help="who will use it; shown in runs and in the audit log")
    create.add_argument("--role", choices=ORDER, default="submit")
    create.set_defaults(action=_create_token)
    listing = verbs.add_parser(
        "list", help="names, roles and times; no token can be shown again", epilog="example: orinbenchd token list"
    )
    listing.set_defaults(action=_list_tokens)
    revoke = verbs.add_parser(
        "revoke",
        help="end a token at once; its open streams end with their next message",
        epilog="example: orinbenchd token revoke ci",
    )
    revoke.add_argument("name")
    revoke.set_defaults(action=_revoke_token)


def _add_certs(commands: Commands[argparse.ArgumentParser]) -> None:
    certs = commands.add_parser(
        "certs",
        help="a small certificate authority for a lab",
        epilog="example: orinbenchd certs init lab/ --host agx.lab 192.0.2.7",
    )
    verbs = certs.add_subparsers(required=True, metavar="init|server|client")
    init = verbs.add_parser(
        "init",
        help="make an authority and the certificate of a board",
        epilog="example: orinbenchd certs init lab/ --host agx.lab 192.0.2.7",
    )
    server = verbs.add_parser(
        "server",
        help="make a certificate of a board anew, or of another board",
        epilog="example: orinbenchd certs server lab/ --host nano.lab",
    )
    client = verbs.add_parser(
        "client",
        help="make a certificate of a client, for [[tls.clients]]",
        epilog="example: orinbenchd certs client lab/ ci",
    )
    for parser in (init, server):
        parser.add_argument("folder", type=Path, metavar="DIR")
        parser.add_argument("--host", required=True, nargs="+", metavar="NAME", help="names and addresses it has")
    client.add_argument("folder", type=Path, metavar="DIR")
    client.add_argument("name")
    init.set_defaults(action=_init_certs)
    server.set_defaults(action=_server_cert)
    client.set_defaults(action=_client_cert)


def _create_token(options: argparse.Namespace) -> int:
    from orinbenchd.doors.tokens import TokenFile

    print(TokenFile(load_config(options.config).data_dir).create(options.name, options.role))  # noqa: T201  # this once
    _say(f"give it to {options.name}: ORINBENCH_TOKEN, or a file named by ORINBENCH_TOKEN_FILE; it is kept nowhere")
    return 0


def _list_tokens(options: argparse.Namespace) -> int:
    from orinbenchd.doors.tokens import TokenFile

    for token in TokenFile(load_config(options.config).data_dir).read():
        print(f"{token.name}  {token.role}  {token.created}")  # noqa: T201  # the answer
    return 0


def _revoke_token(options: argparse.Namespace) -> int:
    from orinbenchd.doors.tokens import TokenFile

    TokenFile(load_config(options.config).data_dir).revoke(options.name)
    _say(f"{options.name} does not get in any more")
    return 0


def _init_certs(options: argparse.Namespace) -> int:
    from orinbenchd.doors import certs

    authority = certs.make_authority(options.folder)
    _say(f"clients trust it by {authority.certificate} (ORINBENCH_CA); keep {authority.key} off the boards")
    return _server_cert(options)


def _server_cert(options: argparse.Namespace) -> int:
    from orinbenchd.doors import certs

    made = certs.issue_server(options.folder, options.host)
    _say("in the daemon's configuration:")
    print(f'[tls]\ncertificate = "{made.certificate.absolute()}"\nkey = "{made.key.absolute()}"')  # noqa: T201
    return 0


def _client_cert(options: argparse.Namespace) -> int:
    from orinbenchd.doors import certs

    made = certs.issue_client(options.folder, options.name)
    _say(f"the client has it by ORINBENCH_CERT={made.certificate} and ORINBENCH_KEY={made.key}; in the configuration:")
    print(f'client_ca = "{(options.folder / "ca.pem").absolute()}"\n')  # noqa: T201
    print(f'[[tls.clients]]\nname = "{options.name}"\nrole = "submit"')  # noqa: T201
    return 0


def _show_key(options: argparse.Namespace) -> int:
    from orinbenchd.signing import board_key

    config = load_config(options.config)
    key = board_key(config.data_dir)
    print(key)  # noqa: T201  # the answer
    _say(f"fingerprint {key.key_id}; clients trust it by: orinbench trust add {config.name} --key {key}")
    return 0


def _say(text: str) -> None:
    print(f"orinbenchd: {text}", file=sys.stderr)  # noqa: T201  # for people
