"""`orinbench suites` and `models`: what can be run, and how a model of one's own is declared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from orinbench_profiles import list_declarations, load_suite

from orinbench_client.cli.common import JsonOption, group, print_json
from orinbench_client.cli.terminal import table
from orinbench_client.errors import BadInput
from orinbench_client.sdk.describe import describe_checkpoint
from orinbench_client.sdk.model import open_model


def suites(as_json: JsonOption = False) -> None:
    """List the suites.

    \b
    Examples:
      orinbench suites
    """
    found = [load_suite(name).declaration for name in list_declarations("suites")]
    if as_json:
        for suite in found:
            print_json(suite.model_dump(mode="json", exclude_none=True))
        return
    rows = [
        (suite.id, str(suite.samples or "your copy's"), suite.language, ", ".join(suite.metrics), suite.title)
        for suite in found
    ]
    print(table([("suite", "samples", "language", "metrics", "title"), *rows]))
    for suite in found:
        for axis, words in (suite.variants or {}).items():
            said = f"{axis}: {', '.join(words)} (the first unless --suite {suite.id}:WORD,... says otherwise)"
            print(f"{suite.id}: {said}")
        if suite.warning:
            print(f"{suite.id}: {suite.warning}")


_MODELS_HELP = """List the models, or describe one of your own.

\b
Examples:
  orinbench models list
  orinbench models describe DIR --engine torch --adapter whisper > mine.toml
"""
models = group(_MODELS_HELP)


@models.callback(invoke_without_command=True)
def _models(context: typer.Context, as_json: JsonOption = False) -> None:
    if context.invoked_subcommand is None:
        list_models(as_json)
    elif as_json and context.invoked_subcommand != "list":
        raise BadInput("--json belongs behind 'list'")


@models.command("list")
def list_models(as_json: JsonOption = False) -> None:
    """List the models that can be named.

    \b
    Examples:
      orinbench models list
      orinbench models list --json
    """
    found = [open_model(name).declaration for name in list_declarations("models")]
    if as_json:
        for model in found:
            print_json(model.model_dump(mode="json", exclude_none=True))
        return
    rows = [(model.id, model.engine, model.adapter, model.dtype, model.title) for model in found]
    print(table([("model", "engine", "adapter", "dtype", "title"), *rows]))


@models.command()
def describe(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a checkpoint.")],
    engine: Annotated[str, typer.Option(metavar="NAME", help="Engine that loads it: torch, onnxruntime.")],
    adapter: Annotated[
        str, typer.Option(metavar="NAME", help="Adapter of its task: whisper, ctc, chat, audio-chat, ...")
    ],
    name: Annotated[
        str | None, typer.Option("--id", metavar="NAME", help="Its name; the folder's, if not given.")
    ] = None,
    dtype: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Its native type, where no safetensors file says it.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Its name for people.")] = None,
    license_: Annotated[
        str, typer.Option("--license", metavar="SPDX", help="SPDX identifier of its licence.")
    ] = "unknown",
    runtime: Annotated[
        str, typer.Option(metavar="NAME", help="The board's Python environment that runs it.")
    ] = "default",
) -> None:
    """Write a declaration of a checkpoint in a folder to standard output.

    It names every file with its digest and size; what belongs to other frameworks or to training is left out and
    named on standard error. Options of the adapter can be added under [options].

    \b
    Examples:
      orinbench models describe whisper-fa/ --engine torch --adapter whisper
    """
    declared = describe_checkpoint(folder, name)
    for path in declared.left_out:
        print(f"left out: {path}", file=sys.stderr)
    text = declared.to_toml(
        {
            "title": title or declared.id,
            "license": license_,
            "engine": engine,
            "adapter": adapter,
            "runtime": runtime,
            "dtype": dtype or declared.dtype(),
        }
    )
    print(text, end="")
