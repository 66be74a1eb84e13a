"""A small PESTE directory and the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.bundles.peste_directory import CommandLine, PesteDirectory


@pytest.fixture
def peste(tmp_path: Path) -> PesteDirectory:
    """A directory of two successful runs."""
    return PesteDirectory(tmp_path / "peste")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line."""
    return CommandLine(capsys)
