"""A small directory in PESTE's layout to import or to break, and the command line that is asked about it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from bench_cases.synthetic import SUITE, write_peste
from orinbench_client.cli.main import main

SAMPLES = 6
MODELS = {"model-a": 0.1, "model-b": 0.5}


class PesteDirectory:
    """A directory with one suite of 6 samples, and a successful run of each of two models."""

    def __init__(self, path: Path, models: Mapping[str, float] = MODELS, schema: int = 1, suite: str = SUITE) -> None:
        self.path = path
        self.suite = suite
        write_peste(path, models, SAMPLES, schema, suite)

    def run_folder(self, model: str) -> Path:
        return self.path / "results" / self.suite / f"{self.suite}-{model}-20260101T000000Z"

    def predictions(self, model: str) -> Path:
        return self.run_folder(model) / "predictions.jsonl"

    def change_run(self, model: str, **values: Any) -> None:
        """Set fields of a run's run.json."""
        path = self.run_folder(model) / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    def change_line(self, model: str, index: int, **values: Any) -> None:
        """Set fields of one line of a run's predictions."""
        lines = self.predictions(model).read_text().splitlines()
        lines[index] = json.dumps(json.loads(lines[index]) | values)
        self.predictions(model).write_text("".join(f"{line}\n" for line in lines))

    def change_bytes(self, model: str, change: Callable[[bytes], bytes]) -> None:
        """Rewrite a run's predictions as bytes."""
        path = self.predictions(model)
        path.write_bytes(change(path.read_bytes()))

    def copy_run(self, model: str, name: str) -> Path:
        """Copy a run under another run id."""
        copy = self.run_folder(model).with_name(name)
        shutil.copytree(self.run_folder(model), copy)
        content = json.loads((copy / "run.json").read_text())
        (copy / "run.json").write_text(json.dumps(content | {"run_id": name}))
        return copy


class CommandLine:
    """`orinbench` in this process: its exit code, what it printed, and what it said on standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return code, *self._capsys.readouterr()

    def ok(self, *arguments: object) -> str:
        """Call it, insist on exit code 0, and return what it printed."""
        code, out, err = self(*arguments)
        assert code == 0, err
        return out


def read_board(folder: Path) -> dict[str, Any]:
    """The document of a board."""
    board: dict[str, Any] = json.loads((folder / "leaderboard.json").read_text())
    return board


def import_and_rank(cli: CommandLine, directory: Path, folder: Path) -> dict[str, Any]:
    """Import a directory, make the board, and return its document."""
    cli.ok("import", "peste", directory, "--out", folder / "results")
    cli.ok("leaderboard", "--results", folder / "results", "--out", folder / "out")
    return read_board(folder / "out")
