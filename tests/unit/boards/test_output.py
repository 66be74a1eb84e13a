"""The files of boards: the same bytes everywhere, written whole, checked against what is there."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from orinbench_client.boards.build import build_board
from orinbench_client.boards.output import make_files, write_files
from orinbench_client.boards.render import to_csv, to_markdown
from orinbench_client.boards.selection import group_runs
from orinbench_client.boards.svg import board_charts
from orinbench_client.bundles.model import Labelled, ModelFacts
from orinbench_client.errors import BadInput

from tests.unit.boards.runs import make_run, violated
from tests.unit.bundles.peste_directory import CommandLine, PesteDirectory

#: SHA-256 over all files of the boards of RUNS: one number for every machine, Python and numpy.
GOLDEN = "4193438f45520383e129f0d49db9614ad21a7507878b68efcbee863a60e63862"
RUNS = [
    make_run("model-a", edits=1, peak=1.7, window_ms=310, energy=3.25),
    make_run("model-b", edits=3, peak=0.9, window_ms=100),
    make_run("model-c", edits=7, peak=None, violations=[violated("THROTTLED", ["speed"])]),
    make_run("model-d", state="failed", failure="oom: <b>|*`"),
    make_run("model-e", contract="4", audio=False, method="process-rss"),
]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line."""
    return CommandLine(capsys)


@pytest.fixture
def results(cli: CommandLine, tmp_path: Path) -> Path:
    """A results folder with two imported runs."""
    cli.ok("import", "peste", PesteDirectory(tmp_path / "peste").path, "--out", tmp_path / "results")
    return tmp_path / "results"


def digest(files: dict[str, bytes]) -> str:
    state = hashlib.sha256()
    for name, content in sorted(files.items()):
        state.update(name.encode() + b"\0" + content + b"\0")
    return state.hexdigest()


def test_bytes_are_the_same_everywhere() -> None:
    """Every file of a set of boards has the bytes it had on the machine, Python and numpy this was written with."""
    assert digest(make_files(RUNS)) == GOLDEN


def test_bytes_do_not_depend_on_the_process(tmp_path: Path, results: Path, cli: CommandLine) -> None:
    """Hash seed, locale, time zone, terminal and number of threads change no byte."""
    cli.ok("leaderboard", "--results", results, "--out", tmp_path / "out")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONHASHSEED": "7",
        "LC_ALL": "C",
        "TZ": "Asia/Tehran",
        "COLUMNS": "30",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "orinbench_client.cli.main", "leaderboard", "--results", str(results)]
    subprocess.run([*command, "--out", str(tmp_path / "again")], env=environment, check=True, capture_output=True)

    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_check(results: Path, cli: CommandLine, tmp_path: Path) -> None:
    """--check passes on what the command wrote; on any change it fails with code 1, names the file, writes nothing."""
    out = tmp_path / "out"
    cli.ok("leaderboard", "--results", results, "--out", out)
    cli.ok("leaderboard", "--results", results, "--out", out, "--check")
    (out / "leaderboard.md").write_text("better numbers")
    (out / "accuracy.svg").unlink()
    code, _, err = cli("leaderboard", "--results", results, "--out", out, "--check")

    assert code == 1
    assert "accuracy.svg, leaderboard.md" in err
    assert (out / "leaderboard.md").read_text() == "better numbers"
    assert not (out / "accuracy.svg").exists()


def test_check_of_nothing(results: Path, cli: CommandLine, tmp_path: Path) -> None:
    """--check of a folder that is not there fails, and makes none."""
    code, _, err = cli("leaderboard", "--results", results, "--out", tmp_path / "none", "--check")

    assert code == 1
    assert "leaderboard.json" in err
    assert not (tmp_path / "none").exists()


def test_outdated_files_go_and_others_stay(results: Path, cli: CommandLine, tmp_path: Path) -> None:
    """When several boards become one, the files of the old ones go; what the command did not write stays."""
    out = tmp_path / "out"
    second = PesteDirectory(tmp_path / "second", {"model-z": 0.3}, schema=2)
    cli.ok("import", "peste", second.path, "--out", results)
    cli.ok("leaderboard", "--results", results, "--out", out)
    (out / "notes.txt").write_text("mine")
    assert sum(path.is_dir() for path in out.iterdir()) == 2
    for path in results.glob("*/*model-z*"):
        path.rename(tmp_path / path.name)
    code, _, err = cli("leaderboard", "--results", results, "--out", out, "--check")
    assert code == 1
    assert "leaderboards.md" in err
    cli.ok("leaderboard", "--results", results, "--out", out)

    assert not any(path.is_dir() for path in out.iterdir())
    assert (out / "notes.txt").read_text() == "mine"
    cli.ok("leaderboard", "--results", results, "--out", out, "--check")


def test_board_removed_by_hand(tmp_path: Path) -> None:
    """Boards are written, and outdated ones go, where somebody removed the folder of one before."""
    write_files(tmp_path, make_files(RUNS))
    first, second = (path for path in tmp_path.iterdir() if path.is_dir())
    shutil.rmtree(first)
    files = make_files(RUNS[:1])
    write_files(tmp_path, files)

    assert not second.exists()
    assert sorted(files) == sorted(path.name for path in tmp_path.iterdir())


def test_foreign_index(results: Path, cli: CommandLine, tmp_path: Path) -> None:
    """An output folder with an index.json of something else is refused untouched."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.json").write_text("{}")
    code, _, err = cli("leaderboard", "--results", results, "--out", tmp_path / "out")

    assert code == 2
    assert "give another output folder" in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["index.json"]


@pytest.mark.parametrize("name", ["../escaped.svg", "a/../../escaped.svg", "/tmp/escaped.svg"])
def test_names_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    """A file's name that leads out of the folder is refused before the first is written."""
    with pytest.raises(BadInput, match="lies outside"):
        write_files(tmp_path / "out", {"leaderboard.md": b"", name: b""})

    assert not list(tmp_path.iterdir())


def test_files_are_well_formed() -> None:
    """JSON is JSON without NaN, CSV has one row a run and board, SVG is XML with a text for every model."""
    files = make_files(RUNS)
    documents = [json.loads(content) for name, content in files.items() if name.endswith("leaderboard.json")]
    tables = [content.decode() for name, content in files.items() if name.endswith(".csv")]
    charts = {name: content.decode() for name, content in files.items() if name.endswith(".svg")}

    assert len(documents) == 2
    for document, table in zip(documents, tables, strict=True):
        rows = [row for board in document["boards"].values() for row in board.get("rows", [])]
        assert len(list(csv.DictReader(io.StringIO(table)))) == len(rows)
    assert {name.rpartition("/")[2] for name in charts} == {
        "accuracy.svg",
        "energy.svg",
        "memory-process-rss.svg",
        "memory-torch-reserved.svg",
        "pareto-cer-energy.svg",
        "pareto-cer-memory.svg",
        "pareto-cer-rtf.svg",
        "speed.svg",
    }
    for name, chart in charts.items():
        texts = [element.text for element in ET.fromstring(chart).iter("{http://www.w3.org/2000/svg}text")]
        assert any(text and "model-" in text for text in texts), name


def test_text_of_others_is_no_markup() -> None:
    """A cause with markup, bars and line feeds stays one cell of one row."""
    run = make_run("model-b", state="failed", failure="a|b\n<script>*`x`")
    (group,) = group_runs([make_run("model-a"), run])
    (line,) = [line for line in to_markdown(build_board(group)).splitlines() if "run-model-b" in line]

    assert line.endswith(r"| a\|b &lt;script>\*\`x\` |")


def test_csv_holds_no_formula() -> None:
    """A text that a spreadsheet would run becomes a text there; numbers, negative ones too, stay as they are."""
    run = replace(make_run("=1+2"), facts=replace(make_run("=1+2").facts, facts=ModelFacts(-5, None, "-2+cmd")))
    (group,) = group_runs([run])
    row = next(csv.DictReader(io.StringIO(to_csv(build_board(group)))))

    assert (row["model_id"], row["native_dtype"], row["parameter_count"]) == ("'=1+2", "'-2+cmd", "-5")


def test_names_of_others_are_no_markup() -> None:
    """Links, pictures, a cell's end behind a backslash and a digest with lines of its own: all of it is text."""
    run = make_run("![px](https://a.example/p.png)", causes=("hw\\| a `x`",))
    digest = "`)\n\n<img src=x>\n\n[prize](https://b.example)\n\n(`"
    hardware = Labelled("<b>", digest)
    (group,) = group_runs([replace(run, facts=replace(run.facts, hardware=hardware))])
    lines = to_markdown(build_board(group)).splitlines()

    assert "- Hardware: &lt;b> (`') <img src=x> [prize](https://b.example) ('`)" in lines
    cells = r"| \!\[px\](https://a.example/p.png) | run-![px](https://a.example/p.png) | "
    assert lines[-3].startswith(cells.replace("run-![px]", r"run-\!\[px\]"))
    assert lines[-3].endswith(r"| hw\\\| a \`x\` |")


def test_long_names_and_zeros_fit_a_chart() -> None:
    """Names of 200 characters, equal values and zeros give charts inside their frame."""
    runs = [make_run("m" * 200 + str(index), edits=0, word_edits=0) for index in range(3)]
    (group,) = group_runs(runs)
    for chart in board_charts(build_board(group)).values():
        for element in ET.fromstring(chart).iter():
            for name in ("x", "x1", "x2", "cx"):
                assert 0 <= float(element.get(name, "0")) <= 760
