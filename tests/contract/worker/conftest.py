"""What the worker's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.worker.kit import Store

_TRIAL = """
[orinbench.engines]
trial = trial_engines:TrialEngine
absent = a_module_that_nobody_has:Engine
"""
Files = dict[str, bytes]


@pytest.fixture(scope="session")
def whisper(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The files of a tiny Whisper."""
    from tests.contract.worker import checkpoints

    return checkpoints.whisper(tmp_path_factory.mktemp("whisper"))


@pytest.fixture(scope="session")
def wav2vec2(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The files of a tiny CTC model."""
    from tests.contract.worker import checkpoints

    return checkpoints.wav2vec2(tmp_path_factory.mktemp("wav2vec2"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty artifact folder."""
    return Store(tmp_path / "artifacts")


@pytest.fixture
def trial_path(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH in which a distribution with the trial engines is installed."""
    folder = tmp_path / "site"
    information = folder / "trial_engines-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: trial-engines\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(_TRIAL)
    source = Path(__file__).parent / "trial" / "trial_engines.py"
    (folder / "trial_engines.py").write_bytes(source.read_bytes())
    return folder
