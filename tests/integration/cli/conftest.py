"""One daemon for all tests that leave nothing behind on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.harness import Daemon, running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A running daemon, the same for every test of a module."""
    with running(tmp_path_factory.mktemp("d")) as started:
        yield started
