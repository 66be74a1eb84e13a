"""BoardService: what the board is, whether it may run, and its live readings."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

from orinbench.v1 import board_pb2, board_pb2_grpc
from orinbench.v1 import record_pb2 as pb
from orinbench_profiles import HardwareProfile, Loaded, execution_contract_digest

from orinbenchd.artifacts.store import free_bytes
from orinbenchd.board.board import Board
from orinbenchd.board.rootfs import Absent
from orinbenchd.config import Config
from orinbenchd.doors.doorkeeper import Context
from orinbenchd.doors.seats import Seats
from orinbenchd.errors import Unavailable, invalid_field
from orinbenchd.runs.manager import WEDGED_HINT, RunManager
from orinbenchd.runs.records import now
from orinbenchd.services.interceptor import API_REVISION
from orinbenchd.signing import BoardKey
from orinbenchd.telemetry.hub import TelemetryHub
from orinbenchd.version import version
from orinbenchd.worker.runtimes import Runtimes

_SHORTEST_S = 0.1


class BoardService(board_pb2_grpc.BoardServiceServicer):
    """The servicer. Identity is read once: a board does not change while a daemon lives."""

    def __init__(
        self,
        config: Config,
        profile: Loaded[HardwareProfile],
        board: Board,
        hub: TelemetryHub,
        manager: RunManager,
        runtimes: Runtimes,
        seats: Seats,
        key: BoardKey,
    ) -> None:
        self._config = config
        self._profile = profile
        self._board = board
        self._hub = hub
        self._manager = manager
        self._runtimes = runtimes
        self._seats = seats
        self._key = key
        self._identity = board.identity()
        self._checks = board.profile_checks()
        self._start = now()

    async def GetBoard(self, request: board_pb2.GetBoardRequest, context: Context) -> board_pb2.GetBoardResponse:
        """Say what the board is and what it does."""
        manager, profile = self._manager, self._profile
        state, reason = self._state()
        clients = await self._board.gpu_clients()
        shown = board_pb2.Board(
            name=f"boards/{self._config.name}",
            state=state,
            state_reason=reason,
            identity=self._identity,
            hardware_profile=profile.declaration.id,
            hardware_profile_digest=profile.digest,
            profile_official=profile.declaration.official,
            profile_matches=all(check.result == pb.CHECK_RESULT_PASSED for check in self._checks),
            profile_checks=self._checks,
            power_mode=self._board.power_mode(),
            isolation=self._board.isolation.level,
            isolation_reason=self._board.isolation.reason,
            runtimes=sorted(self._config.runtimes),
            active_run=manager.active.run.name if manager.active else "",
            queue_length=len(manager.queued),
            expected_wait_s=manager.expected_wait_s(),
            watchers=self._seats.watching,
            daemon_version=version(),
            api_revision=API_REVISION,
            start_time=self._start,
            public_key=self._key.public,
            key_id=self._key.key_id,
            disk_free_bytes=free_bytes(self._config.data_dir),
            simulated=self._board.simulated,
            execution_contract_digest=execution_contract_digest(),
            gpu_clients=[] if isinstance(clients, Absent) else clients,
            gpu_clients_unknown=clients.reason if isinstance(clients, Absent) else "",
            runtime_states=self._runtimes.states,
        )
        return board_pb2.GetBoardResponse(board=shown)

    async def CheckBoard(self, request: board_pb2.CheckBoardRequest, context: Context) -> board_pb2.CheckBoardResponse:
        """Run the preflight checks now."""
        checks = await self._board.preflight()
        passed = all(check.result != pb.CHECK_RESULT_FAILED for check in checks)
        return board_pb2.CheckBoardResponse(checks=checks, passed=passed)

    async def WatchTelemetry(
        self, request: board_pb2.WatchTelemetryRequest, context: Context
    ) -> AsyncIterator[board_pb2.WatchTelemetryResponse]:
        """Send the latest reading at the client's interval."""
        interval_s = request.interval_s
        if not math.isfinite(interval_s) or (interval_s != 0 and interval_s < _SHORTEST_S):
            raise invalid_field("interval_s", f"{interval_s} is neither 0 nor at least {_SHORTEST_S}")
        async for reading in self._hub.subscribe(interval_s):
            if self._manager.draining:
                break
            yield board_pb2.WatchTelemetryResponse(telemetry=reading)
        raise Unavailable("DRAINING", "the daemon is going down")

    def _state(self) -> tuple[board_pb2.BoardState, str]:
        manager = self._manager
        if manager.wedged:
            return board_pb2.BOARD_STATE_WEDGED, f"{manager.wedged}; {WEDGED_HINT}"
        if manager.draining:
            return board_pb2.BOARD_STATE_DRAINING, "the daemon is going down"
        if manager.active is not None:
            return board_pb2.BOARD_STATE_BUSY, ""
        return board_pb2.BOARD_STATE_IDLE, ""
