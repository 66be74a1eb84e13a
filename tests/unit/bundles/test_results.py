"""Odd results folders: what is passed over, and what is refused with a clear error."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.bundles.peste_directory import CommandLine, PesteDirectory, read_board


@pytest.fixture
def results(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> Path:
    """A results folder with two imported runs."""
    cli.ok("import", "peste", peste.path, "--out", tmp_path / "results")
    return tmp_path / "results"


def bundle(results: Path) -> Path:
    (path,) = results.glob("*/*model-a*")
    return path


def append(name: str, data: bytes) -> Callable[[Path], None]:
    def change(results: Path) -> None:
        (path,) = bundle(results).glob(name)
        path.write_bytes(path.read_bytes() + data)

    return change


def copy_bundle(results: Path) -> None:
    shutil.copytree(bundle(results), bundle(results).with_name("copy of a run"))


def move_suite(results: Path) -> None:
    bundle(results).parent.rename(results / "another-suite")


def remove(name: str) -> Callable[[Path], None]:
    def change(results: Path) -> None:
        for path in bundle(results).glob(name):
            path.unlink()

    return change


def write(name: str, text: str) -> Callable[[Path], None]:
    return lambda results: void((bundle(results) / name).write_text(text))


def void(_: object) -> None:
    """Drop a value."""


def foreign_texts(results: Path) -> None:
    (path,) = bundle(results).glob("scores/*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"texts_digest": "sha256:" + "0" * 64}))


def other_sums(results: Path) -> None:
    (path,) = bundle(results).glob("scores/*.json")
    summary = json.loads(path.read_text())
    path.write_text(json.dumps(summary | {"words": summary["words"] | {"deletions": 999}}))


REFUSED: dict[str, tuple[Callable[[Path], None], str]] = {
    "texts changed": (append("upstream/predictions.jsonl", b"\n"), "changed since the bundle was written"),
    "run changed": (append("run.json", b" "), "changed since the bundle was written"),
    "texts gone": (remove("upstream/predictions.jsonl"), "named by the manifest, cannot be read"),
    "manifest gone": (remove("manifest.json"), "manifest.json: cannot be read"),
    "manifest of something else": (write("manifest.json", "{}"), "not the manifest of a bundle"),
    "manifest outside": (
        write("manifest.json", '{"schema": "orinbench-bundle-1", "files": {"run.json": {}, "../x": {}}}'),
        "run.json: changed",
    ),
    "run.json no object": (write("run.json", "[]"), "not an object"),
    "imports gone": (remove("imports/*"), "nothing says what is current"),
    "scores changed": (append("scores/*.jsonl", b"\n"), "missing or changed since it was written"),
    "scores gone": (remove("scores/*.jsonl"), "missing or changed since it was written"),
    "no score": (write("scores/notes.json", "{}"), "notes.json: schema"),
    "score of other texts": (foreign_texts, "is of other texts"),
    "score that does not add up": (other_sums, "do not add up"),
    "a copy of a run": (copy_bundle, "a copy? Remove it"),
    "suite renamed": (move_suite, "holds suite synthetic-fa"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_damaged_results_are_refused(case: str, results: Path, cli: CommandLine, tmp_path: Path) -> None:
    """A bundle that was changed, cut or copied stops the leaderboard with one line, and no board is written."""
    damage, expected = REFUSED[case]
    damage(results)
    code, out, err = cli("leaderboard", "--results", results, "--out", tmp_path / "out")

    assert code == 2
    assert expected in err
    assert len(err.splitlines()) == 1
    assert out == ""
    assert not (tmp_path / "out").exists()


def test_what_is_no_bundle_is_passed_over(results: Path, cli: CommandLine, tmp_path: Path) -> None:
    """Files, hidden folders, folders without run.json and empty suites do not disturb a board."""
    (results / "README.md").write_text("mine")
    (results / "empty-suite").mkdir()
    (bundle(results).parent / ".partial-run").mkdir()
    (bundle(results).parent / "notes").mkdir()
    (bundle(results).parent / "notes.txt").write_text("mine")
    cli.ok("leaderboard", "--results", results, "--out", tmp_path / "out")

    assert len(read_board(tmp_path / "out")["boards"]["accuracy"]["rows"]) == 2


def test_run_without_score_is_told_how_to_get_one(results: Path, cli: CommandLine, tmp_path: Path) -> None:
    """A run whose scores were removed is listed, and `orinbench score` brings it back with the same numbers."""
    cli.ok("leaderboard", "--results", results, "--out", tmp_path / "before")
    remove("scores/*")(results)
    cli.ok("leaderboard", "--results", results, "--out", tmp_path / "without")
    (entry,) = read_board(tmp_path / "without")["unranked"]
    assert "orinbench score" in entry["cause"]
    cli.ok("score", bundle(results))
    cli.ok("leaderboard", "--results", results, "--out", tmp_path / "after")

    assert read_board(tmp_path / "before") == read_board(tmp_path / "after")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("leaderboard", "--results", "{}/none", "--out", "{}/out"), "no such folder"),
        (("leaderboard", "--results", "{}", "--suite", "none", "--out", "{}/out"), "no bundle in it"),
        (("leaderboard", "--results", "{}/synthetic-fa", "--out", "{}/out"), "give the folder above it"),
        (("score", "{}/none"), "no such folder"),
        (("compare", "{}/none", "{}/none"), "not a bundle: it has no run.json"),
        (("rescore", "{}", "--normalizer", "fa-v9"), "no normaliser is called 'fa-v9'"),
        (("export", "{}", "--format", "peste-2", "--out", "{}/out"), "it lacks what peste-2 needs"),
        (("export", "{}", "--format", "peste-1", "--out", "{}"), "is there already"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], expected: str, results: Path, cli: CommandLine) -> None:
    """Folders that are not there or not what a command needs: one line, exit code 2."""
    code, _, err = cli(*(argument.format(results) for argument in arguments))

    assert code == 2
    assert expected in err
    assert len(err.splitlines()) == 1
