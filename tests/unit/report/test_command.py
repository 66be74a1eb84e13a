"""`orinbench report` as a command: what it writes, when it refuses, and that the same results give the same bytes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.unit.bundles.native_run import NativeRun
from tests.unit.bundles.peste_directory import CommandLine
from tests.unit.report.bundles import MeasuredRun, write_run


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line."""
    return CommandLine(capsys)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two runs of one suite, one with telemetry."""
    write_run(tmp_path / "results", MeasuredRun(power_w=[20.0, 21.0, 22.0]))
    write_run(tmp_path / "results", NativeRun(run_id="other", model_id="model-o", error_rate=0.6))
    return tmp_path / "results"


def content_of(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_results_give_the_same_bytes(cli: CommandLine, results: Path, tmp_path: Path) -> None:
    """Two reports of one folder are equal to the byte, charts included, and every chart is there as SVG and PNG."""
    assert cli.ok("report", "--results", results, "--out", tmp_path / "one") == f"{tmp_path / 'one' / 'report.html'}\n"
    cli.ok("report", "--results", results, "--out", tmp_path / "two")
    one = content_of(tmp_path / "one")
    names = {name.rpartition(".")[0] for name in one if name.startswith("charts/")}

    assert one == content_of(tmp_path / "two")
    assert {"charts/accuracy-cer", "charts/pareto-cer-energy"} <= names
    assert f"charts/run-native-suite-{NativeRun.run_id}-telemetry" in names
    assert all({f"{name}.svg", f"{name}.png"} <= set(one) for name in names)


def test_charts_of_runs_that_are_gone_go_too(cli: CommandLine, results: Path, tmp_path: Path) -> None:
    """A report over an older one leaves no chart of a run that is no longer there, and nothing else is touched."""
    out = tmp_path / "out"
    cli.ok("report", "--results", results, "--out", out)
    (out / "charts" / "mine.txt").write_text("kept")
    (results / "native-suite" / NativeRun.run_id).rename(tmp_path / "elsewhere")
    cli.ok("report", "--results", results, "--out", out)

    assert not list(out.glob("charts/*telemetry*"))
    assert (out / "charts" / "mine.txt").read_text() == "kept"


def test_it_does_not_write_over_leaderboards(cli: CommandLine, results: Path, tmp_path: Path) -> None:
    """A folder that holds leaderboards is refused in one line and stays as it is."""
    out = tmp_path / "out"
    cli.ok("leaderboard", "--results", results, "--out", out)
    before = content_of(out)
    code, _, err = cli("report", "--results", results, "--out", out)

    assert code == 2
    assert "give another output folder" in err
    assert content_of(out) == before


def test_without_the_extra_it_says_how_to_get_it(
    cli: CommandLine, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the libraries of the extra are missing one line says how to install them, and nothing is written."""
    monkeypatch.setitem(sys.modules, "altair", None)
    code, _, err = cli("report", "--results", results, "--out", tmp_path / "out")

    assert code == 2
    assert err.splitlines() == [err.rstrip()]
    assert "pip install 'orinbench[report]'" in err
    assert not (tmp_path / "out").exists()


def test_a_folder_without_bundles_is_bad_input(cli: CommandLine, tmp_path: Path) -> None:
    """An empty results folder is one clear error."""
    (tmp_path / "empty").mkdir()
    code, _, err = cli("report", "--results", tmp_path / "empty", "--out", tmp_path / "out")

    assert code == 2
    assert "no bundle in it" in err
