"""`score`, `rescore`, `compare` and `export` on bundles, imported and native."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from orinbench_client.bundles.native import write_native
from orinbench_client.bundles.peste import read_source
from orinbench_client.bundles.results import find_bundles, open_bundle
from orinbench_client.suites import open_suite, references

from tests.unit.bundles.native_run import NativeRun
from tests.unit.bundles.peste_directory import CommandLine, PesteDirectory, import_and_rank, read_board

SUITE = "fa-demo-v1"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line."""
    return CommandLine(capsys)


@pytest.fixture
def imported(cli: CommandLine, tmp_path: Path) -> Path:
    """A results folder with two imported runs, model-a the better one."""
    directory = PesteDirectory(tmp_path / "peste")
    cli.ok("import", "peste", directory.path, "--out", tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def native(tmp_path: Path) -> Path:
    """A native bundle of our demonstration suite, not scored yet."""
    suite = open_suite(SUITE)
    run = NativeRun(suite_id=SUITE, suite_digest=suite.digest, references=dict(references(suite)))
    path = tmp_path / "native" / SUITE / run.run_id
    write_native(path, run.run(), run.frames())
    return path


def test_rescore_adds_a_score(imported: Path, cli: CommandLine) -> None:
    """A rescore stands beside the first score, which stays as it was, byte for byte."""
    bundle = find_bundles(imported)[0]
    before = {path.name: path.read_bytes() for path in (bundle / "scores").iterdir()}
    out = cli.ok("rescore", imported, "--normalizer", "fa-v2", "--json")
    after = {path.name: path.read_bytes() for path in (bundle / "scores").iterdir()}

    assert [json.loads(line)["normalizer"]["name"] for line in out.splitlines()] == ["fa-v2", "fa-v2"]
    assert before.items() <= after.items()
    assert sorted(name.split("-")[1] for name in after) == ["v1", "v1", "v2", "v2"]


def test_board_by_another_score(imported: Path, cli: CommandLine, tmp_path: Path) -> None:
    """A board can be made by a named score; a run without that score is listed, not scored silently."""
    first, _ = find_bundles(imported)
    cli.ok("rescore", first, "--normalizer", "fa-v2")
    cli.ok("leaderboard", "--results", imported, "--normalizer", "fa-v2", "--out", tmp_path / "out")
    board = read_board(tmp_path / "out")

    assert board["normalizer"]["name"] == "fa-v2"
    assert [row["model_id"] for row in board["boards"]["accuracy"]["rows"]] == ["model-a"]
    assert [entry["model_id"] for entry in board["unranked"]] == ["model-b"]


def test_score_of_a_native_bundle(native: Path, cli: CommandLine) -> None:
    """A native bundle is scored with the right answers of its suite, found by its name or given as a folder."""
    by_name = json.loads(cli.ok("score", native, "--json"))
    text = cli.ok("score", native, "--suite", SUITE)

    assert by_name["suite_digest"] == open_suite(SUITE).digest
    assert f"WER {by_name['wer']:.4f}, 95 %" in text
    assert "samples" in by_name["diagnostics"]["over_30_s"]


def test_score_with_another_suite_is_refused(cli: CommandLine, tmp_path: Path) -> None:
    """A native bundle of another version of the suite is not scored with this one's answers."""
    run = NativeRun(suite_id=SUITE)
    path = tmp_path / SUITE / run.run_id
    write_native(path, run.run(), run.frames())
    code, _, err = cli("score", path)

    assert code == 2
    assert "give the version it was run on" in err


def test_score_of_a_failed_run(cli: CommandLine, tmp_path: Path) -> None:
    """A failed run has no score, alone an error, in a results folder passed over with a word."""
    run = NativeRun(suite_id=SUITE, failed=True)
    path = tmp_path / SUITE / run.run_id
    write_native(path, run.run(), run.frames())
    code, _, err = cli("score", path)

    assert code == 2
    assert "the run has no score: hung: no progress for 60 s" in err


def test_names_and_failures_of_others_move_no_cursor(cli: CommandLine, tmp_path: Path) -> None:
    """What a bundle calls itself and why it failed reach a terminal as text: no command prints a control of theirs."""
    suite = open_suite(SUITE)
    escape = "\x1b]0;title\x07"
    right = dict(references(suite))
    good = NativeRun(f"good{escape}", SUITE, suite.digest, references=right)
    bad = NativeRun(f"bad{escape}", SUITE, suite.digest, references=right, failed=True)
    paths = [tmp_path / SUITE / run.run_id for run in (good, bad)]
    for run, path in zip((good, bad), paths, strict=True):
        told = run.run()
        told.failure.message = f"gone{escape}"
        told.hardware_profile_digest = f"no digest{escape}"
        write_native(path, told, run.frames())
    said = ""
    for command in (
        ("score", tmp_path),
        ("score", paths[1]),
        ("compare", paths[0], paths[0], "--metric", "cer"),
        ("leaderboard", "--results", tmp_path, "--out", tmp_path / "boards"),
    ):
        _, out, err = cli(*command)
        assert out + err
        said += out + err

    assert "gone\ufffd]0;title\ufffd" in said
    assert not {"\x1b", "\x07"} & set(said)


def test_incomplete_native_run_is_not_scored(native: Path, cli: CommandLine, tmp_path: Path) -> None:
    """Part of a suite is no score of the suite."""
    suite = open_suite(SUITE)
    part = dict(list(references(suite).items())[:3])
    run = NativeRun(suite_id=SUITE, suite_digest=suite.digest, references=part)
    path = tmp_path / SUITE / run.run_id
    write_native(path, run.run(), run.frames())
    code, _, err = cli("score", path)

    assert code == 2
    assert "incomplete:" in err


def test_compare(imported: Path, cli: CommandLine) -> None:
    """The comparison gives the paired interval and the worst samples with an alignment, each text isolated."""
    first, second = find_bundles(imported)
    text = cli.ok("compare", first, second, "--worst", "2")
    found = json.loads(cli.ok("compare", first, second, "--metric", "wer", "--worst", "2", "--json"))

    assert found["difference"] < 0
    assert found["ci"][0] <= found["difference"] <= found["ci"][1]
    assert [entry["sample_id"] for entry in found["worst"]] == [
        line.split(":")[0] for line in text.splitlines() if line.startswith("test-")
    ]
    assert found["worst"][0]["more_edits"] >= found["worst"][1]["more_edits"] > 0
    persian = [line for line in text.splitlines() if any("\u0600" <= sign <= "\u06ff" for sign in line)]
    assert persian
    for line in persian:
        outside = "".join(part.partition("\u2069")[2] for part in line.split("\u2068")[1:]) + line.split("\u2068")[0]
        assert outside.isascii()
        assert line.count("\u2068") == line.count("\u2069") > 0


def test_compare_with_itself(imported: Path, cli: CommandLine) -> None:
    """A run compared with itself differs by nothing, on no sample."""
    first, _ = find_bundles(imported)

    assert "no clear difference\nB has more edits on 0 of 6 samples\n" in cli.ok("compare", first, first)


def test_compare_other_suites(imported: Path, native: Path, cli: CommandLine) -> None:
    """Runs of two suites cannot be compared."""
    cli.ok("score", native)
    code, _, err = cli("compare", find_bundles(imported)[0], native)

    assert code == 2
    assert "are not of one suite" in err


def test_native_run_in_peste_terms(cli: CommandLine, tmp_path: Path) -> None:
    """A native run exported to either schema, with specifications beside it, imports again with the same numbers."""
    suite = open_suite(SUITE)
    run = NativeRun(suite_id=SUITE, suite_digest=suite.digest, references=dict(references(suite)))
    path = tmp_path / "native" / SUITE / run.run_id
    write_native(path, run.run(), run.frames())
    score = json.loads(cli.ok("score", path, "--json"))
    for form in ("peste-1", "peste-2"):
        exported = tmp_path / form
        cli.ok("export", path, "--format", form, "--out", exported)
        directory = PesteDirectory(tmp_path / f"specs-{form}", suite=SUITE)
        rows = [
            {"sample_id": sample.sample_id, "split": "test", "transcription": sample.reference, "duration_seconds": 1}
            for sample in suite.samples
        ]
        _write_specs(directory, exported, rows)
        board = import_and_rank(cli, exported, tmp_path / f"again-{form}")
        (entry,) = board["unranked"]

        assert open_bundle(next(iter(find_bundles(tmp_path / f"again-{form}" / "results")))).facts.causes
        assert "does not hold up" not in entry["cause"]
        assert "no source revision" in entry["cause"]
        (again,) = (tmp_path / f"again-{form}" / "results" / SUITE / run.run_id / "scores").glob("*.json")
        assert json.loads(again.read_text())["words"] == score["words"]


def _write_specs(directory: PesteDirectory, exported: Path, rows: list[dict[str, object]]) -> None:
    """Give an export the specifications that an import needs."""
    from orinbench_profiles.digest import canonical_json, digest_bytes

    manifest = b"".join(map(canonical_json, rows))
    spec = json.loads((directory.path / "suites" / SUITE / "suite.json").read_text())
    spec |= {"manifest_sha256": digest_bytes(manifest)[7:], "expected_split_counts": {"test": len(rows)}}
    folder = exported / "suites" / SUITE
    folder.mkdir(parents=True)
    (folder / "suite.json").write_text(json.dumps(spec))
    (folder / "manifest.jsonl").write_bytes(manifest)
    (exported / "models").mkdir()
    (exported / "models" / "model-n.json").write_text('{"model_id": "model-n"}')
    assert read_source(exported).suites


def test_native_run_without_the_reading(cli: CommandLine, tmp_path: Path) -> None:
    """A native run without timed audio cannot say what peste-2 is about."""
    suite = open_suite(SUITE)
    run = NativeRun(suite_id=SUITE, suite_digest=suite.digest, references=dict(references(suite)), audio=False)
    path = tmp_path / SUITE / run.run_id
    write_native(path, run.run(), run.frames())
    code, _, err = cli("export", path, "--format", "peste-2", "--out", tmp_path / "out")

    assert code == 2
    assert "no timed windows of audio" in err
    assert not (tmp_path / "out").exists()
