"""Parse from end to end: asked on a real daemon, answered from recorded replies, graded and ranked by the client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from orinbench_profiles import digest_file

from tests.integration.cli.program import Orinbench, program_in
from tests.integration.harness import Daemon, to_toml
from tests.unit.parse.parse_folder import CONFIGURATIONS, right_answer, write_parse


def _reply(type_: str, subtype: str) -> str:
    answer = right_answer(type_, subtype)
    if type_ == "boolean":
        answer = "بله" if answer else "خیر"
    return f"پاسخ:\n{json.dumps({'answers' if type_ == 'factoid' else 'answer': answer}, ensure_ascii=False)}"


def replay_model(
    folder: Path, name: str, changes: Mapping[str, str], structured: Mapping[str, Any] | None = None
) -> str:
    """Write a model that gives recorded replies, right but for `changes`; return its path."""
    path = folder / f"{name}.jsonl"
    with path.open("w") as file:
        for type_, approach, subtype in CONFIGURATIONS:
            for number in (1, 2, 3):
                sample_id = f"{type_}_{approach}_{subtype}_{number}"
                text = changes.get(sample_id, _reply(type_, subtype))
                line = {"sample_id": sample_id, "text": text, "structured": (structured or {}).get(sample_id)}
                file.write(json.dumps(line) + "\n")
    values = {
        "id": name,
        "title": name,
        "license": "CC0-1.0",
        "engine": "replay",
        "adapter": "none",
        "dtype": "none",
        "warmup": 0,
        "source": {"kind": "folder"},
        "files": [{"path": path.name, "digest": digest_file(path), "bytes": path.stat().st_size}],
    }
    (folder / f"{name}.toml").write_text(to_toml(values))
    return str(folder / f"{name}.toml")


@pytest.fixture
def program(shared: Daemon, tmp_path: Path) -> Any:
    """The program in a folder of its own, with a suite beside it."""
    write_parse(tmp_path / "own")
    with program_in(tmp_path, shared) as program:
        yield program


def test_unparsable_replies_are_listed_and_wrong(program: Orinbench, tmp_path: Path) -> None:
    """Replies travel through daemon and worker untouched; each that holds no answer is wrong, counted and listed."""
    changes = {
        "factoid_multihop_nonanswerable_1": "نمی‌دانم",
        "factoid_reasoning_simple_2": '{"answers": "دریای خزر"}',
        "boolean_multihop_simple_3": '{"answer": "خیر"}',
        # Right, and broken off within an emoji: half a surrogate pair, in which no score could be written.
        "factoid_multihop_simple_1": json.dumps({"answers": [f"{right_answer('factoid', 'simple')} \ud83d"]}),
    }
    model = replay_model(tmp_path, "mostly-right", changes)
    outcome = json.loads(program.good("run", "--suite", "own", "--model", model, "--json"))

    score = outcome["score"]
    assert (score["scorer"], score["n"], score["unparsable"]) == ("parse-upstream", 54, 2)
    assert score["value"] == pytest.approx(51 / 54)
    assert score["interval"][0] < score["value"] < score["interval"][1]
    program.good("leaderboard", "--results", "results", "--out", "out")
    boards = json.loads((tmp_path / "out" / "leaderboard.json").read_text())["boards"]
    assert {
        ("factoid_multihop_nonanswerable_1", "unparsable", "no JSON object"),
        ("factoid_reasoning_simple_2", "unparsable", "answers missing, or no list"),
    } == {(row["sample_id"], row["state"], row["rule"]) for row in boards["unread"]}
    (row,) = boards["accuracy"]["rows"]
    assert (row["model"], row["unparsable"], row["above_floor"]) == ("mostly-right", 2, True)
    assert 0 < row["floor"] < row["ci"][0]
    (cell,) = [
        cell
        for cell in boards["cells"]
        if (cell["type"], cell["approach"], cell["subtype"]) == ("factoid", "multihop", "nonanswerable")
    ]
    assert (cell["score"], cell["unparsable"], cell["n"], cell["floor"]) == (pytest.approx(2 / 3), 1, 3, 1.0)
    assert boards["speed"]["ranked_by"] == "window_mean_s"
    assert "energy" not in boards
    assert "| unparsable | no JSON object | 1 |" in (tmp_path / "out" / "leaderboard.md").read_text()
    samples = (tmp_path / outcome["bundle"] / "samples.jsonl").read_text()
    assert json.dumps("نمی‌دانم", ensure_ascii=False) in samples


def test_a_variant_is_found_again(program: Orinbench, tmp_path: Path) -> None:
    """A run of a variant that was left to itself is fetched, scored under that variant, and scored anew by name."""
    model = replay_model(tmp_path, "right", {})
    run = program.good("run", "--suite", "own:english,chain_of_thought", "--model", model, "--detach")
    outcome = json.loads(program.good("watch", run, "--suite", "own:english,chain_of_thought", "--json"))

    assert outcome["score"]["value"] == 1.0
    assert outcome["score"]["variant"]["prompt_language"] == "english"
    printed = program.good("rescore", "results", "--scorer", "parse-strict", "--suite", "own:english,chain_of_thought")
    assert "parse-strict-" in printed
    assert "score 1.0000" in printed


def test_what_a_model_thought_is_not_graded(program: Orinbench, tmp_path: Path) -> None:
    """Where the adapter told the answer apart from the thoughts, the answer alone is graded."""
    thinking = {"answer_text": '{"answer": "بله"}', "thinking": 'maybe {"answer": "خیر"}'}
    texts = {"boolean_multihop_simple_1": 'well {"answer": "بله"} <think>{"answer": "خیر"}</think>'}
    model = replay_model(tmp_path, "thinking", texts, {"boolean_multihop_simple_1": thinking})
    outcome = json.loads(program.good("run", "--suite", "own", "--model", model, "--json"))

    assert outcome["score"]["value"] == 1.0


def test_bad_data_start_no_run(program: Orinbench, tmp_path: Path) -> None:
    """A suite with a wrong file is one error before anything reaches the board."""
    (tmp_path / "own" / "dataset" / "test.json").write_text('{"boolean": {"multihop": {"simple": [{}]}}}')
    model = replay_model(tmp_path, "never", {})
    before = program.good("runs", "--json")

    error = program.fails(2, "run", "--suite", "own", "--model", model)

    assert "dataset/test.json: line 1: the column 'answer' is missing" in error
    assert before == program.good("runs", "--json")
