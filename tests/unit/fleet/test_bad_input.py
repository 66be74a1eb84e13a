"""What a user of a fleet can get wrong."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import pytest
from orinbench_client.cli.main import main

RUN = ("fleet", "-s", "fa-demo-v1", "-m", "fa-demo-tiny")


@pytest.fixture(autouse=True)
def nothing_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and no config file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["fleet"], 2, "what is to run?"),
        ([*RUN], 2, "names no board"),
        ([*RUN, "--board", ""], 2, "--board is empty"),
        ([*RUN, "--board", "nonsense"], 2, "is neither unix:/path"),
        ([*RUN, "--pool", "none.toml"], 2, "none.toml: no such file"),
        ([*RUN, "--pool", "bad.toml"], 2, 'bad.toml: a pool is boards = ["NAME or ADDRESS", …]'),
        ([*RUN, "--pool", "empty.toml"], 2, "empty.toml: names no board"),
        ([*RUN, "--board", "/x.sock", "--request-id", "-x"], 2, "--request-id '-x': must be 1 to 95"),
        ([*RUN, "--board", "/x.sock", "--repeat", "0"], 2, "--repeat"),
        ([*RUN, "-m", "same.toml", "--board", "/x.sock"], 2, "fa-demo-tiny, same.toml: two of them are the same"),
        (["fleet", "--json", "drift", "--results", "."], 2, "options of 'drift' belong behind it"),
        (["fleet", "drift", "--results", "none"], 2, "none: no such folder"),
        ([*RUN, "--board", "/x.sock"], 5, "none of 1 boards can be reached: unix:/x.sock"),
    ],
)
def test_one_line_and_the_code_of_its_kind(
    words: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each mistake is one line at the end of standard error, with the exit code of its kind."""
    Path("bad.toml").write_text("board = 1\n")
    Path("same.toml").write_text(resources.files("orinbench_profiles").joinpath("models/fa-demo-tiny.toml").read_text())
    Path("empty.toml").write_text("boards = []\n")

    assert main(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("orinbench: ")
    assert text in err.splitlines()[-1]


def test_without_dask_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the extra is not installed, --scheduler is one line that names it, and nothing is made."""
    for name in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "orinbench_client.fleet.on_dask", raising=False)
    monkeypatch.delattr("orinbench_client.fleet.on_dask", raising=False)

    assert main([*RUN, "--board", "/x.sock", "--scheduler", "tcp://h:1"]) == 2
    assert capsys.readouterr().err == (
        "orinbench: --scheduler needs Dask, which is not installed: pip install 'orinbench[pool]'\n"
    )
    assert not list(Path().iterdir())


def test_no_scheduler_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An address where no scheduler listens is one line."""
    monkeypatch.setattr("orinbench_client.fleet.on_dask._CONNECT_S", 0.5)
    assert main([*RUN, "--board", "/x.sock", "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert "--scheduler tcp://127.0.0.1:1: no Dask scheduler can be reached there" in capsys.readouterr().err
