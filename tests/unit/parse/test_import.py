"""Upstream's stored answers as bundles: what counts, what is refused, and the boards made of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from orinbench_client.bundles.results import open_bundle
from orinbench_profiles import digest_file

from tests.unit.bundles.peste_directory import CommandLine, read_board
from tests.unit.parse.parse_folder import answers_file, write_answers

BOOLEAN, FACTOID, MULTICHOICE = "boolean", "factoid", "multichoice"


class Import:
    """The commands a user gives, on one folder and one results folder."""

    def __init__(self, cli: CommandLine, folder: Path, out: Path) -> None:
        self._cli = cli
        self._folder = folder
        self._out = out
        self.results = out / "results"

    def call(self, strategy: str = "zero_shot") -> tuple[int, str, str]:
        """Import."""
        arguments = ("--strategy", strategy, "--suite", self._folder, "--out", self.results)
        return self._cli("import", "parse-answers", self._folder, *arguments)

    def board(self, strategy: str = "zero_shot", *options: str) -> dict[str, Any]:
        """Import and rank; return the document."""
        code, _, err = self.call(strategy)
        assert code == 0, err
        self._cli.ok("leaderboard", "--results", self.results, "--suite", "parse-own", "--out", self._out, *options)
        return read_board(self._out)

    def refused(self, strategy: str = "zero_shot") -> str:
        """Import, which must fail with one line and nothing written."""
        code, _, err = self.call(strategy)
        assert (code, err.count("\n")) == (2, 1)
        assert not self.results.exists()
        return err


@pytest.fixture
def imports(cli: CommandLine, folder: Path, tmp_path: Path) -> Import:
    """The commands."""
    return Import(cli, folder, tmp_path / "out")


def cell(board: dict[str, Any], type_: str, subtype: str, approach: str = "multihop", **labels: str) -> dict[str, Any]:
    """The one cell with these labels."""
    wanted = {"type": type_, "approach": approach, "subtype": subtype, **labels}
    (found,) = [row for row in board["boards"]["cells"] if wanted.items() <= row.items()]
    return dict(found)


def test_right_answers_earn_everything(imports: Import, folder: Path) -> None:
    """A model that is always right has 1 in every cell and each difficulty; the floors stand beside it."""
    write_answers(folder)
    board = imports.board()

    assert len(board["boards"]["cells"]) == 18
    assert {1.0} == {row["score"] for row in board["boards"]["cells"] + board["boards"]["difficulty"]}
    (row,) = board["boards"]["accuracy"]["rows"]
    assert (row["model"], row["score"], row["n"]) == ("model-a", 1.0, 72)
    assert (row["prompt_language"], row["strategy"], row["split"]) == ("persian", "zero_shot", "full")
    found = cell(board, BOOLEAN, "negation")
    assert (found["floor"], found["floor_answer"], found["score_2dp"], found["n"]) == (1.0, "false", "1.00", 4)
    assert cell(board, MULTICHOICE, "multi")["floor"] == 0.5
    assert cell(board, FACTOID, "nonanswerable")["floor"] == 1.0
    assert cell(board, FACTOID, "simple")["floor"] == 0.0


def test_oddities_of_upstreams_files(imports: Import, folder: Path) -> None:
    """A repeated id: the last counts; a stray id counts nowhere; a bare text and numbers of no option are taken."""
    changes = {
        "factoid_multihop_simple_1": "دریای خزر",
        "multichoice_multihop_multi_1": [1, 3, 7],
        "multichoice_multihop_single_1": [0, 2],
    }
    extra = {
        BOOLEAN: [
            {"id": "boolean_multihop_simple_1", "predicted_answer": False},
            {"id": "boolean_multihop_simple75", "predicted_answer": True},
        ]
    }
    write_answers(folder, changes=changes, extra=extra)
    code, out, err = imports.call()
    board = imports.board()

    assert (code, "boolean_multihop_simple75" in err) == (0, True)
    assert "1 runs imported" in out
    assert cell(board, BOOLEAN, "simple")["score"] == 0.75
    assert cell(board, FACTOID, "simple")["score"] == 0.75
    assert cell(board, MULTICHOICE, "multi")["score"] == pytest.approx((3 + 2 / 3) / 4, abs=1e-15)
    assert cell(board, MULTICHOICE, "single")["score"] == 0.75


def test_answers_in_the_file_of_another_type(imports: Import, folder: Path) -> None:
    """An answer in the wrong type's file counts for nothing and is named: it fails nothing, and replaces nothing."""
    wrong: dict[str, list[Any]] = {
        BOOLEAN: [{"id": "factoid_multihop_simple_1", "predicted_answer": True}],
        MULTICHOICE: [{"id": "boolean_multihop_simple_1", "predicted_answer": [1]}],
    }
    write_answers(folder, extra=wrong)
    code, _, err = imports.call()
    board = imports.board()

    assert code == 0
    assert "answers to no question: factoid_multihop_simple_1, boolean_multihop_simple_1" in err
    assert {1.0} == {row["score"] for row in board["boards"]["cells"]}
    (path,) = (imports.results / "parse-own").iterdir()
    answers = {sample.sample_id: sample.text for sample in open_bundle(path).samples}
    assert answers["boolean_multihop_simple_1"].strip() == "true"


def test_question_without_answer_is_unparsable(imports: Import, folder: Path) -> None:
    """A question that has no answer is wrong, counted as unparsable and listed; it is no empty list."""
    write_answers(folder)
    path = answers_file(folder, FACTOID)
    rows = [row for row in json.loads(path.read_text()) if row["id"] != "factoid_multihop_nonanswerable_4"]
    path.write_text(json.dumps(rows))
    board = imports.board()

    found = cell(board, FACTOID, "nonanswerable")
    assert (found["score"], found["unparsable"], found["n"]) == (0.75, 1, 4)
    (listed,) = board["boards"]["unread"]
    assert (listed["sample_id"], listed["rule"]) == ("factoid_multihop_nonanswerable_4", "no answer stored")


def test_languages_strategies_and_splits_share_a_board(imports: Import, folder: Path) -> None:
    """One document holds all variants; runs of each are ranked apart; a model with the test split alone is told."""
    write_answers(folder, "model-a", "persian")
    write_answers(folder, "model-a", "english", changes={"boolean_multihop_simple_1": False})
    write_answers(folder, "model-b", "persian", changes={"boolean_multihop_simple_1": False})
    write_answers(folder, "model-c", "english", numbers=range(1, 4))
    write_answers(folder, "model-a", "persian", "few_shot")
    imports.board()
    board = imports.board("few_shot")

    rows = board["boards"]["accuracy"]["rows"]
    assert [tuple(row[key] for key in ("prompt_language", "split", "strategy", "model", "rank")) for row in rows] == [
        ("english", "full", "zero_shot", "model-a", 1),
        ("english", "test", "zero_shot", "model-c", 1),
        ("persian", "full", "few_shot", "model-a", 1),
        ("persian", "full", "zero_shot", "model-a", 1),
        ("persian", "full", "zero_shot", "model-b", 2),
    ]
    (pair,) = board["boards"]["accuracy"]["comparisons"]
    assert (pair["first"], pair["second"]) == ("model-a", "model-b")
    assert pair["score_difference"] == pytest.approx(1 / 72)
    assert len(board["boards"]["cells"]) == 5 * 18
    assert len({variant["suite_digest"] for variant in board["variants"]}) == 4
    assert board["unranked"] == []


def test_same_import_again(imports: Import, folder: Path) -> None:
    """The same import again changes nothing; other answers under the same name are refused."""
    write_answers(folder)
    imports.call()
    before = {path: path.read_bytes() for path in imports.results.rglob("*") if path.is_file()}
    code, out, _ = imports.call()

    assert (code, "0 runs imported, 1 were there already" in out) == (0, True)
    assert before == {path: path.read_bytes() for path in imports.results.rglob("*") if path.is_file()}
    write_answers(folder, changes={"boolean_multihop_simple_1": False})
    code, _, err = imports.call()
    assert (code, "another run of this name is there" in err) == (2, True)


def test_other_scores_have_names_of_their_own(imports: Import, folder: Path, cli: CommandLine) -> None:
    """An imported bundle can be scored by every scorer, and ranked by each; one leaves the few-shot examples out."""
    write_answers(folder, changes={"multichoice_multihop_single_1": [2, 3]})
    headline = imports.board()
    for scorer in ("parse-paper", "parse-strict", "parse-upstream-no-examples"):
        cli.ok("rescore", imports.results, "--scorer", scorer)
    strict = imports.board("zero_shot", "--scorer", "parse-strict")
    without = imports.board("zero_shot", "--scorer", "parse-upstream-no-examples")

    assert (cell(headline, MULTICHOICE, "single")["score"], cell(strict, MULTICHOICE, "single")["score"]) == (1.0, 0.75)
    assert {row["n"] for row in without["boards"]["cells"]} == {3}
    assert headline["scorer"]["digest"] not in (strict["scorer"]["digest"], without["scorer"]["digest"])
    (bundle,) = (imports.results / "parse-own").iterdir()
    assert len(list((bundle / "scores").glob("*.json"))) == 4


def test_boards_are_the_same_bytes(imports: Import, folder: Path, cli: CommandLine, tmp_path: Path) -> None:
    """Boards made twice are the same bytes, in every form; Markdown names the floor, CSV holds every cell."""
    write_answers(folder, changes={"boolean_multihop_simple_1": False})
    imports.board()
    out = tmp_path / "out"

    cli.ok("leaderboard", "--results", imports.results, "--suite", "parse-own", "--out", out, "--check")
    assert "| floor | 1.000 |" in (out / "leaderboard.md").read_text()
    assert (out / "leaderboard.csv").read_text().count("\ncells,") == 18
    assert "</svg>" in (out / "accuracy-upstream-persian-full-zero_shot.svg").read_text()


def test_imported_bundle_is_verified(imports: Import, folder: Path, cli: CommandLine) -> None:
    """An answer changed after the import, and right answers that are gone, are noticed."""
    write_answers(folder)
    imports.board()
    (bundle,) = (imports.results / "parse-own").iterdir()
    (source,) = (imports.results / ".sources").iterdir()
    source.write_bytes(source.read_bytes() + b"\n")
    code, _, err = cli("rescore", bundle, "--scorer", "parse-strict")
    assert (code, "the right answers of the import" in err) == (2, True)
    kept = bundle / "upstream" / "boolean.json"
    kept.write_bytes(kept.read_bytes().replace(b"true", b"false"))

    code, _, err = cli("leaderboard", "--results", imports.results, "--out", imports.results.parent)
    assert (code, "changed since the bundle was written" in err) == (2, True)


def test_same_import_mends_the_right_answers(imports: Import, folder: Path, cli: CommandLine) -> None:
    """Right answers that were cut short are whole again after the import that the error asks for."""
    write_answers(folder)
    imports.call()
    (bundle,) = (imports.results / "parse-own").iterdir()
    (source,) = (imports.results / ".sources").iterdir()
    content = source.read_bytes()
    source.write_bytes(content[:-5])
    code, _, err = cli("score", bundle)
    assert (code, "import the directory again" in err) == (2, True)
    imports.call()

    assert source.read_bytes() == content
    cli.ok("score", bundle)


def test_damaged_bundle_stops_an_import_before_it_writes(imports: Import, folder: Path) -> None:
    """A bundle that is there and lost its manifest is an error before another model's bundle is made."""
    write_answers(folder, "model-b")
    imports.call()
    next(imports.results.glob("parse-own/*/manifest.json")).unlink()
    write_answers(folder, "model-a")
    code, _, err = imports.call()

    assert (code, "manifest.json: cannot be read" in err) == (2, True)
    assert len(list((imports.results / "parse-own").iterdir())) == 1


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"variant": {"split": "a/../../escaped"}}, "variant.split: String should match pattern"),
        ({"scorer": {}}, "scorer: Value error, must have a name and a digest"),
    ],
)
def test_doctored_score(imports: Import, folder: Path, cli: CommandLine, changes: dict[str, Any], problem: str) -> None:
    """A score, which nothing vouches for, that says what no score says is one error with its file, and no file more."""
    write_answers(folder)
    imports.call()
    (path,) = imports.results.glob("parse-own/*/scores/*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    out = imports.results.parent / "boards"
    code, _, err = cli("leaderboard", "--results", imports.results, "--out", out)

    assert (code, err.count("\n")) == (2, 1)
    assert f"{path}: {problem}" in err
    assert [path.name for path in out.parent.iterdir()] == ["results"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"labels": ["boolean"]}, "not the lines of a score"),
        ({"labels": [1, 2, 3, 4]}, "not the lines of a score"),
        ({"state": "won"}, "not the lines of a score"),
        ({"stats": [1]}, "not the lines of a score"),
        ({"stats": [1, "1"]}, "not the lines of a score"),
        ({"stats": [1, 0]}, "its grades are none that parse-upstream gives"),
    ],
)
def test_doctored_grades(
    imports: Import, folder: Path, cli: CommandLine, changes: dict[str, Any], problem: str
) -> None:
    """Grades that no scorer makes, under a digest that fits them, are one error that says whose they are."""
    write_answers(folder)
    imports.call()
    (path,) = imports.results.glob("parse-own/*/scores/*.jsonl")
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), **changes}), *others]) + "\n")
    summary = path.with_suffix(".json")
    summary.write_text(json.dumps({**json.loads(summary.read_text()), "lines_digest": digest_file(path)}))
    code, _, err = cli("leaderboard", "--results", imports.results, "--out", imports.results.parent / "boards")

    assert (code, err.count("\n")) == (2, 1)
    assert problem in err


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "boolean_multihop_simple_9"}, "row 25: the column 'predicted_answer' is missing"),
        ({"predicted_answer": True}, "row 25: the column 'id' is missing"),
        ("text", "row 25: the column 'id' is missing"),
        ({"id": 3, "predicted_answer": True}, "row 25: id must be a text"),
        ({"id": "x", "predicted_answer": "yes"}, r"row 25 \(x\): predicted_answer 'yes' must be true or false"),
        ({"id": "x", "predicted_answer": 1}, r"row 25 \(x\): predicted_answer 1 must be true or false"),
    ],
)
def test_row_that_is_no_answer(imports: Import, folder: Path, row: Any, problem: str) -> None:
    """A row that is no answer is named with its file and number, and nothing is written."""
    write_answers(folder, extra={BOOLEAN: [row]})

    assert_matches(imports.refused(), rf"answers_model-a.json: {problem}")


@pytest.mark.parametrize(
    ("type_", "answer", "wanted"),
    [
        (MULTICHOICE, 2, "a list of whole numbers"),
        (MULTICHOICE, ["2"], "a list of whole numbers"),
        (MULTICHOICE, [True], "a list of whole numbers"),
        (FACTOID, None, "a list of texts"),
        (FACTOID, [3], "a list of texts"),
    ],
)
def test_answer_of_another_kind(imports: Import, folder: Path, type_: str, answer: Any, wanted: str) -> None:
    """An answer of another kind than its type's is refused."""
    write_answers(folder, extra={type_: [{"id": "x", "predicted_answer": answer}]})

    assert wanted in imports.refused()


def test_missing_files(imports: Import, folder: Path) -> None:
    """A strategy without answers, and a model that lacks a type, are refused with what is there."""
    assert "answers are there to no strategy" in imports.refused()
    write_answers(folder)
    answers_file(folder, FACTOID).unlink()
    assert_matches(
        imports.refused(), r"answers_model-a.json: missing: model-a has answers to boolean, multichoice alone"
    )
    assert "answers are there to zero_shot" in imports.refused("few_shot")
    assert "no strategy is called 'few-shot'" in imports.refused("few-shot")


def test_questions_of_another_commit(imports: Import, folder: Path, cli: CommandLine) -> None:
    """Answers are never scored by questions other than the pinned ones."""
    write_answers(folder)
    code, _, err = cli("import", "parse-answers", folder, "--strategy", "zero_shot", "--out", imports.results)

    assert (code, "the suite says 927f9c8044971ed08112caa020eea41ad12a0334" in err) == (2, True)


def test_bundle_brings_its_right_answers(imports: Import, folder: Path) -> None:
    """An imported bundle opens with one sample a question, in the order of the tables."""
    write_answers(folder)
    imports.call()
    (path,) = (imports.results / "parse-own").iterdir()
    bundle = open_bundle(path)

    assert bundle.references is not None
    assert [sample.sample_id for sample in bundle.samples] == list(bundle.references)
    assert bundle.samples[0].sample_id == "boolean_multihop_comparative_1"


def test_changed_questions_are_another_suite(imports: Import, folder: Path) -> None:
    """The same answers to a changed question are a run of another suite digest, never mixed with the first."""
    write_answers(folder)
    first = imports.board()["variants"][0]["suite_digest"]
    path = folder / "dataset" / "train.json"
    content = json.loads(path.read_text())
    content["boolean"]["multihop"]["comparative"][0]["answer"] = False
    path.write_text(json.dumps(content))
    imports.results = imports.results / "other"

    assert first != imports.board()["variants"][0]["suite_digest"]


def assert_matches(text: str, pattern: str) -> None:
    """Insist that `pattern` is somewhere in `text`."""
    assert re.search(pattern, text), text
