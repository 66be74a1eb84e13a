"""The command line of the daemon."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

from orinbenchd.start_error import StartError
from orinbenchd.version import version

# EX_CONFIG: systemd is told not to restart on it, for nothing gets better by trying again.
START_FAILED = 78
BAD_INPUT = 2


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    options = _parser().parse_args(arguments)
    try:
        sys.exit(options.action(options))
    except StartError as error:
        print(f"orinbenchd: {error}", file=sys.stderr)  # noqa: T201  # the one line for people
        sys.exit(START_FAILED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="orinbenchd",
        description="Owns the board: runs one benchmark at a time and keeps every record.",
        epilog="example: orinbenchd --config /etc/orinbench/orinbenchd.toml",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="TOML file (default: /etc/orinbench/orinbenchd.toml)"
    )
    parser.add_argument("--version", action="version", version=f"orinbenchd {version()}")
    parser.set_defaults(action=_serve)
    commands = parser.add_subparsers(title="other commands", metavar="")
    _add_token(commands)
    _add_tegrastats(commands)
    return parser


def _add_token(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    token = commands.add_parser("token", help="make a token for clients that come by TCP")
    verbs = token.add_subparsers(required=True, metavar="create")
    create = verbs.add_parser("create", help="print a new token and the lines for the configuration")
    create.add_argument("--name", required=True, help="who will use it; shown in logs and runs")
    create.add_argument("--role", choices=["watch", "submit", "admin"], default="submit")
    create.set_defaults(action=_create_token)


def _add_tegrastats(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    tegrastats = commands.add_parser("tegrastats", help="read the output of tegrastats")
    verbs = tegrastats.add_subparsers(required=True, metavar="parse")
    parse = verbs.add_parser("parse", help="print one JSON object for each line of a file")
    parse.add_argument("file", type=Path, help="a file of tegrastats lines; - for standard input")
    parse.set_defaults(action=_parse_tegrastats)


def _serve(options: argparse.Namespace) -> int:
    from orinbenchd import config, logs

    settings = config.load_config(options.config)
    logs.configure(settings.log_level)
    # A worker is started by exec of a fresh interpreter; gRPC must not hook into that.
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
    # Its C core would print beside our one line for people.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from orinbenchd.server import Daemon

    async def serve() -> int:
        return await Daemon(settings).serve()

    return asyncio.run(serve())


def _create_token(options: argparse.Namespace) -> int:
    import secrets
    from hashlib import sha256

    token = secrets.token_urlsafe(32)
    print(token)  # noqa: T201  # shown once, kept nowhere
    lines = ["[[tokens]]", f'name = "{options.name}"', f'role = "{options.role}"']
    lines.append(f'sha256 = "{sha256(token.encode()).hexdigest()}"')
    print("give the token to the client (ORINBENCH_TOKEN), and add to the configuration:\n", file=sys.stderr)  # noqa: T201
    print("\n".join(lines), file=sys.stderr)  # noqa: T201
    return 0


def _parse_tegrastats(options: argparse.Namespace) -> int:
    from orinbenchd.telemetry.tegrastats import parse_file, parse_lines

    try:
        for line in parse_lines(sys.stdin) if str(options.file) == "-" else parse_file(options.file):
            print(json.dumps(line.to_json(), ensure_ascii=False))  # noqa: T201  # the answer
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"orinbenchd: {options.file}: cannot be read: {error.strerror}", file=sys.stderr)  # noqa: T201  # the one line
        return BAD_INPUT
    return 0
