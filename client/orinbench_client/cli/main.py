"""The program `orinbench`. A command's module is imported only when that command is called."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, NamedTuple, cast

import typer

from orinbench_client.cli.terminal import paint, plain
from orinbench_client.errors import BadInput, OrinbenchError

# sysexits.h: a fault of the program itself.
EX_SOFTWARE = 70
# No path or digest is longer; what is would push the rest of the line off the screen.
_WORD_MAX = 400
INTERRUPTED = 128 + signal.SIGINT
# Its public subclass is the same in every version of typer; where the class itself lives is not.
_UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])


class Command(NamedTuple):
    """Where a command lives, and the line the overview shows: the first of its docstring."""

    module: str
    attribute: str
    summary: str


COMMANDS = {
    "demo": Command("demo", "demo", "Start a daemon here and run both demo models on it."),
    "run": Command("run", "run", "Run a model over a suite on a board, and score it."),
    "matrix": Command("matrix", "matrix", "Run several models over several suites on one board."),
    "fleet": Command("fleet", "app", "Run models over suites on many boards."),
    "runs": Command("runs", "runs", "List the runs of a board, newest first."),
    "watch": Command("watch", "watch", "Follow a run from where you left it."),
    "cancel": Command("runs", "cancel", "Stop a queued or active run."),
    "resume": Command("runs", "resume", "Continue a failed run in a new segment."),
    "push": Command("push", "push", "Send a model or a suite to a board ahead of a run."),
    "board": Command("board", "board", "Show what a board is, and whether it takes runs."),
    "check": Command("board", "check", "Run a board's preflight checks."),
    "top": Command("top", "top", "Watch a board live."),
    "config": Command("config", "app", "Give boards names, and choose the one that is meant."),
    "suites": Command("declarations", "suites", "List the suites."),
    "models": Command("declarations", "models", "List the models, or describe one of your own."),
    "validate": Command("validate", "validate", "Check a model or a suite declaration."),
    "prepare": Command("prepare", "prepare", "Get a suite's data ready here, or have a board fetch a model."),
    "score": Command("score", "score", "Score bundles by the normaliser or scorer of their suite."),
    "rescore": Command("rescore", "rescore", "Score bundles anew by another normaliser or scorer."),
    "compare": Command("compare", "compare", "Compare two runs of one suite, sample by sample."),
    "leaderboard": Command("leaderboard", "leaderboard", "Make the leaderboards of a results folder."),
    "report": Command("report", "report", "Make one page of boards, charts, runs and samples."),
    "ci": Command("ci", "ci", "Hold a board's figures against the gates of a CI job."),
    "trust": Command("trust", "app", "Trust boards by their public keys."),
    "import": Command("import_", "app", "Import the results of other tools as bundles."),
    "export": Command("export", "export", "Export bundles in PESTE's layout."),
}

_EPILOG = """\b
Examples:
  orinbench demo
  orinbench run --suite fa-demo-v1 --model fa-demo-small --host lab
  orinbench config set lab.address tls://agx.lab:50061
  orinbench COMMAND --help

\b
Exit codes: 0 ok, 1 gate not met, 2 usage or bad input, 3 run failed,
4 board refused, 5 cannot reach the board; 130 left by Ctrl-C.
The board: --host, ORINBENCH_HOST, 'orinbench config', or the local socket."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. Errors are one line on standard error."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    # What gRPC logs of its own about links that come and go is no news to people; errors reach them by us.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # The products of a bootstrap are many and small: threads that wait for each other cost more than they help, and on
    # a busy machine tens of times more.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _require_text(arguments)
        command = typer.main.get_command(_app(_called(arguments)))
        return int(command.main(arguments, prog_name="orinbench", standalone_mode=False) or 0)
    except OrinbenchError as error:
        return _complain(str(error), error.exit_code)
    except _UsageError as error:
        return _complain(_usage_text(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", INTERRUPTED)
    except Exception as error:
        if os.environ.get("ORINBENCH_DEBUG"):
            raise
        if isinstance(error, OSError) and error.filename is not None:
            # A reader of files says more; this is for those nobody thought of.
            return _complain(f"{error.filename}: cannot be used: {error.strerror}: name another", 2)
        text = f"unexpected {type(error).__name__}: {error} (ORINBENCH_DEBUG=1 shows where)"
        return _complain(text, EX_SOFTWARE)


def _require_text(arguments: Sequence[str]) -> None:
    """Raise BadInput for bytes that are no text: they can stand neither in a message nor in JSON."""
    variables = {name: value for name, value in os.environ.items() if name.startswith("ORINBENCH_")}
    for where, text in (
        *((f"argument {number}", text) for number, text in enumerate(arguments, 1)),
        *variables.items(),
    ):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadInput(f"{where} is not UTF-8 text: {text!a}: rename the file, or set the locale") from None


def _app(called: str | None) -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None, no_args_is_help=False, add_completion=True)
    app.callback(epilog=_EPILOG)(_root)
    for name, command in COMMANDS.items():
        if name != called:
            app.command(name, help=command.summary)(_not_called)
            continue
        code = getattr(import_module(f"orinbench_client.cli.{command.module}"), command.attribute)
        if isinstance(code, typer.Typer):
            app.add_typer(code, name=name)
        else:
            app.command(name)(code)
    return app


def _called(arguments: Sequence[str]) -> str | None:
    """Return the command on the command line; a shell that completes gives its words in the environment."""
    completing = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    words = [*arguments, *completing.split()[1:]]
    return next((word for word in words if word in COMMANDS), None)


def _not_called() -> None:
    """Stand for a command that only the overview needs."""


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print("orinbench", version("orinbench"))
        except PackageNotFoundError:
            print("orinbench (a checkout that is not installed)")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Benchmark models on boards: submit runs, follow them, score them, rank them."""


def _usage_text(error: Exception) -> str:
    text = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    return f"{text} (see: {context.command_path if context else 'orinbench'} --help)"


def _complain(text: str, code: int) -> int:
    words = (word if len(word) <= _WORD_MAX else f"{word[:80]}…{word[-80:]}" for word in text.split())
    print(paint("orinbench:", "red", sys.stderr), plain(" ".join(words)), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
