"""PESTE 1.0.0 to the last digit: texts, edit counts, rates, intervals, boards, diagnostics, and the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from orinbench_client.metrics import character_edits, word_edits
from orinbench_client.text import get_normalizer

from tests.unit.bundles.peste_directory import CommandLine, read_board

pytestmark = pytest.mark.oracle
SUITE = "fleurs-fa-ir-v1"
EXACT = 1e-12
#: WER with ZWNJ joined, as published, at four decimals.
ZWNJ_JOIN = {
    "whisper-large-persian-steja": 0.1917,
    "qwen3-asr-1-7b": 0.2662,
    "whisper-large-v3": 0.2882,
    "whisper-large-v3-turbo": 0.2944,
    "qwen3-asr-0-6b": 0.5049,
    "whisper-persian-paulwalker": 0.9663,
}


@pytest.fixture
def upstream(oracle: Path) -> Path:
    """The published directory."""
    return oracle / "peste-v1"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line."""
    return CommandLine(capsys)


@pytest.fixture
def published(upstream: Path) -> dict[str, Any]:
    """The published board."""
    content: dict[str, Any] = json.loads((upstream / "leaderboard.json").read_text())
    return content


@pytest.fixture
def board(upstream: Path, cli: CommandLine, tmp_path: Path) -> dict[str, Any]:
    """Our board of the published runs, by the commands a user gives."""
    cli.ok("import", "peste", upstream, "--out", tmp_path / "results")
    cli.ok("leaderboard", "--results", tmp_path / "results", "--suite", SUITE, "--out", tmp_path / "out")
    return read_board(tmp_path / "out")


def test_every_text_and_every_split(upstream: Path) -> None:
    """All 5,226 normalised predictions and references, and all S/D/I splits, are the published ones."""
    normalize = get_normalizer("fa-v1").normalize
    kinds = ("substitutions", "deletions", "insertions", "reference_units")
    checked = 0
    for path in upstream.glob("results/*/*/predictions.jsonl"):
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            reference, prediction = normalize(line["reference"]), normalize(line["prediction"])
            assert (line["normalized_reference"], line["normalized_prediction"]) == (reference, prediction)
            assert tuple(line[f"word_{kind}"] for kind in kinds) == word_edits(reference, prediction)
            assert tuple(line[f"character_{kind}"] for kind in kinds) == character_edits(reference, prediction)
            checked += 1

    assert checked == 5226


def test_accuracy_board(board: dict[str, Any], published: dict[str, Any]) -> None:
    """Order and every published figure of the accuracy board agree within 1e-12; every interval bound is equal."""
    rows = board["boards"]["accuracy"]["rows"]

    assert [row["model_id"] for row in published["accuracy"]] == [row["model_id"] for row in rows]
    assert [expected.pop("run_id") for expected in published["accuracy"]] == [run["run_id"] for run in board["runs"]]
    for expected, row in zip(published["accuracy"], rows, strict=True):
        _agrees(expected, row)


def _agrees(expected: dict[str, Any], row: dict[str, Any]) -> None:
    for rate in ("cer", "wer"):
        assert [expected.pop(f"{rate}_ci_lower"), expected.pop(f"{rate}_ci_upper")] == row[f"{rate}_ci"]
    for name, value in expected.items():
        assert row[name] == (pytest.approx(value, abs=EXACT, rel=0) if isinstance(value, float) else value), name


def test_memory_board(board: dict[str, Any], published: dict[str, Any]) -> None:
    """Order, ranks and efficiencies of the memory board are the published ones."""
    rows = board["boards"]["memory"]["rows"]

    assert [row["model_id"] for row in published["memory_efficiency"]] == [row["model_id"] for row in rows]
    for expected, row in zip(published["memory_efficiency"], rows, strict=True):
        assert row["rank"] == expected["rank"]
        assert row["memory_efficiency"] == pytest.approx(expected["memory_efficiency"], abs=EXACT, rel=0)


def test_comparisons(board: dict[str, Any], published: dict[str, Any]) -> None:
    """Neighbours, differences, paired bounds and what is resolved are the published ones."""
    comparisons = board["boards"]["accuracy"]["comparisons"]

    for expected, found in zip(published["adjacent_cer_comparisons"], comparisons, strict=True):
        assert (found["first"], found["second"]) == (expected["first_model_id"], expected["second_model_id"])
        assert found["cer_difference"] == pytest.approx(expected["cer_difference"], abs=EXACT, rel=0)
        assert found["ci"] == pytest.approx([expected["ci_lower"], expected["ci_upper"]], abs=EXACT, rel=0)
        assert found["resolved"] is expected["resolved"]


def test_out_of_memory_run_is_listed(board: dict[str, Any]) -> None:
    """The run that ran out of memory is unranked with its cause, and is the only one."""
    (entry,) = board["unranked"]

    assert entry["model_id"] == "nvidia-fastconformer-fa"
    assert entry["cause"] == "oom: RuntimeError: CUDA driver error: out of memory"


def test_diagnostics(board: dict[str, Any]) -> None:
    """ZWNJ-joined WER is the published one at four decimals; 622 references hold ZWNJ, 153 digits, 13 pass 30 s."""
    found = {entry["model_id"]: entry for entry in board["diagnostics"]}

    assert {model: round(entry["zwnj_join"]["wer"], 4) for model, entry in found.items()} == ZWNJ_JOIN
    for entry in found.values():
        assert entry["zwnj_join"]["references_with_zwnj"] == 622
        assert entry["digits"]["with"]["samples"] == 153
        assert entry["over_30_s"]["samples"] == 13
        assert sum(part["samples"] for part in entry["durations"]) == 871


def test_export_is_exact(upstream: Path, cli: CommandLine, tmp_path: Path) -> None:
    """What was imported is exported byte for byte: runs, suites, models."""
    cli.ok("import", "peste", upstream, "--out", tmp_path / "results")
    cli.ok("export", tmp_path / "results", "--format", "peste-1", "--out", tmp_path / "exported")
    names = [path.relative_to(upstream) for path in upstream.rglob("*") if path.is_file()]
    expected = {name for name in names if name.parts[0] in ("results", "suites", "models")}
    found = {path.relative_to(tmp_path / "exported") for path in (tmp_path / "exported").rglob("*") if path.is_file()}

    assert expected == found
    assert all((upstream / name).read_bytes() == (tmp_path / "exported" / name).read_bytes() for name in expected)


def test_fa_v2_touches_numbers_alone(upstream: Path, cli: CommandLine, tmp_path: Path) -> None:
    """Rescored by fa-v2, a sample without digits on either side keeps its texts and counts; others change."""
    cli.ok("import", "peste", upstream, "--out", tmp_path / "results")
    cli.ok("rescore", tmp_path / "results", "--normalizer", "fa-v2")
    changed = 0
    for path in (tmp_path / "results" / SUITE).glob("*/scores/fa-v2-*.jsonl"):
        (before,) = path.parent.glob("fa-v1-*.jsonl")
        for one, two in zip(before.read_text().splitlines(), path.read_text().splitlines(), strict=True):
            line = json.loads(one)
            if any(sign.isdigit() for sign in line["reference"] + line["prediction"]):
                changed += one != two
            else:
                assert one == two

    assert changed > 153
