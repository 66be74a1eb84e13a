"""Without Dask."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from orinbench_client.cli.main import main


def test_without_dask_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the extra is not installed, --scheduler is one line that names it, and nothing is made."""
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.chdir(tmp_path)

    words = ["fleet", "-s", "fa-demo-v1", "-m", "fa-demo-tiny", "--board", "/x.sock", "--scheduler", "tcp://h:1"]
    assert main(words) == 2
    assert capsys.readouterr().err == (
        "orinbench: --scheduler needs Dask (dask is missing): pip install 'orinbench[pool]'\n"
    )
    assert not list(tmp_path.iterdir())
