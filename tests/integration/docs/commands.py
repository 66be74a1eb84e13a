"""Holds command lines against the programs: what nobody runs here must still be something one can type."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from orinbench_client.cli import main as client
from orinbenchd import cli as daemon

from tests.integration.docs.pages import ROOT

_ENDS = set("();&|")
#: `orinbenchd` without one of these or --config would take the system's own folders.
_HARMLESS = {"certs", "tegrastats", "--help", "--version"}


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of every simple command of a shell's block: without redirections, variables and sudo."""
    for line in text.replace("\\\n", " ").splitlines():
        words: list[str] = []
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        tokens = iter(list(lexer))
        for token in tokens:
            if set(token) <= set("<>&") and set(token) & set("<>"):
                next(tokens, None)
            elif set(token) <= _ENDS:
                yield from _called(words)
                words = []
            else:
                words.append(token)
        yield from _called(words)


def _called(words: list[str]) -> Iterator[list[str]]:
    rest = list(words)
    while rest and (re.match(r"[A-Z_]+=", rest[0]) or rest[0] in ("sudo", "exec", "export", "$")):
        word = rest.pop(0)
        if word == "sudo" and rest and rest[0] == "-u":
            del rest[:2]
    if rest:
        yield rest


def problem(words: list[str], *, complete: bool = True) -> str | None:
    """Return what is wrong with a call of one of our programs, None if nothing is or it is none of ours.

    With `complete` False arguments may be missing: what prose speaks of.
    """
    program, arguments = words[0], words[1:]
    if Path(program).name == "orinbench":
        return _client_problem(arguments, complete)
    if Path(program).name == "orinbenchd":
        return _daemon_problem(arguments, complete)
    if program.startswith("scripts/") or program == ".ci/run":
        return _script_problem(program, arguments)
    return None


def writes_to_the_system(words: list[str]) -> bool:
    """Whether a call of the daemon would use the folders of this machine."""
    return Path(words[0]).name == "orinbenchd" and not {"--config", *_HARMLESS} & set(words)


def _client_problem(arguments: list[str], complete: bool) -> str | None:
    if "completion" in "".join(arguments):
        return None  # typer's own option, which would do it here and now
    command: Any = typer.main.get_command(client._app(client._called(arguments)))
    name, context = "orinbench", None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            while True:
                context = command.make_context(name, list(arguments), parent=context)
                if not hasattr(command, "resolve_command"):
                    return None
                # click 8.1 calls them by the public name.
                kept = context._protected_args if hasattr(context, "_protected_args") else context.protected_args
                rest = [*kept, *context.args]
                if not rest:
                    whole = getattr(command, "invoke_without_command", False)
                    return None if whole or not complete else f"{name} is no whole command"
                name, command, arguments = command.resolve_command(context, rest)
    except typer.Exit:
        return None
    except client._UsageError as error:
        text = error.format_message()  # type: ignore[attr-defined]
        return None if not complete and "Missing" in text else text


def _daemon_problem(arguments: list[str], complete: bool) -> str | None:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            daemon._parser().parse_args(arguments)
    except SystemExit as end:
        text = said.getvalue().strip().splitlines()[-1]
        return text if end.code and (complete or "required" not in text) else None
    return None


def _script_problem(program: str, arguments: list[str]) -> str | None:
    path = ROOT / program
    if not path.is_file():
        return f"there is no {program}"
    parts = [path, *(ROOT / "scripts" / path.name.replace("-", "_")).glob("*.py")]
    text = "".join(part.read_text() for part in [*parts, *(ROOT / "scripts/bench_cases").glob("*.py")])
    for argument in arguments:
        if argument.startswith("--") and argument.partition("=")[0] not in text:
            return f"{program} knows no {argument}"
    return None
