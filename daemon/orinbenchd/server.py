"""The daemon's life: start, serve, drain, stop. Read it from top to bottom."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import grp
import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from orinbench.v1 import artifact_pb2, artifact_pb2_grpc, board_pb2, board_pb2_grpc, run_pb2, run_pb2_grpc
from orinbench_profiles import DeclarationError, load_hardware

from orinbenchd.artifacts.prepare import ModelPreparer
from orinbenchd.artifacts.store import ArtifactStore, is_full
from orinbenchd.board.board import Board
from orinbenchd.config import Config
from orinbenchd.doors.doorkeeper import Doorkeeper
from orinbenchd.doors.seats import Seats
from orinbenchd.doors.tls import Certificates
from orinbenchd.doors.tokens import TokenFile
from orinbenchd.failpoints import failpoint, refuse_unknown
from orinbenchd.journal import salvage
from orinbenchd.journal.reader import Reader
from orinbenchd.journal.writer import Writer
from orinbenchd.memory import give_back_forever
from orinbenchd.notify import notify, watchdog
from orinbenchd.runs.manager import RunManager
from orinbenchd.runs.surroundings import Surroundings
from orinbenchd.sandbox import choose
from orinbenchd.services.artifacts import ArtifactService
from orinbenchd.services.board import BoardService
from orinbenchd.services.interceptor import Interceptor
from orinbenchd.services.runs import RunService
from orinbenchd.signing import board_key
from orinbenchd.start_error import NoRoomError, StartError
from orinbenchd.telemetry.setup import make_hub
from orinbenchd.version import version
from orinbenchd.worker import leftover
from orinbenchd.worker.folders import remove_tree
from orinbenchd.worker.packages import link_packages
from orinbenchd.worker.runtimes import Runtimes

if TYPE_CHECKING:
    from orinbenchd.metrics.exporter import Exporter

log = structlog.get_logger("daemon")
_GIB = 1 << 30
_STOP_S = 5.0
# Kept free on the disk for the journal, whatever is uploaded.
_RESERVE = 64 << 20
_OPTIONS = [
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.so_reuseport", 0),
    # A chunk of an artifact is the largest that may come: 1 MiB.
    ("grpc.max_receive_message_length", 2 << 20),
    ("grpc.max_send_message_length", 8 << 20),
    # Whoever connects and says nothing, or speaks half a sentence, is let go of.
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.max_connection_idle_ms", 300_000),
    ("grpc.max_concurrent_streams", 128),
    ("grpc.max_metadata_size", 8 << 10),
    ("grpc.absolute_max_metadata_size", 16 << 10),
]
_OPENED = failpoint("start.opened")
_BOUND = failpoint("start.bound")
_DRAINING = failpoint("stop.draining")
_STREAMS_OVER = failpoint("stop.streams")
_WORKER_OVER = failpoint("stop.worker")
# What the health service says about: the process, and whether runs are taken.
_HEALTH = ("", "orinbench.v1.RunService")


class Daemon:
    """Everything that lives as long as the process. `serve` returns when it was told to stop."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._stop = asyncio.Event()
        self._fatal: Exception | None = None
        self._health = health.aio.HealthServicer()
        self._wedged_task: asyncio.Task[None] | None = None
        self._exporter: Exporter | None = None

    async def serve(self) -> int:
        """Start, serve until a signal, stop. Returns the exit code. Raises StartError."""
        with _locked(self._config.data_dir):
            try:
                await self._start()
            except (OSError, StartError) as error:
                if not is_full(self._config.data_dir):
                    raise
                text = f"data_dir {self._config.data_dir}: the disk is full ({error}): make room, then start again"
                raise NoRoomError(text) from None
            upkeep = [
                asyncio.create_task(watchdog(self._problem), name="watchdog"),
                asyncio.create_task(give_back_forever(), name="give-back"),
            ]
            try:
                await self._stop.wait()
            finally:
                for task in upkeep:
                    task.cancel()
                await self._shut_down()
        return 1 if self._fatal else 0

    async def _start(self) -> None:
        config = self._config
        refuse_unknown()
        try:
            profile = load_hardware(config.profile)
        except DeclarationError as error:
            raise StartError(f"profile: {error}") from None
        key = board_key(config.data_dir)
        doorkeeper, seats = Doorkeeper(config, TokenFile(config.data_dir)), Seats(config.limits)
        self._certificates = Certificates(config.tls) if config.tls is not None else None
        wedged = await leftover.end(config.data_dir, config.deadlines.reap_s)
        for scratch in config.data_dir.glob("worker-*"):
            remove_tree(scratch)
        await asyncio.to_thread(salvage.check, config.journal)
        self._writer = Writer(config.journal, self._on_disk_full, self._on_fatal)
        self._reader = Reader(config.journal)
        _OPENED()
        store = ArtifactStore(config.data_dir, int(config.limits.artifact_gib * _GIB), _RESERVE)
        self._hub = make_hub(
            config.root,
            profile.declaration,
            helper_socket=config.power_socket,
            interval_s=config.telemetry_interval_s,
            jtop_python=config.jtop_python,
            annotate=lambda reading: self._manager.annotate(reading),
        )
        sandbox = await choose(config.isolation, config.hidden, config.data_dir)
        packages = link_packages(config.data_dir / "packages")
        self._runtimes = Runtimes(config.runtimes, packages, config.data_dir)
        board = Board(
            config.root,
            profile.declaration,
            helper_socket=config.power_socket,
            data_dir=config.data_dir,
            isolation=sandbox.isolation,
        )
        around = Surroundings(
            config,
            profile.declaration,
            board,
            self._hub,
            store,
            sandbox,
            self._runtimes,
            packages[0],
            self._on_wedged,
            key,
        )
        self._manager = RunManager(self._writer, self._reader, around, profile)
        await self._manager.recover()
        if wedged:
            self._on_wedged(wedged)
        await self._hub.start()
        boards = BoardService(config, profile, board, self._hub, self._manager, self._runtimes, seats, key)
        preparer, silence_s = ModelPreparer(store, config), config.limits.upload_silence_s
        artifacts = ArtifactService(store, preparer, self._manager, silence_s)
        options = [*_OPTIONS, ("grpc.max_allowed_incoming_connections", config.limits.connections)]
        interceptor = Interceptor(doorkeeper, seats)
        if config.metrics is not None:
            # Only then: whoever does not want them does not pay for their library.
            from orinbenchd.metrics.setup import open_exporter
            from orinbenchd.metrics.snapshot import Observed

            observed = Observed(config, board, self._manager, self._writer, seats, interceptor)
            self._exporter = open_exporter(config.metrics, observed, self._hub)
        self._server = grpc.aio.server(interceptors=[interceptor], options=options)
        run_pb2_grpc.add_RunServiceServicer_to_server(RunService(self._manager), self._server)
        board_pb2_grpc.add_BoardServiceServicer_to_server(boards, self._server)
        artifact_pb2_grpc.add_ArtifactServiceServicer_to_server(artifacts, self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(_service_names(), self._server)
        await self._open_doors()

    async def _open_doors(self) -> None:
        config = self._config
        if config.socket is not None:
            _clear_socket(config.socket)
            self._bind(f"unix:{config.socket}", str(config.socket))
        port = self._bind(config.tcp, config.tcp, self._certificates) if config.tcp is not None else None
        await self._server.start()
        _BOUND()
        if config.socket is not None:
            _guard_socket(config.socket, config.socket_group)
        self._manager.start()
        self._runtimes.start()
        for name in _HEALTH[:1] if self._manager.wedged else _HEALTH:
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)
        notify("READY=1")
        log.info("ready", version=version(), profile=config.profile, data_dir=str(config.data_dir))
        ready = {"event": "ready", "socket": str(config.socket) if config.socket else None, "tcp_port": port}
        if self._exporter is not None:
            ready["metrics_port"] = self._exporter.port
        print(json.dumps(ready), flush=True)  # noqa: T201  # for whoever started us and waits

    def _bind(self, address: str, shown: str, certificates: Certificates | None = None) -> int:
        try:
            if certificates is None:
                port = self._server.add_insecure_port(address)
            else:
                port = self._server.add_secure_port(address, certificates.credentials())
        except RuntimeError:
            port = 0
        if port == 0:
            raise StartError(f"cannot listen on {shown}: the address is taken or may not be used by this user")
        return port

    async def _shut_down(self) -> None:
        notify("STOPPING=1")
        log.info("stopping")
        await self._health.enter_graceful_shutdown()
        _DRAINING()
        self._manager.drain()
        self._hub.end_streams()
        # At once, not behind the streams: a watcher of our health, who cannot be told to go, holds them open.
        halted = asyncio.ensure_future(self._manager.halt())
        await self._server.stop(_STOP_S)
        _STREAMS_OVER()
        await halted
        _WORKER_OVER()
        await self._runtimes.close()
        if self._exporter is not None:
            await asyncio.to_thread(self._exporter.close)
        await self._hub.close()
        await self._writer.close()
        await self._reader.close()
        if self._config.socket is not None:
            self._config.socket.unlink(missing_ok=True)
        log.info("stopped")

    def _on_signal(self, number: signal.Signals) -> None:
        if self._stop.is_set():
            log.warning("told to stop twice: leaving at once", signal=number.name)
            os._exit(128 + number)
        self._stop.set()

    def _on_disk_full(self, full: bool) -> None:
        self._manager.disk_full(full)

    def _on_fatal(self, error: Exception) -> None:
        log.error("the journal cannot be written: stopping", reason=f"{type(error).__name__}: {error}")
        self._fatal = error
        self._stop.set()

    def _on_wedged(self, reason: str) -> None:
        log.error("the board is wedged", reason=reason)
        self._manager.wedged = reason
        serving = self._health.set("orinbench.v1.RunService", health_pb2.HealthCheckResponse.NOT_SERVING)
        self._wedged_task = asyncio.ensure_future(serving)

    async def _problem(self) -> str:
        """Say what is wrong with us, for the watchdog: the journal must answer, or wait for room on the disk."""
        if self._writer.full:
            return ""
        await self._writer.submit(lambda connection: connection.execute("SELECT 1").fetchone())
        return ""


@contextlib.contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    """Hold the data directory for this process alone."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o750)
        file = (data_dir / "daemon.lock").open("w")
    except OSError as error:
        raise StartError(f"data_dir {data_dir}: cannot be written: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StartError(f"data_dir {data_dir}: another daemon uses it") from None
        yield


def _clear_socket(path: Path) -> None:
    """Remove the socket of a dead daemon. Raises StartError when a live one answers."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(f"socket {path}: its folder cannot be made: {error.strerror}") from None
    if not path.exists():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:
            raise StartError(f"socket {path}: {error.strerror}") from None
    raise StartError(f"socket {path}: another daemon listens there")


def _guard_socket(path: Path, group: str | None) -> None:
    """Let the owner and one group in, nobody else. Raises StartError."""
    try:
        if group is not None:
            os.chown(path, -1, grp.getgrnam(group).gr_gid)
        path.chmod(0o660)
    except (KeyError, OSError) as error:
        raise StartError(f"socket_group {group!r}: {error}") from None


def _service_names() -> list[str]:
    names = [
        module.DESCRIPTOR.services_by_name[name].full_name
        for module, name in (
            (run_pb2, "RunService"),
            (board_pb2, "BoardService"),
            (artifact_pb2, "ArtifactService"),
            (health_pb2, "Health"),
        )
    ]
    return [*names, reflection.SERVICE_NAME]
