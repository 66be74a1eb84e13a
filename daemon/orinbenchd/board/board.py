"""The board the daemon owns: what it is, whether it may run, its power mode, what happens to it in a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import structlog
from orinbench.v1.board_pb2 import BoardIdentity, GpuClient
from orinbench.v1.record_pb2 import Check, Failure, Violation
from orinbench.v1.telemetry_pb2 import Telemetry
from orinbench_profiles.schema import HardwareProfile

from orinbenchd.board import checks, clocks, gpu_clients, nvpmodel, sensors
from orinbenchd.board.helper import HelperConnection, HelperError, ask
from orinbenchd.board.identity import environment_facts, is_tegra, memory_bytes, read_identity
from orinbenchd.board.monitor import Look, Monitor
from orinbenchd.board.profile_match import PREFIX, profile_checks
from orinbenchd.board.rootfs import Absent, Fact, Root, known
from orinbenchd.board.violations import violation
from orinbenchd.sandbox import Isolation
from orinbenchd.telemetry import nvml

#: How often mode, limits, temperatures and throttle counters are looked at during a run.
WATCH_INTERVAL_S = 0.5

#: Why a run fails whose GPU does not answer any more: no later run could be trusted on it. Workers say it too.
GPU_LOST = "GPU_LOST"

_log = structlog.get_logger(__name__)


class BoardRefusedError(Exception):
    """The board is not fit for the run. `failure` says so to the client, with every check."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Board:
    """One board, seen through `root`, held against `profile`.

    `data_dir` is where free disk is measured; `isolation` is what workers run in.
    """

    def __init__(
        self,
        root: Path | Root,
        profile: HardwareProfile,
        *,
        helper_socket: Path | None,
        data_dir: Path,
        isolation: Isolation,
    ) -> None:
        self.root = root if isinstance(root, Root) else Root(root)
        self.profile = profile
        self.tegra = is_tegra(self.root)
        self._helper_socket = helper_socket
        self._data_dir = data_dir
        self.isolation = isolation
        self._family = gpu_clients.Family(self.root, os.getpid())
        self._lease: HelperConnection | None = None
        self._modes = nvpmodel.read_modes(self.root)

    @property
    def simulated(self) -> bool:
        """True when the board is a folder of files."""
        return self.root.simulated

    def identity(self) -> BoardIdentity:
        """Read what the board is."""
        return read_identity(self.root, self._gpus())

    def facts(self) -> dict[str, str]:
        """Return what else to keep in `Environment.board`: GCID, package versions, CUDA parts, root."""
        facts = environment_facts(self.root)
        mode = self.power_mode()
        if mode is not None:
            facts["power_mode"] = mode
        if self.profile.gpu_clients != "none":
            facts["competitor_poll_s"] = f"{self.profile.competitor_poll_s:g}"
        return facts

    def power_mode(self) -> str | None:
        """Return the power mode in force by name, or None if there is none or it cannot be read."""
        mode = known(nvpmodel.current_mode(self.root, self._modes))
        return mode.name if mode else None

    def memory_available_bytes(self) -> int | None:
        """Return MemAvailable in bytes."""
        return known(memory_bytes(self.root, "MemAvailable"))

    def profile_checks(self) -> list[Check]:
        """Compare the board with its profile: module, cores, memory, release."""
        return profile_checks(self.profile, self.identity())

    async def preflight(self) -> list[Check]:
        """Decide every condition of a run now, in a fixed order. Changes nothing."""
        profile, found = self.profile, self.profile_checks()
        if profile.power_mode is not None:
            current = nvpmodel.current_mode(self.root, self._modes)
            helper = await self._helper_state()
            found.append(checks.power_mode_check(profile.power_mode, self._modes, current, helper))
        if profile.gpu_clients != "none":
            found += await self._gpu_checks()
        if profile.module_power_rails and self.tegra:
            names = [rail.name for rail in sensors.find_rails(self.root)]
            found.append(checks.rails_check(profile.module_power_rails, names))
        if profile.temperature_limit_c is not None:
            degrees = sensors.temperatures_c(self.root, sensors.find_zones(self.root))
            found.append(checks.temperature_check(degrees, profile.temperature_limit_c))
        if profile.isolation_floor != "none":
            found.append(checks.isolation_check(profile.isolation_floor, self.isolation, profile.official))
        found.append(checks.disk_check(self._data_dir, profile.free_disk_gib))
        if profile.free_memory_gib is not None:
            found.append(checks.memory_check(self.root, profile.free_memory_gib))
        return found

    async def acquire(self) -> list[Check]:
        """Make the board ready for a run: all checks, top mode, clocks. Raises BoardRefusedError.

        What is changed here is put back by `release`, by the helper when this process ends in any other way.
        """
        found = await self.preflight()
        _raise_if_failed(found)
        wanted = self.profile.power_mode
        if wanted is not None:
            try:
                await self._take_lease(wanted)
            except HelperError as error:
                await self.release()
                _raise_if_failed(_with_failed(found, wanted, self.power_mode(), error))
        return found

    async def release(self) -> None:
        """Put back what `acquire` changed. Safe to call twice; the helper does it anyway on hang-up."""
        lease, self._lease = self._lease, None
        if lease is None:
            return
        try:
            await lease.call("restore")
        except HelperError as error:
            _log.error("power mode not restored", code=error.code, reason=str(error))
        await lease.close()

    def start_violations(self, found: Sequence[Check]) -> list[Violation]:
        """Return what voids a run from its first moment, given the checks it started with."""
        made = []
        if self.simulated:
            made.append(violation("SIMULATED", f"the board is a folder ({self.root.base.name}), not a machine"))
        if self.profile.development:
            made.append(violation("DEVELOPMENT_PROFILE", f"profile {self.profile.id} is for development"))
        unknown = [c.name for c in found if c.name.startswith(PREFIX) and c.result != checks.PASSED]
        if unknown:
            made.append(violation("PROFILE_MISMATCH", f"not shown to match the profile: {', '.join(unknown)}"))
        floor, isolation = self.profile.isolation_floor, self.isolation
        if not isolation.reaches(floor):
            text = f"the profile wants {floor}, workers run with {isolation.level}: {isolation.reason}"
            made.append(violation("ISOLATION_LOW", text))
        return made

    async def watch(
        self, latest: Callable[[], Telemetry | None], on_own: Callable[[Sequence[GpuClient]], None]
    ) -> AsyncIterator[Violation]:
        """Yield violations as they happen, until the caller stops. Start it right after `acquire`.

        `on_own` is told at each poll for competitors which of the GPU's clients are this process and its children.
        Raises BoardRefusedError when the GPU is lost.
        """
        monitor = Monitor(self._look(None), self.profile.temperature_limit_c, self.profile.lock_clocks)
        due = asyncio.get_running_loop().time()
        while True:
            clients = None
            if self.profile.gpu_clients != "none" and asyncio.get_running_loop().time() >= due:
                due += self.profile.competitor_poll_s
                clients = await self._poll(on_own)
            reading = latest()
            seen = monitor.look(self._look(clients)) + (monitor.telemetry(reading) if reading else [])
            for made in seen:
                yield made
            await asyncio.sleep(WATCH_INTERVAL_S)

    async def _poll(self, on_own: Callable[[Sequence[GpuClient]], None]) -> list[GpuClient] | None:
        self._family.look()
        everyone = await self.gpu_clients()
        if isinstance(everyone, nvml.GpuLost):
            raise BoardRefusedError(Failure(failure_class=checks.BOARD, reason=GPU_LOST, message=everyone.reason))
        if isinstance(everyone, Absent):
            return None
        others = self._family.strangers(everyone)
        theirs = {client.pid for client in others}
        on_own([client for client in everyone if client.pid not in theirs])
        return others

    async def competitors(self) -> Fact[list[GpuClient]]:
        """Return the processes on the GPU that are neither this one nor its descendants."""
        self._family.look()
        clients = await self.gpu_clients()
        return clients if isinstance(clients, Absent) else self._family.strangers(clients)

    async def gpu_clients(self) -> Fact[list[GpuClient]]:
        """Return all processes on the GPU, ours included, for `Board.gpu_clients`."""
        if self.profile.gpu_clients == "none":
            return Absent(f"the profile {self.profile.id} watches no GPU")
        if self.profile.gpu_clients == "nvml":
            return Absent("a simulated board has no NVML") if self.simulated else nvml.clients()
        if self._helper_socket is None:
            return gpu_clients.tegra_clients(self.root)
        try:
            answer = await ask(self._helper_socket, "gpu-clients")
        except HelperError as error:
            return Absent(str(error))
        table = gpu_clients.parse_nvmap(str(answer.get("nvmap") or ""))
        rows = answer["holders"]
        holders = [GpuClient(pid=int(row["pid"]), name=str(row["name"]), source="fd") for row in rows]
        return gpu_clients.merge(table, holders)

    async def _gpu_checks(self) -> list[Check]:
        node = [checks.gpu_node_check(self.root)] if self.tegra else []
        others = await self.competitors()
        if isinstance(others, nvml.GpuLost):
            return [*node, checks.gpu_lost_check(others.reason)]
        return [*node, checks.gpu_clients_check(others, self.profile.official)]

    async def _helper_state(self) -> Fact[str]:
        if self._helper_socket is None:
            return Absent("no power helper is configured")
        try:
            await ask(self._helper_socket, "status")
        except HelperError as error:
            return Absent(str(error))
        return "ready"

    async def _take_lease(self, wanted: str) -> None:
        """Ask the helper for the board. Without a helper a board that is already as it should be will do."""
        as_is = self.power_mode() == wanted and not self.profile.lock_clocks
        if self._helper_socket is None:
            if as_is:
                return
            raise HelperError("unreachable", "no power helper is configured (power_socket)")
        try:
            self._lease = await HelperConnection.open(self._helper_socket)
        except HelperError as error:
            if as_is:
                _log.warning("the board is not leased", reason=str(error))
                return
            raise
        await self._lease.call("set-top-mode")
        if self.power_mode() != wanted:  # the helper read it back too; this is the daemon's own look
            raise HelperError("not-in-force", f"nvpmodel was called, yet the mode is not {wanted}")
        if self.profile.lock_clocks:
            await self._lease.call("lock-clocks")

    def _look(self, clients: list[GpuClient] | None) -> Look:
        mode: Fact[str] | None = None
        if self.profile.power_mode is not None:
            current = nvpmodel.current_mode(self.root, self._modes)
            mode = current if isinstance(current, Absent) else current.name
        limits = clocks.clock_limits(self.root) if self.tegra else {}
        return Look(mode, limits, clients)

    def _gpus(self) -> Fact[list[str]]:
        if not self.tegra:
            return Absent("a simulated board has no NVML") if self.simulated else nvml.gpu_names()
        path = clocks.gpu_devfreq(self.root)
        return Absent("no clock of an integrated GPU under /sys/class/devfreq") if path is None else [path.name]


def _with_failed(found: list[Check], wanted: str, mode: str | None, error: HelperError) -> list[Check]:
    """Put what the helper said in the place of the check that had passed."""
    failed = Check(name="power_mode", result=checks.FAILED, failure_class=checks.BOARD, expected=wanted)
    failed.found, failed.hint = mode or "unknown", str(error)
    return [failed if check.name == failed.name else check for check in found]


def _raise_if_failed(found: list[Check]) -> None:
    if any(check.result == checks.FAILED for check in found):
        raise BoardRefusedError(preflight_failure(found))


def preflight_failure(found: Sequence[Check]) -> Failure:
    """Make the failure of a refused run: class policy if nothing but policy stood in the way."""
    failed = [check for check in found if check.result == checks.FAILED]
    board = any(check.failure_class == checks.BOARD for check in failed)
    reason = "PREFLIGHT_FAILED" if board else "GPU_IN_USE"
    if any(check.name == checks.GPU_LOST for check in failed):
        reason = GPU_LOST
    lines = [f"{check.name}: expected {check.expected}, found {check.found} ({check.hint})" for check in failed]
    return Failure(
        failure_class=checks.BOARD if board else checks.POLICY,
        reason=reason,
        message="the board refused the run: " + "; ".join(lines),
        checks=found,
    )
