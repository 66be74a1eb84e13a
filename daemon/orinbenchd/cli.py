"""The command line of the daemon."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
from pathlib import Path

from orinbenchd.doors.commands import add_commands
from orinbenchd.start_error import StartError
from orinbenchd.version import version

BAD_INPUT = 2


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    options = _parser().parse_args(arguments)
    try:
        sys.exit(options.action(options))
    except StartError as error:
        print(f"orinbenchd: {error}", file=sys.stderr)  # noqa: T201  # the one line for people
        sys.exit(error.code)


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
    add_commands(commands)
    _add_tegrastats(commands)
    return parser


def _add_tegrastats(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    example = "example: tegrastats --interval 500 | orinbenchd tegrastats parse -"
    tegrastats = commands.add_parser("tegrastats", help="read the output of tegrastats", epilog=example)
    verbs = tegrastats.add_subparsers(required=True, metavar="parse")
    parse = verbs.add_parser("parse", help="print one JSON object for each line of a file", epilog=example)
    parse.add_argument("file", type=Path, help="a file of tegrastats lines; - for standard input")
    parse.set_defaults(action=_parse_tegrastats)


def _serve(options: argparse.Namespace) -> int:
    from orinbenchd import config, logs, memory

    settings = config.load_config(options.config)
    logs.configure(settings.log_level)
    _allow_connections()
    memory.share_arenas()
    # A worker is started by exec of a fresh interpreter; gRPC must not hook into that.
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
    # Its C core would print beside our one line for people.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from orinbenchd.server import Daemon

    async def serve() -> int:
        return await Daemon(settings).serve()

    return asyncio.run(serve())


def _allow_connections() -> None:
    """Take as many open files as the system lets us: a thousand connections must not keep the journal from its own."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


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
