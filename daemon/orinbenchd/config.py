"""The configuration: one TOML file, resolved once at the start. A key nobody knows is an error."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StringConstraints, ValidationError, model_validator

from orinbenchd.doors.roles import Role
from orinbenchd.sandbox import Hidden, Level
from orinbenchd.start_error import StartError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SYSTEM_CONFIG = Path("/etc/orinbench/orinbenchd.toml")


class Section(BaseModel):
    """Base of all sections."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TlsClient(Section):
    """Someone who may come in by a certificate."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=253)]
    """The certificate's common name, or one of its alternative names."""
    role: Role
    """What they may do."""


class Tls(Section):
    """TLS of the TCP door, all files PEM."""

    certificate: Path
    """The board's certificate, and those between it and the authority."""
    key: Path
    """Its private key; one that everybody may read is refused."""
    client_ca: Path | None = None
    """With it every client must show a certificate of that authority."""
    clients: list[TlsClient] = []
    """Who gets a role by their certificate."""

    @model_validator(mode="after")
    def _authority(self) -> Tls:
        if self.clients and self.client_ca is None:
            raise ValueError("clients: names need the authority that vouches for them: set client_ca")
        return self


class Runtime(Section):
    """A Python environment in which workers run."""

    python: Path
    """Its interpreter."""


class Limits(Section):
    """Bounds that keep the daemon's memory and disk finite."""

    queue_length: Annotated[int, Field(ge=1)] = 256
    """Unfinished runs in all."""
    queue_per_submitter: Annotated[int, Field(ge=1)] = 64
    """Unfinished runs of one submitter who comes by TCP."""
    streams: Annotated[int, Field(ge=1)] = 256
    """Open streams (watches, uploads) in all."""
    streams_per_caller: Annotated[int, Field(ge=1)] = 64
    """Open streams of one caller who comes by TCP."""
    connections: Annotated[int, Field(ge=1)] = 512
    """Connections to each door; more are closed at once."""
    upload_silence_s: Annotated[float, Field(gt=0)] = 60.0
    """An upload that sends nothing for so long is ended; what came of it is kept."""
    artifact_gib: Annotated[float, Field(gt=0)] = 64.0
    """The largest artifact."""
    samples: Annotated[int, Field(ge=1)] = 1_000_000
    """The most samples of a run."""
    worker_gib: Annotated[float, Field(gt=0)] = 16.0
    """What one worker may write: its scratch folder and the cache of its model."""
    cache_gib: Annotated[float, Field(gt=0)] = 32.0
    """All models' caches together, before a run begins."""


class Deadlines(Section):
    """How long a worker may go without progress, in seconds."""

    start_s: Annotated[float, Field(gt=0)] = 60.0
    """From the start of its process to its first word."""
    load_s: Annotated[float, Field(gt=0)] = 900.0
    """To load the model."""
    sample_floor_s: Annotated[float, Field(gt=0)] = 30.0
    """The least a sample gets, however fast the ones before it were."""
    first_sample_s: Annotated[float, Field(gt=0)] = 120.0
    """The first sample: this much, and more by its declared length."""
    stop_s: Annotated[float, Field(gt=0)] = 5.0
    """From being told to stop to SIGKILL."""
    reap_s: Annotated[float, Field(gt=0)] = 10.0
    """After SIGKILL: a worker that is still there then hangs in the kernel, and the board is wedged."""
    drain_s: Annotated[float, Field(gt=0)] = 20.0
    """The sample in work when the daemon is told to stop: after that it is cut off."""


class Retention(Section):
    """How much of what has ended is kept. Without a value it is kept for good."""

    run_days: Annotated[float, Field(gt=0)] | None = None
    """Ended runs: days since their end."""
    journal_gib: Annotated[float, Field(gt=0)] | None = None
    """Ended runs: the size of the journal; the oldest go first."""
    artifact_days: Annotated[float, Field(gt=0)] | None = None
    """Artifacts that no unfinished run needs: days since they came or were asked for."""
    artifacts_gib: Annotated[float, Field(gt=0)] | None = None
    """Artifacts: their size together; the least recently used go first."""


class Config(Section):
    """Everything that can be set. Relative paths are taken from the folder of the file."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")] = "board"
    """What the board is called in records; the host's name unless set."""
    profile: str = "cpu-dev"
    """The hardware profile: a name of ours, or the absolute path of a TOML file."""
    data_dir: Path
    """Journal, artifacts, keys, tokens. `/var/lib/orinbench` for root, else `$XDG_STATE_HOME/orinbench`."""
    socket: Path | None
    """The Unix socket, "" for none. `/run/orinbench/orinbench.sock` for root, else in `$XDG_RUNTIME_DIR/orinbench`."""
    socket_group: str | None = None
    """The group that may open the socket, beside its owner."""
    tcp: str | None = None
    """`host:port` of a TCP door; beyond loopback only with `[tls]`."""
    tls: Tls | None = None
    """TLS of that door."""
    metrics: str | None = None
    """`host:port` for GET /metrics, in clear and without a token."""
    metrics_exposed: bool = False
    """Lets `metrics` be an address that is not loopback."""
    root: Path = Path("/")
    """Where the board's files are read; anything but `/` is a simulated board."""
    power_socket: Path | None = None
    """The socket of the root helper `orinbench-power`; without it no power mode is set."""
    jtop_python: Path | None = None
    """An interpreter that has jetson-stats; without it jtop is not used."""
    runtimes: dict[str, Runtime] = {"default": Runtime(python=Path(sys.executable))}
    """Environments that models may name; unless set, `default` is the daemon's own."""
    isolation: Level = "sandbox"
    """The highest isolation to try; what is in force also depends on what the system has and permits."""
    telemetry_interval_s: Annotated[float, Field(ge=0.05, le=60)] = 0.5
    """Seconds between two readings of the board."""
    limits: Limits = Limits()
    """Bounds."""
    deadlines: Deadlines = Deadlines()
    """How long a worker may go without progress."""
    retention: Retention = Retention()
    """How much of what has ended is kept."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important lines that are logged."""
    _file: Path | None = PrivateAttr(None)

    @property
    def journal(self) -> Path:
        """The database of all runs and records."""
        return self.data_dir / "journal.sqlite"

    @property
    def downloads(self) -> Path:
        """The folder of what is fetched from hubs, one folder a model, until it is whole."""
        return self.data_dir / "hub"

    @model_validator(mode="after")
    def _doors(self) -> Config:
        if self.socket is None and self.tcp is None:
            raise ValueError("neither socket nor tcp is set: nobody could reach the daemon")
        if self.socket is not None and len(os.fsencode(self.socket)) > 107:
            raise ValueError(f"socket: {self.socket} is longer than the 107 bytes a Unix socket may have")
        if self.tcp is not None:
            _check_tcp(self.tcp, self.tls is not None)
        elif self.tls is not None:
            raise ValueError("tls: is of the TCP door only: set tcp")
        if self.metrics is not None:
            _check_metrics(self.metrics, self.metrics_exposed)
        if "default" not in self.runtimes:
            raise ValueError("runtimes: one must be called 'default'")
        return self

    @property
    def hidden(self) -> Hidden:
        """What no worker may see of the daemon: its data, its configuration, its sockets, its private key of TLS."""
        files = (self._file, self.socket, self.power_socket, self.tls.key if self.tls is not None else None)
        return Hidden((self.data_dir, SYSTEM_CONFIG.parent), tuple(path for path in files if path is not None))


def load_config(path: Path | None) -> Config:
    """Read the configuration; without a path the system's file if it is there, else the defaults. Raises StartError."""
    if path is None and SYSTEM_CONFIG.exists():
        path = SYSTEM_CONFIG
    values = _defaults()
    where = "the defaults"
    if path is not None:
        where = str(path)
        values.update(_read(path))
        _resolve(values, path.parent.resolve())
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        problems = "; ".join(_explain(problem) for problem in error.errors())
        raise StartError(f"configuration {where}: {problems}") from None
    config._file = path
    return config


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StartError(f"configuration {path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StartError(f"configuration {path}: not valid TOML: {error}") from None


def _defaults() -> dict[str, Any]:
    """Return system folders for root, XDG folders for an ordinary user."""
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in socket.gethostname().lower()).strip("-._")
    if os.geteuid() == 0:
        data, runtime = Path("/var/lib/orinbench"), Path("/run/orinbench")
    else:
        home = Path.home()
        data = Path(os.environ.get("XDG_STATE_HOME") or home / ".local/state") / "orinbench"
        runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or data) / "orinbench"
    return {"name": name[:63] or "board", "data_dir": data, "socket": runtime / "orinbench.sock"}


def _resolve(values: dict[str, Any], folder: Path) -> None:
    _resolve_paths(values, ("data_dir", "socket", "root", "power_socket", "jtop_python"), folder)
    if isinstance(values.get("tls"), dict):
        _resolve_paths(values["tls"], ("certificate", "key", "client_ca"), folder)


def _resolve_paths(values: dict[str, Any], keys: tuple[str, ...], folder: Path) -> None:
    for key in keys:
        if isinstance(values.get(key), str):
            values[key] = folder / values[key] if values[key] else None
    runtimes = values.get("runtimes")
    for runtime in runtimes.values() if isinstance(runtimes, dict) else ():
        if isinstance(runtime, dict) and isinstance(runtime.get("python"), str):
            runtime["python"] = folder / runtime["python"]


def _explain(problem: Any) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        known = list(Config.model_fields)
        for section in (Limits, Deadlines, Retention, Runtime, Tls, TlsClient):
            known += section.model_fields
        close = get_close_matches(str(problem["loc"][-1]), known, 1)
        return f"unknown key {key!r}" + (f": did you mean {close[0]!r}?" if close else "")
    return f"{key}: {problem['msg']}" if key else str(problem["msg"])


def _host_of(key: str, address: str) -> str:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise ValueError(f"{key}: {address!r} is not host:port")
    return host.strip("[]")


def _check_metrics(address: str, exposed: bool) -> None:
    host = _host_of("metrics", address)
    if not exposed and not _is_loopback(host):
        raise ValueError(
            f"metrics: {host} is not a loopback address, and whoever reaches it reads them in clear and without a "
            "token: set metrics_exposed = true if that is meant"
        )


def _check_tcp(address: str, encrypted: bool) -> None:
    host = _host_of("tcp", address)
    if not encrypted and not _is_loopback(host):
        raise ValueError(
            f"tcp: {host} is not a loopback address, so it needs TLS: make certificates with 'orinbenchd certs init' "
            "and set [tls]"
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
