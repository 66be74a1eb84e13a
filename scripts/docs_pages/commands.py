"""The page of every command and option, made from the program itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from orinbench_client.cli import main as program

_MARK = "<!-- docs: not run: is the program's own help -->"


def page() -> str:
    """Return the page."""
    head = (
        "# Every command and option\n\n"
        "<!-- Made by scripts/docs from client/orinbench_client/cli: change it there. -->\n\n"
        "What `--help` says, in one place. What holds for all of them, and the shapes of `--json`: "
        "[the command line](../cli.md)."
    )
    return "\n\n".join([head, *(part for name in program.COMMANDS for part in _sections(name))]) + "\n"


def _sections(name: str) -> Iterator[str]:
    group: Any = typer.main.get_command(program._app(name))
    command = group.commands[name]
    verbs = getattr(command, "commands", None)
    if verbs is None:
        yield _section(f"orinbench {name}", command)
        return
    for verb, inner in verbs.items():
        yield _section(f"orinbench {name} {verb}", inner)


def _section(title: str, command: Any) -> str:
    rows = [_row(param) for param in command.params if not getattr(param, "hidden", False) and param.name != "help"]
    table = "\n".join(["| | | |", "|---|---|---|", *rows]) if rows else ""
    return "\n\n".join(part for part in (f"## {title}", *_prose(command.help or ""), table) if part)


def _prose(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        if not paragraph.startswith("\b"):
            yield " ".join(paragraph.split())
            continue
        # Kept as they stand: a heading, and lines to copy.
        lines = [line.strip() for line in paragraph.splitlines() if line.strip("\b \t")]
        yield "\n".join([_MARK, "```", *(line for line in lines if not line.endswith("Examples:")), "```"])


def _row(param: Any) -> str:
    argument = param.param_type_name == "argument"
    metavar = param.metavar or param.name.upper()
    names = f"`{metavar}`" if argument else ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
    needed = "required" if param.required else _default(param.default)
    return f"| {names} | {needed} | {(param.help or '').replace('|', chr(92) + '|').replace('<', '&lt;')} |"


def _default(value: Any) -> str:
    shown = isinstance(value, (str, int, float, Path)) and not isinstance(value, bool) and value != ""
    return f"`{value}`" if shown else ""
