"""What every segment needs of the daemon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orinbench_profiles import HardwareProfile

from orinbenchd.artifacts.store import ArtifactStore
from orinbenchd.board.board import Board
from orinbenchd.config import Config
from orinbenchd.sandbox import Sandbox
from orinbenchd.signing import BoardKey
from orinbenchd.telemetry.hub import TelemetryHub
from orinbenchd.worker.runtimes import Runtimes


@dataclass(frozen=True)
class Surroundings:
    """The parts of the daemon that a run works with. `packages` is where workers import orinbench from."""

    config: Config
    profile: HardwareProfile
    board: Board
    hub: TelemetryHub
    store: ArtifactStore
    sandbox: Sandbox
    runtimes: Runtimes
    packages: Path
    on_wedged: Callable[[str], None]
    key: BoardKey
