"""What tests of the board share: a Board over a simulated Jetson, with and without its helper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orinbench.v1.record_pb2 import Check
from orinbench_profiles.loader import load_hardware
from orinbench_profiles.schema import HardwareProfile
from orinbenchd.board.board import Board
from orinbenchd.sandbox import Isolation

from tests.jetson_sim import helper
from tests.jetson_sim.builder import SimulatedBoard

SANDBOX = Isolation("sandbox")


def profile_of(built: SimulatedBoard, **changes: Any) -> HardwareProfile:
    """The board's own profile; the disk of a test machine need not be that large."""
    profile = load_hardware(built.board.profile).declaration
    return profile.model_copy(update={"free_disk_gib": 0.0, **changes})


def board_on(built: SimulatedBoard, socket: Path | None = None, **changes: Any) -> Board:
    return Board(built.root, profile_of(built, **changes), helper_socket=socket, data_dir=built.root, isolation=SANDBOX)


@contextmanager
def owned(built: SimulatedBoard, **changes: Any) -> Iterator[Board]:
    """A board with its helper running."""
    with helper.running(built.root) as power:
        yield board_on(built, power.socket, **changes)


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}
