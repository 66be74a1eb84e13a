"""Broken directories of PESTE: each gives one clear error and nothing written, or a run that is not ranked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from orinbench_profiles.digest import canonical_json, digest_file

from tests.unit.bundles.peste_directory import CommandLine, PesteDirectory, import_and_rank

Break = Callable[[PesteDirectory], None]


def rewrite(change: Callable[[bytes], bytes]) -> Break:
    return lambda peste: peste.change_bytes("model-a", change)


def insert_line(line: bytes) -> Break:
    return rewrite(lambda data: data.replace(b"\n", b"\n" + line + b"\n", 1))


def rewrite_run(change: Callable[[bytes], bytes]) -> Break:
    def apply(peste: PesteDirectory) -> None:
        path = peste.run_folder("model-a") / "run.json"
        path.write_bytes(change(path.read_bytes()))

    return apply


def change_line(**values: object) -> Break:
    def apply(peste: PesteDirectory) -> None:
        peste.change_line("model-a", 1, **values)

    return apply


def rename_run(peste: PesteDirectory) -> None:
    peste.run_folder("model-a").rename(peste.run_folder("model-a").with_name("copy-of-a-run"))


def link_inside(peste: PesteDirectory) -> None:
    (peste.run_folder("model-a") / "container.jsonl").symlink_to("/etc/hostname")


def change_manifest(peste: PesteDirectory) -> None:
    path = peste.path / "suites" / peste.suite / "manifest.jsonl"
    path.write_text(path.read_text().replace("test-000003", "test-000033"))


def long_recording(peste: PesteDirectory) -> None:
    path = peste.path / "suites" / peste.suite / "manifest.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_bytes(b"".join(canonical_json(row | {"duration_seconds": 1e300}) for row in rows))
    rewrite_suite(peste, manifest_sha256=digest_file(path)[7:])


def manifest_outside(peste: PesteDirectory) -> None:
    path = peste.path / "suites" / peste.suite / "suite.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"manifest_path": "../../../etc/passwd"}))


def same_model_twice(peste: PesteDirectory) -> None:
    shutil.copy(peste.path / "models" / "model-a.json", peste.path / "models" / "again.json")


def empty(peste: PesteDirectory) -> None:
    shutil.rmtree(peste.path)
    peste.path.mkdir()


REFUSED: dict[str, tuple[Break, str]] = {
    "last line cut short": (rewrite(lambda data: data[:-30]), "predictions.jsonl: line 6: cut short"),
    "line cut in the middle": (insert_line(b'{"sequence": 1, "sample'), "predictions.jsonl: line 2: not valid JSON"),
    "empty line": (insert_line(b""), "predictions.jsonl: line 2: not valid JSON"),
    "line that is no object": (insert_line(b"[]"), "predictions.jsonl: line 2: "),
    "NaN in a line": (change_line(word_deletions=float("nan")), "predictions.jsonl: line 2: not valid JSON: NaN"),
    "NaN in run.json": (
        rewrite_run(lambda data: data.replace(b'"wer": ', b'"wer": NaN, "x": ')),
        "run.json: not valid",
    ),
    "number beyond any": (rewrite_run(lambda data: data.replace(b'"wer": ', b'"wer": 1e999, "x": ')), "finite"),
    "negative count": (change_line(character_insertions=-1), "line 2: character_insertions: Input should be greater"),
    "count that is a fraction": (
        change_line(word_deletions=1.5),
        "line 2: word_deletions: Input should be a",
    ),
    "count that is a truth value": (change_line(word_deletions=True), "line 2: word_deletions"),
    "count that is text": (change_line(word_deletions="1"), "line 2: word_deletions"),
    "lone surrogate": (change_line(prediction="a\ud800"), "line 2: holds half of a surrogate pair"),
    "byte order mark": (rewrite(lambda data: b"\xef\xbb\xbf" + data), "line 1: begins with a byte order mark"),
    "byte order mark in run.json": (rewrite_run(lambda data: b"\xef\xbb\xbf" + data), "run.json: begins with a byte"),
    "CRLF": (rewrite(lambda data: data.replace(b"\n", b"\r\n")), "line 1: ends with CRLF"),
    "one line of 5 MB": (insert_line(b'{"prediction": "' + b"x" * 5_000_000 + b'"}'), "line 2: longer than 1 MiB"),
    "Latin-1": (insert_line('{"prediction": "é"}'.encode("latin-1")), "line 2: not UTF-8"),
    "nested without end": (insert_line(b"[" * 200_000), "line 2: nested too deeply"),
    "length beyond all": (long_recording, "manifest.jsonl: line 1: duration_seconds"),
    "no predictions": (lambda peste: peste.predictions("model-a").unlink(), "predictions.jsonl: cannot be read"),
    "predictions elsewhere": (lambda peste: peste.change_run("model-a", predictions_path="../x"), "predictions_path"),
    "unknown status": (lambda peste: peste.change_run("model-a", status="done"), "run.json: status"),
    "unknown schema": (lambda peste: peste.change_run("model-a", schema_version=3), "run.json: schema_version"),
    "run id with a path": (lambda peste: peste.change_run("model-a", run_id="../x"), "run.json: run_id"),
    "run.json is a list": (rewrite_run(lambda _: b"[]"), "run.json: "),
    "renamed folder": (rename_run, "lies in a folder called copy-of-a-run"),
    "link in a run": (link_inside, "container.jsonl: a bundle holds plain files alone"),
    "changed manifest": (change_manifest, "not the manifest that the suite synthetic-fa names"),
    "manifest outside": (manifest_outside, "must be a file below"),
    "unknown normaliser": (
        lambda peste: rewrite_suite(peste, normalization_version="fa-v9"),
        "no normaliser is called 'fa-v9'",
    ),
    "two specifications of a model": (same_model_twice, "two specifications have the same id"),
    "suite of a run missing": (
        lambda peste: rewrite_suite(peste, suite_id="other"),
        "synthetic-fa/suite.json: missing: a run of this suite is there",
    ),
    "no models": (lambda peste: shutil.rmtree(peste.path / "models"), "not a directory of PESTE"),
    "no runs": (lambda peste: shutil.rmtree(peste.path / "results"), "no run in it"),
    "empty directory": (
        empty,
        "not a directory of PESTE",
    ),
    "no directory": (lambda peste: shutil.rmtree(peste.path), "no such folder"),
}


def rewrite_suite(peste: PesteDirectory, **values: object) -> None:
    path = peste.path / "suites" / peste.suite / "suite.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize("case", REFUSED)
def test_unreadable_directory_is_refused(case: str, peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """What cannot be read is one line that says where, exit code 2, and not a file written."""
    damage, expected = REFUSED[case]
    damage(peste)
    code, out, err = cli("import", "peste", peste.path, "--out", tmp_path / "results")

    assert code == 2
    assert expected in err
    assert len(err.splitlines()) == 1
    assert out == ""
    assert not (tmp_path / "results").exists()


def drop_line(index: int) -> Break:
    def change(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        return b"".join(lines[:index] + lines[index + 1 :])

    return rewrite(change)


def repeat_sample(peste: PesteDirectory) -> None:
    first = json.loads(peste.predictions("model-a").read_text().splitlines()[0])
    peste.change_line("model-a", 1, **{**first, "sequence": 1})


def more_aggregates(peste: PesteDirectory) -> None:
    run = json.loads((peste.run_folder("model-a") / "run.json").read_text())
    peste.change_run("model-a", aggregates=run["aggregates"] | {"wer": 0.01})


UNRANKED: dict[str, tuple[Break, str]] = {
    "wrong sample id": (change_line(sample_id="test-999999"), "line 2: sample_id is 'test-999999'"),
    "sample repeated": (repeat_sample, "line 2: sample repeated is 'test-000000'"),
    "last sample missing": (drop_line(5), "predictions.jsonl: samples is 5, should be 6"),
    "middle sample missing": (drop_line(2), "line 3: sample_id is 'test-000003', should be 'test-000002'"),
    "one line too many": (rewrite(lambda data: data + data.splitlines(keepends=True)[0]), "samples is 7, should be 6"),
    "no line at all": (rewrite(lambda _: b""), "samples is 0, should be 6"),
    "wrong sequence": (change_line(sequence=7), "line 2: sequence is 7, should be 1"),
    "edit counts of other text": (change_line(word_substitutions=99), "line 2: word_substitutions is 99"),
    "text of other edit counts": (change_line(prediction="چیزی دیگر"), "line 2: normalized_prediction"),
    "reference that is not the suite's": (change_line(reference="چیزی دیگر"), "line 2: reference is 'چیزی دیگر'"),
    "sums that are not the samples'": (more_aggregates, "run.json: wer is 0.01"),
    "suite digest that is not ours": (
        lambda peste: peste.change_run("model-a", suite_digest="0" * 64),
        "suite digest 000000000000 is not the current one",
    ),
    "older model": (
        lambda peste: peste.change_run("model-a", model_digest="0" * 64),
        "stale: model digest 000000000000 is not the current one",
    ),
    "model without specification": (
        lambda peste: (peste.path / "models" / "model-a.json").unlink(),
        "no current specification of model model-a",
    ),
    "no source revision": (
        lambda peste: peste.change_run("model-a", environment={"hardware_profile": {"profile": "Synthetic board"}}),
        "no source revision recorded",
    ),
    "no hardware profile": (
        lambda peste: peste.change_run("model-a", environment={"peste_revision": "0" * 40}),
        "names no profile",
    ),
    "out of memory": (
        lambda peste: peste.change_run("model-a", status="oom", aggregates=None, error="CUDA out of memory"),
        "oom: CUDA out of memory",
    ),
    "killed": (lambda peste: peste.change_run("model-a", status="killed"), "killed"),
    "still running": (lambda peste: peste.change_run("model-a", status="running"), "running"),
}


@pytest.mark.parametrize("case", UNRANKED)
def test_run_that_does_not_hold_up_is_unranked(
    case: str, peste: PesteDirectory, cli: CommandLine, tmp_path: Path
) -> None:
    """A run that reads but does not hold up is listed with its cause; the other run of the board stays ranked."""
    damage, expected = UNRANKED[case]
    damage(peste)
    board = import_and_rank(cli, peste.path, tmp_path)

    assert [row["model_id"] for row in board["boards"]["accuracy"]["rows"]] == ["model-b"]
    (entry,) = board["unranked"]
    assert entry["model_id"] == "model-a"
    assert entry["axes"] == ["accuracy", "memory", "speed", "energy"]
    assert expected in entry["cause"]


def test_every_difference_is_told(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """The import names each differing sample, the first ten on the screen, all of them in the bundle."""
    for index in range(6):
        peste.change_line("model-a", index, word_insertions=50, character_deletions=60)
    code, out, err = cli("import", "peste", peste.path, "--out", tmp_path / "results")

    assert code == 0
    assert "12 differences: will not be ranked" in out
    assert "predictions.jsonl: line 5: character_deletions is 60, should be" in err
    assert "and 2 more" in err
    (note,) = (tmp_path / "results" / peste.suite).glob("*model-a*/imports/*.json")
    assert len(json.loads(note.read_text())["differences"]) == 12


def test_two_successful_runs_of_one_model(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """Of two successful runs at the current digest none is chosen silently: both are listed with the cause."""
    peste.copy_run("model-a", "second-run-of-a")
    board = import_and_rank(cli, peste.path, tmp_path)

    assert [row["model_id"] for row in board["boards"]["accuracy"]["rows"]] == ["model-b"]
    assert {entry["run_id"] for entry in board["unranked"]} == {"second-run-of-a", peste.run_folder("model-a").name}
    assert all("2 successful runs of one model" in entry["cause"] for entry in board["unranked"])


def test_stale_run_leaves_the_current_one_alone(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """An older run of a model, at another digest, is stale; the current one ranks."""
    copy = peste.copy_run("model-a", "older-run-of-a")
    content = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(content | {"model_digest": "1" * 64}))
    board = import_and_rank(cli, peste.path, tmp_path)

    assert [row["model_id"] for row in board["boards"]["accuracy"]["rows"]] == ["model-a", "model-b"]
    assert [entry["run_id"] for entry in board["unranked"]] == ["older-run-of-a"]


def test_zero_memory_is_no_efficiency(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """A peak of 0 bytes is no reading: the run keeps its accuracy, and leaves the memory board with the cause."""
    run = json.loads((peste.run_folder("model-a") / "run.json").read_text())
    peste.change_run("model-a", memory=run["memory"] | {"peak_cuda_reserved_bytes": 0})
    board = import_and_rank(cli, peste.path, tmp_path)

    assert [row["model_id"] for row in board["boards"]["accuracy"]["rows"]] == ["model-a", "model-b"]
    assert "memory_efficiency" not in board["boards"]["accuracy"]["rows"][0]
    assert [row["model_id"] for row in board["boards"]["memory"]["rows"]] == ["model-b"]
    assert [(entry["axes"], entry["cause"]) for entry in board["unranked"]] == [
        (["memory"], "memory.peak_cuda_reserved_bytes is missing or 0")
    ]
