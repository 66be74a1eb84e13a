"""The face of the command line: overview, help, errors, and what is imported for them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest
import typer
from orinbench_client.cli.common import seconds
from orinbench_client.cli.main import COMMANDS, main
from orinbench_client.cli.terminal import table

HEAVY = ("grpc", "numpy", "pydantic", "google.protobuf", "rich", "orinbench_client.sdk")


def test_help_imports_nothing_heavy() -> None:
    """`orinbench --help` runs without gRPC, numpy, pydantic, protobuf, rich or our own SDK."""
    code = (
        "import sys; from orinbench_client.cli.main import main; code = main(['--help']); "
        f"print(sorted(set(sys.modules) & set({HEAVY!r}))); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
    assert all(f"  {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_helps(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command exists, and its summary in the overview is how its help begins."""
    assert main([name, "--help"]) == 0
    assert f"Usage: orinbench {name}" in capsys.readouterr().out
    code = getattr(import_module(f"orinbench_client.cli.{COMMANDS[name].module}"), COMMANDS[name].attribute)
    text = code.info.help if isinstance(code, typer.Typer) else inspect.getdoc(code)
    assert text
    assert text.startswith(COMMANDS[name].summary.removesuffix("."))


def every_command() -> list[tuple[str, ...]]:
    """Return the words of every command, those within a group among them."""
    found: list[tuple[str, ...]] = []
    for name, command in COMMANDS.items():
        found.append((name,))
        code = getattr(import_module(f"orinbench_client.cli.{command.module}"), command.attribute)
        if isinstance(code, typer.Typer):
            registered = typer.main.get_command(code)
            found += [(name, inner) for inner in getattr(registered, "commands", ())]
    return found


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_help_is_of_one_style(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every help ends its text with whole command lines under one heading, fits 80 columns, without boxes."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*words, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()

    first = lines.index("  Examples:") + 1
    assert lines[first].startswith(f"    orinbench {words[0]}")
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "│" in line]


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_a_result_can_be_had_as_json(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Every command with a result has --json; those without one are few."""
    without = {("models", "describe"), ("trust", "remove")} | {("config", verb) for verb in ("set", "unset", "path")}
    groups = {(name,) for name, *inner in every_command() if inner} - {("models",), ("fleet",)}
    assert main([*words, "--help"]) == 0

    assert ("--json" in capsys.readouterr().out) is (words not in without | groups)


def test_overview_is_whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In a terminal of 80 columns no summary is cut and no line is too long."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    text = capsys.readouterr().out

    assert "..." not in text.partition("Commands:")[2]
    assert max(map(len, text.splitlines())) <= 80
    assert "  Examples:" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["bord"], "No such command 'bord'"),
        (["run"], "Missing option"),
        (["run", "--suite"], "requires an argument"),
        (["board", "--hots", "x"], "No such option: --hots"),
        (["runs", "--limit", "many"], "'--limit'"),
        (["runs", "--limit", "0"], "'--limit'"),
        (["runs", "--state", "dreaming", "--host", "/none"], "no state is called 'dreaming': there are queued"),
        (["validate", "fa-demo-smal"], "did you mean 'fa-demo-small'?"),
        (["prepare", "--suite", "fa-demo-v2"], "did you mean 'fa-demo-v1'?"),
        (["push"], "nothing to push"),
        (["board", "--host", "nonsense"], "neither unix:/path, /path, host:port nor tls://host:port"),
        (["validate", "/none/model.toml"], "/none/model.toml: cannot be read"),
        (["top", "--host", "/none"], "use --once"),
    ],
)
def test_usage_error_is_one_line(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the user got wrong is one line on standard error and exit code 2."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("orinbench: ")
    assert text in line


def test_unexpected_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A fault of ours is one line with its kind, how to see more, and a code of its own."""
    monkeypatch.delenv("ORINBENCH_DEBUG", raising=False)
    # A path with a zero byte is what no caller checks for.
    assert main(["validate", "a\0.toml"]) == 70
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("orinbench: unexpected ValueError: ")
    assert "ORINBENCH_DEBUG=1" in line

    monkeypatch.setenv("ORINBENCH_DEBUG", "1")
    with pytest.raises(ValueError, match="null byte"):
        main(["validate", "a\0.toml"])


def test_reader_that_leaves() -> None:
    """A reader that has seen enough, such as head, ends the program without a word."""
    done = subprocess.run(
        f"{sys.executable} -m orinbench_client.cli.main models --json | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.returncode in (0, 1)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` names the program and a version."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("orinbench ")


def test_table_counts_cells() -> None:
    """Columns are aligned by what a terminal shows: marks and isolates take no cell."""
    lines = table([("a", "b"), ("abcd", "1"), ("سَلام", "2")]).splitlines()

    assert lines == ["a     b", "abcd  1", "\u2068سَلام\u2069  2"]


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0.0 s"), (59.94, "59.9 s"), (60, "1:00"), (3599.6, "1:00:00"), (7384, "2:03:04")]
)
def test_seconds(value: float, text: str) -> None:
    """Durations read well at any length."""
    assert seconds(value) == text
