"""A small folder in Parse's layout, and the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.bundles.peste_directory import CommandLine
from tests.unit.parse.parse_folder import write_parse


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder."""
    return write_parse(tmp_path / "own")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line."""
    return CommandLine(capsys)
