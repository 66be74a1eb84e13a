"""Parse as published: every zero-shot cell at two decimals, the constant floors, the pinned files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from orinbench_client.cli.main import main
from orinbench_client.parse.layout import layout_files, settings_of, verify_files
from orinbench_client.suites import open_suite, references
from orinbench_profiles import load_suite

from tests.conftest import oracle_dir
from tests.integration.cli.program import program_in

#: 151,200 answers: seconds on an idle machine, and never cut short on a busy one.
LIMIT_S = 600
pytestmark = [pytest.mark.oracle, pytest.mark.timeout(LIMIT_S)]
_NAMES = ("model", "prompt_language", "strategy", "type", "approach", "subtype")
#: What constant answers earn in (multihop, reasoning) × the subtypes in order, as published beside the tables.
FLOORS = {
    ("boolean", "true"): (0.5850, 0.6633, 0.6100, 0.5583, 0.3433, 0.5367),
    ("boolean", "false"): (0.4150, 0.3367, 0.3900, 0.4417, 0.6567, 0.4633),
    ("multichoice", "[1,2,3,4]"): (0.7346, 0.2783, 0.2650, 0.6587, 0.2233, 0.2433),
    ("multichoice", "[1]"): (0.2590, 0.2783, 0.2650, 0.2904, 0.2233, 0.2433),
    ("factoid", "[]"): (0.0, 1.0, 0.0, 0.0, 1.0, 0.0),
}


@pytest.fixture
def upstream(oracle: Path) -> Path:
    """The published repository."""
    return oracle / "parse"


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Our board of the published answers, by the commands a user gives."""
    folder = tmp_path_factory.mktemp("parse")
    with program_in(folder, "unix:/none", LIMIT_S) as program:
        source = str(oracle_dir() / "parse")
        program.good("import", "parse-answers", source, "--strategy", "zero_shot", "--out", "results")
        program.good("leaderboard", "--results", "results", "--suite", "parse-v1", "--out", "out")
    content: dict[str, Any] = json.loads((folder / "out" / "leaderboard.json").read_text())
    return content


def test_every_published_cell(board: dict[str, Any], oracle: Path) -> None:
    """All 216 zero-shot cells of the three published tables agree at two decimals, by each table's own rounding."""
    published = json.loads((oracle.parent / "spec" / "parse_tables_zero_shot.json").read_text())
    cells = {tuple(row[name] for name in _NAMES): row for row in board["boards"]["cells"]}

    assert len(published) == 216
    assert len(cells) == len(board["boards"]["cells"]) == 252
    differing = [
        row for row in published if cells[tuple(row[name] for name in _NAMES)]["score_2dp"] != row["published"]
    ]
    assert differing == []
    for row in cells.values():
        assert row["n"] == 600
        assert row["unparsable"] == 0
        assert row["ci"][0] <= row["score"] <= row["ci"][1]


def test_floors(board: dict[str, Any]) -> None:
    """What constant answers earn is what was published, and the best of them is the floor of each cell."""
    floors = [row for row in board["boards"]["floors"] if "type" in row and "difficulty" not in row]
    for (type_, answer), expected in FLOORS.items():
        own = [row for row in floors if (row["type"], row["answer"]) == (type_, answer)]
        english = [row["value"] for row in own if row["prompt_language"] == "english"]
        assert english == pytest.approx(expected, abs=5e-5)
    for row in board["boards"]["cells"]:
        place = [row[name] for name in ("prompt_language", "type", "approach", "subtype")]
        own = [
            floor["value"]
            for floor in floors
            if [floor[name] for name in ("prompt_language", "type", "approach", "subtype")] == place
        ]
        assert row["floor"] == max(own)


def test_by_difficulty(board: dict[str, Any]) -> None:
    """Each cell is split into 200 questions of each difficulty, and their mean is the cell's score."""
    parts: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in board["boards"]["difficulty"]:
        parts.setdefault(tuple(row[name] for name in _NAMES), []).append(row)
    for row in board["boards"]["cells"]:
        own = parts[tuple(row[name] for name in _NAMES)]
        assert [part["n"] for part in own] == [200, 200, 200]
        assert row["score"] == pytest.approx(sum(part["score"] for part in own) / 3, abs=1e-12)


def test_published_files_are_the_pinned_ones(upstream: Path) -> None:
    """The suite pins each of the 20 files of the commit, and the published copy has their ids."""
    blobs = settings_of(load_suite("parse-v1").declaration).blobs

    assert set(layout_files()) == set(blobs)
    verify_files(upstream, blobs, layout_files())


def test_suite_is_prepared_from_a_copy(
    upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The suite is prepared from a copy: 2,160 questions of the test split, 10,800 in full, 18 few-shot examples."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["validate", "parse-v1"]) == 2
    assert "orinbench prepare --suite parse-v1" in capsys.readouterr().err
    assert main(["prepare", "--suite", "parse-v1", "--source", str(upstream)]) == 0
    full = open_suite("parse-v1:full,few_shot")

    assert len(open_suite("parse-v1").samples) == 2160
    assert len(full.samples) == 10800
    known = [json.loads(reference) for reference in references(full).values()]
    assert sum(one["example"] for one in known) == 18
    test = references(open_suite("parse-v1"))
    assert not any(json.loads(reference)["example"] for reference in test.values())
