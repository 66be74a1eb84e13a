"""Import and export of PESTE's directories, and what several of them in one results folder do to each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from orinbench_client.bundles.results import find_bundles, load_run

from tests.unit.bundles.peste_directory import MODELS, CommandLine, PesteDirectory, import_and_rank, read_board


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def ids(board: dict[str, list[dict[str, str]]]) -> list[str]:
    return [row["model_id"] for row in board["rows"]]


def test_export_gives_back_what_came_in(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """An imported directory comes out of an export byte for byte, specifications and unsuccessful runs included."""
    peste.change_run("model-b", status="oom")
    (peste.run_folder("model-b") / "logs").mkdir()
    (peste.run_folder("model-b") / "logs" / "runner.jsonl").write_text('{"a": 1}\n')
    cli.ok("import", "peste", peste.path, "--out", tmp_path / "results")
    cli.ok("export", tmp_path / "results", "--format", "peste-1", "--out", tmp_path / "exported")

    assert files_of(peste.path) == files_of(tmp_path / "exported")


def test_importing_again_changes_nothing(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """The same import twice is no error and leaves every file as it was."""
    cli.ok("import", "peste", peste.path, "--out", tmp_path / "results")
    before = files_of(tmp_path / "results")

    assert "0 runs imported, 2 were there already" in cli.ok(
        "import", "peste", peste.path, "--out", tmp_path / "results"
    )
    assert before == files_of(tmp_path / "results")


def test_importing_again_mends_the_specifications(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """A specification that was lost and one that was changed are as they came after the same import again."""
    cli.ok("import", "peste", peste.path, "--out", tmp_path / "results")
    before = files_of(tmp_path / "results")
    lost, changed, *_ = sorted(path for path in (tmp_path / "results" / ".sources").rglob("*") if path.is_file())
    lost.unlink()
    changed.write_bytes(b"{}")
    cli.ok("import", "peste", peste.path, "--out", tmp_path / "results")

    assert before == files_of(tmp_path / "results")


def test_another_run_of_the_same_name(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """A run id that is there with other content is refused before anything is written."""
    cli.ok("import", "peste", peste.path, "--out", tmp_path / "results")
    before = files_of(tmp_path / "results")
    peste.change_run("model-b", error="changed")
    peste.copy_run("model-a", "a-new-run")
    code, _, err = cli("import", "peste", peste.path, "--out", tmp_path / "results")

    assert code == 2
    assert "another run of this name is there" in err
    assert before == files_of(tmp_path / "results")


def test_schema_2(cli: CommandLine, tmp_path: Path) -> None:
    """Bundles of schema 2 get a board with accuracy and speed, and without memory; exported, they are as they came."""
    directory = PesteDirectory(tmp_path / "peste", schema=2)
    board = import_and_rank(cli, directory.path, tmp_path)
    cli.ok("export", tmp_path / "results", "--format", "peste-2", "--out", tmp_path / "exported")

    assert ids(board["boards"]["accuracy"]) == ["model-a", "model-b"]
    assert "memory" not in board["boards"]
    assert "memory_efficiency" not in board["boards"]["accuracy"]["rows"][0]
    assert board["boards"]["speed"]["rows"][0]["rtf"] == pytest.approx(0.07)
    assert "window_p90_s" not in board["boards"]["speed"]["rows"][0]
    assert files_of(directory.path) == files_of(tmp_path / "exported")


def test_schema_2_speed_board(cli: CommandLine, tmp_path: Path) -> None:
    """Throughput ranks the speed board and the Pareto front; an invalid speed keeps its accuracy, with the cause."""
    models = {"model-exact": 0.02, "model-quick": 0.4, "mo": 0.3, "model-resumed": 0.1}
    directory = PesteDirectory(tmp_path / "peste", models, schema=2)
    run = json.loads((directory.run_folder("model-resumed") / "run.json").read_text())
    directory.change_run("model-resumed", speed=run["speed"] | {"valid": False, "invalidity_reason": "resumed"})
    board = import_and_rank(cli, directory.path, tmp_path)
    front = board["boards"]["pareto"]["cer_rtf"]

    assert ids(board["boards"]["speed"]) == ["mo", "model-exact", "model-quick"]
    assert set(ids(board["boards"]["accuracy"])) == set(models)
    assert [(entry["model_id"], entry["axes"]) for entry in board["unranked"]] == [("model-resumed", ["speed"])]
    assert board["unranked"][0]["cause"] == "speed not valid: resumed"
    assert {point["model_id"] for point in front["points"] if point["on_front"]} == {"mo", "model-exact"}
    assert {(edge["dominating"], edge["dominated"]) for edge in front["dominance"]} == {
        ("mo", "model-quick"),
        ("model-exact", "model-quick"),
    }


def test_speed_that_contradicts_itself(cli: CommandLine, tmp_path: Path) -> None:
    """A throughput that is not that of its own seconds is not ranked by."""
    directory = PesteDirectory(tmp_path / "peste", schema=2)
    run = json.loads((directory.run_folder("model-a") / "run.json").read_text())
    directory.change_run("model-a", speed=run["speed"] | {"audio_throughput_x": 9000.0})
    board = import_and_rank(cli, directory.path, tmp_path)

    assert ids(board["boards"]["speed"]) == ["model-b"]
    assert "is not that of its seconds" in board["unranked"][0]["cause"]


def test_two_schemas_never_share_a_board(cli: CommandLine, tmp_path: Path) -> None:
    """Runs of both schemas in one results folder make two boards, each in a folder of its own, and an index."""
    for schema, models in ((1, {"model-a": 0.1}), (2, {"model-b": 0.2})):
        directory = PesteDirectory(tmp_path / f"peste-{schema}", models, schema)
        cli.ok("import", "peste", directory.path, "--out", tmp_path / "results")
    cli.ok("leaderboard", "--results", tmp_path / "results", "--out", tmp_path / "out")
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    boards = {entry["folder"]: read_board(tmp_path / "out" / entry["folder"]) for entry in index["boards"]}

    assert not (tmp_path / "out" / "leaderboard.json").exists()
    assert sorted(ids(board["boards"]["accuracy"])[0] for board in boards.values()) == ["model-a", "model-b"]
    assert len({board["hardware"]["digest"] for board in boards.values()}) == 2


def test_specifications_of_two_imports_stay_apart(cli: CommandLine, tmp_path: Path) -> None:
    """What is current in one import says nothing about another's runs: a run is stale by its own import alone."""
    mine = PesteDirectory(tmp_path / "mine", {"model-a": 0.1, "model-b": 0.2})
    theirs = PesteDirectory(tmp_path / "theirs", {"model-a": 0.3, "model-c": 0.4})
    run = theirs.copy_run("model-a", "their-run-of-a")
    theirs_spec = theirs.path / "models" / "model-a.json"
    theirs_spec.write_text(json.dumps({"model_id": "model-a", "revision": "a newer one"}))
    for path in theirs.run_folder("model-a").iterdir():
        path.unlink()
    theirs.run_folder("model-a").rmdir()
    for directory in (mine, theirs):
        cli.ok("import", "peste", directory.path, "--out", tmp_path / "results")
    cli.ok("leaderboard", "--results", tmp_path / "results", "--out", tmp_path / "out")
    board = read_board(tmp_path / "out")

    assert sorted(ids(board["boards"]["accuracy"])) == ["model-a", "model-b", "model-c"]
    assert [entry["run_id"] for entry in board["unranked"]] == [run.name]
    assert "stale" in board["unranked"][0]["cause"]


def test_two_versions_of_a_model_current_in_their_imports(cli: CommandLine, tmp_path: Path) -> None:
    """Two imports with different versions of one model rank both, told apart by their digests."""
    for name, rate in (("mine", 0.1), ("theirs", 0.3)):
        directory = PesteDirectory(tmp_path / name, {"model-a": rate})
        if name == "theirs":
            spec = directory.path / "models" / "model-a.json"
            spec.write_text(json.dumps({"model_id": "model-a", "revision": "theirs"}))
            copy = directory.copy_run("model-a", "their-run")
            for path in directory.run_folder("model-a").iterdir():
                path.unlink()
            directory.run_folder("model-a").rmdir()
            digest = load_spec_digest(directory)
            content = json.loads((copy / "run.json").read_text())
            (copy / "run.json").write_text(json.dumps(content | {"model_digest": digest}))
        cli.ok("import", "peste", directory.path, "--out", tmp_path / "results")
    cli.ok("leaderboard", "--results", tmp_path / "results", "--out", tmp_path / "out")
    board = read_board(tmp_path / "out")

    assert len(set(ids(board["boards"]["accuracy"]))) == 2
    assert all(model.startswith("model-a@") for model in ids(board["boards"]["accuracy"]))
    assert board["unranked"] == []
    code, _, err = cli("export", tmp_path / "results", "--out", tmp_path / "exported")
    assert code == 2
    assert "choose one with --source" in err


def load_spec_digest(directory: PesteDirectory) -> str:
    from orinbench_client.bundles.peste import read_source

    return read_source(directory.path).models["model-a"][7:]


def test_one_run_in_two_imports(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """A run that two imports bring is there once, and current if it is current in one of them."""
    other = PesteDirectory(tmp_path / "other")
    for directory, model in ((peste, "model-b"), (other, "model-a")):
        spec = {"model_id": model, "revision": "newer"}
        (directory.path / "models" / f"{model}.json").write_text(json.dumps(spec))
    for directory in (peste, other):
        cli.ok("import", "peste", directory.path, "--out", tmp_path / "results")
    cli.ok("leaderboard", "--results", tmp_path / "results", "--out", tmp_path / "out")

    assert len(find_bundles(tmp_path / "results")) == len(MODELS)
    assert ids(read_board(tmp_path / "out")["boards"]["accuracy"]) == ["model-a", "model-b"]


def test_hidden_files_are_left_behind(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """What a file manager leaves in a run's folder is neither copied nor an error."""
    (peste.run_folder("model-a") / ".DS_Store").write_bytes(b"\0")
    cli.ok("import", "peste", peste.path, "--out", tmp_path / "results")

    assert not list((tmp_path / "results").rglob(".DS_Store"))


def test_results_that_are_a_file(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """A file where the results folder should be is one clear error."""
    (tmp_path / "results").write_text("")
    code, _, err = cli("import", "peste", peste.path, "--out", tmp_path / "results")

    assert code == 2
    assert "cannot be written: Not a directory" in err or "cannot be written: File exists" in err


def test_audio_lengths_survive_the_import(peste: PesteDirectory, cli: CommandLine, tmp_path: Path) -> None:
    """A rescored bundle has the duration buckets of the first score: the lengths came along."""
    cli.ok("import", "peste", peste.path, "--out", tmp_path / "results")
    cli.ok("rescore", tmp_path / "results", "--normalizer", "fa-v2")
    path = find_bundles(tmp_path / "results")[0]
    first, second = load_run(path), load_run(path, "fa-v2")

    assert [bucket["samples"] for bucket in first.diagnostics["durations"]] == [  # type: ignore[attr-defined]
        bucket["samples"]
        for bucket in second.diagnostics["durations"]  # type: ignore[attr-defined]
    ]
