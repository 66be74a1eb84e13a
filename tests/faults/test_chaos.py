"""A short session of scripts/chaos, with a fixed seed: every push goes through one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.chaos import Chaos


@pytest.mark.timeout(600)
def test_a_seeded_session_loses_and_repeats_nothing(folder: Path) -> None:
    """Twelve kills of daemon, workers and clients: every sample once, every promise kept, nothing left behind."""
    books = Chaos(folder, seed=20).run(seconds=0, kills=12)

    assert books.clean, books.line(20)
    assert books.kills.total() >= 12
    assert set(books.kills) == {"daemon", "worker", "client"}
