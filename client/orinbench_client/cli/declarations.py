"""`orinbench suites`, `models`, `validate` and `prepare`: what can be run, and whether it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from orinbench_profiles import list_declarations, load_suite

from orinbench_client.cli.common import JsonOption, print_json, table
from orinbench_client.sdk.model import Model, open_model
from orinbench_client.suites import input_files, open_suite


def suites(as_json: JsonOption = False) -> None:
    """List the suites.

    \b
    orinbench suites
    """
    found = [load_suite(name).declaration for name in list_declarations("suites")]
    if as_json:
        for suite in found:
            print_json(suite.model_dump(mode="json", exclude_none=True))
        return
    rows = [(suite.id, str(suite.samples), suite.language, ", ".join(suite.metrics), suite.title) for suite in found]
    print(table([("suite", "samples", "language", "metrics", "title"), *rows]))
    for suite in found:
        if suite.warning:
            print(f"{suite.id}: {suite.warning}")


def models(as_json: JsonOption = False) -> None:
    """List the models.

    \b
    orinbench models
    """
    found = [open_model(name).declaration for name in list_declarations("models")]
    if as_json:
        for model in found:
            print_json(model.model_dump(mode="json", exclude_none=True))
        return
    rows = [(model.id, model.engine, model.adapter, model.dtype, model.title) for model in found]
    print(table([("model", "engine", "adapter", "dtype", "title"), *rows]))


def validate(
    declaration: Annotated[str, typer.Argument(help="Name, .toml file of a model, or folder of a suite.")],
) -> None:
    """Check a model or a suite declaration.

    Keys and values, and that the files it names are here and have the digests it says. Whether a model runs
    is for a board to show: orinbench run.

    \b
    orinbench validate fa-demo-small
    orinbench validate my-model.toml
    orinbench validate my-suite/
    """
    if Path(declaration).is_dir() or declaration in list_declarations("suites"):
        _prepare(declaration)
        return
    model = open_model(declaration)
    model.verify()
    print(f"model {model.declaration.id} is valid: {_files(model)}, digest {model.digest}")


def prepare(suite: Annotated[str, typer.Argument(help="Name of a suite, or its folder.")]) -> None:
    """Get a suite's data ready and verify them.

    \b
    orinbench prepare fa-demo-v1
    """
    _prepare(suite)


def _prepare(name: str) -> None:
    suite = open_suite(name)
    size = sum(file.size_bytes for file in input_files(suite.samples))
    print(
        f"suite {suite.declaration.id} is ready: {len(suite.samples)} samples, {size / 1e6:.1f} MB, "
        f"digest {suite.digest}"
    )


def _files(model: Model) -> str:
    files = model.declaration.files
    size = sum(file.bytes for file in files) / 1e6
    return f"{len(files)} file{'' if len(files) == 1 else 's'}, {size:.1f} MB"
