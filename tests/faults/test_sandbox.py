"""What a worker can reach, asked by an engine that tries it: in the sandbox, and without one for comparison."""

from __future__ import annotations

import json
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from orinbench.v1 import board_pb2, record_pb2
from orinbench_profiles import digest_bytes

from tests.integration.harness import Daemon, Wire, body, check_history, connect, finished_of, running, samples_of
from tests.integration.venvs import add_engine, make_venv

# An ordinary user, with nothing but what the kernel gives any user; files stay those of whoever runs the tests.
AS_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")
# The kernel itself refuses every new network namespace in there.
NO_NETWORK_NAMESPACES = (
    *("unshare", "--user", "--map-root-user", "--", "sh", "-c"),
    'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"',
    "sh",
)

# What works at which level; see `attempts`.
NETWORK = {"IPv4", "IPv6", "an abstract socket"}
FILES = {
    "the daemon's socket", "the journal", "the board's key", "the configuration", "a key at home",
    "writing to the data", "writing to a model", "writing to its own runtime",
    "seeing the daemon",
    "signalling the daemon",
}  # fmt: skip
OWN = {"its scratch", "its cache", "a temporary file", "reading a model"}

SECRET = {"HF_TOKEN": "t", "ORINBENCH_TOKEN": "t", "HTTPS_PROXY": "http://127.0.0.1:9", "AWS_SECRET_ACCESS_KEY": "t"}
OFFLINE = {"HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "CUDA_VISIBLE_DEVICES"}


@pytest.fixture(scope="module")
def prying(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a runtime with an engine that pries."""
    folder = tmp_path_factory.mktemp("runtime")
    python = make_venv(folder)
    add_engine(folder, "prying", Path(__file__).with_name("prying_engine.py"))
    return python


@pytest.fixture
def home(folder: Path) -> Path:
    """The home of whoever runs the daemon; it holds a key."""
    made = folder / "home"
    made.mkdir()
    (made / "key").write_text("secret")
    return made


@pytest.fixture
def listeners() -> Iterator[dict[str, list[Any]]]:
    """Sockets to connect to, by name."""
    wanted: dict[str, tuple[int, Any]] = {
        "IPv4": (socket.AF_INET, ("127.0.0.1", 0)),
        "IPv6": (socket.AF_INET6, ("::1", 0)),
        "an abstract socket": (socket.AF_UNIX, f"\0orinbench-test-{secrets.token_hex(8)}"),
    }
    with ExitStack() as stack:
        found = {}
        for name, (family, address) in wanted.items():
            server = stack.enter_context(socket.socket(family))
            server.bind(address)
            server.listen()
            bound = server.getsockname()
            found[name] = ["connect", int(family), bound.decode() if isinstance(bound, bytes) else list(bound)]
        yield found


def settings(python: Path, level: str, **more: Any) -> dict[str, Any]:
    """The configuration of a daemon with the prying runtime."""
    return {"isolation": level, "runtimes": {"default": {"python": str(python)}}, **more}


def attempts(daemon: Daemon, home: Path, python: Path, mark: str) -> dict[str, list[Any]]:
    """Everything a worker might try on the daemon and its machine, and what it must be able to do."""
    data = daemon.folder / "data"
    artifact = digest_bytes(b"nothing").removeprefix("sha256:")  # what a plan of the wire has as input
    return {
        "the daemon's socket": ["connect", int(socket.AF_UNIX), str(daemon.socket)],
        "the journal": ["read", str(data), "journal.sqlite"],
        "the board's key": ["read", str(data), "board.key"],
        "the configuration": ["read", str(daemon.folder), daemon.config.name],
        "a key at home": ["read", str(home), "key"],
        "writing to the data": ["append", str(data), mark],
        "writing to a model": ["append", f"{data}/artifacts/{artifact[:2]}", mark],
        "writing to its own runtime": ["append", str(python.parent), mark],
        "seeing the daemon": ["see", daemon.pid],
        "signalling the daemon": ["signal", daemon.pid],
        "its scratch": ["append", "~", mark],
        "its cache": ["append", f"{data}/cache/*", mark],
        "a temporary file": ["append", "/tmp", mark],
        "reading a model": ["read", f"{data}/artifacts/{artifact[:2]}", artifact],
    }


def run(wire: Wire, samples: int = 1, **options: Any) -> list[record_pb2.Record]:
    """Run the prying engine to the end; return the records."""
    return list(wire.watch(wire.create(wire.plan(samples, engine="prying", **options)).name))


def answer(records: list[record_pb2.Record]) -> dict[str, Any]:
    """Return what the prying engine said."""
    check_history(records, 1)
    said: dict[str, Any] = json.loads(samples_of(records)[0].text)
    return said


def isolation(wire: Wire) -> tuple[str, str]:
    """Return the board's isolation and why it is no higher."""
    board = wire.board.GetBoard(board_pb2.GetBoardRequest()).board
    return board.isolation, board.isolation_reason


@pytest.mark.tool("bwrap")
@pytest.mark.tool("unshare")
@pytest.mark.parametrize(
    ("level", "around", "expected"),
    [
        ("none", (), NETWORK | FILES | OWN),
        ("network", (), FILES | OWN),
        ("sandbox", (), OWN),
        ("network", AS_USER, FILES | OWN),
        ("sandbox", AS_USER, OWN),
    ],
    ids=["none", "network", "sandbox", "network as a user", "sandbox as a user"],
)
def test_a_worker_reaches_what_its_isolation_leaves_it(
    folder: Path,
    home: Path,
    prying: Path,
    listeners: dict[str, list[Any]],
    level: str,
    around: tuple[str, ...],
    expected: set[str],
) -> None:
    """Without isolation every attempt works; then the network is out of reach; in the sandbox all but its own.

    Tokens and proxies of the daemon are not inherited at any level, and a worker is told that it is offline.
    """
    mark = f"orinbench-test-{secrets.token_hex(8)}"
    environment = {**SECRET, "HOME": str(home)}
    started = running(folder, *around, environment=environment, **settings(prying, level))
    with started as daemon, connect(daemon) as wire:
        assert isolation(wire)[0] == level
        tried = {**listeners, **attempts(daemon, home, prying, mark)}
        said = answer(run(wire, attempts=tried))
    left = [path for path in (Path("/tmp", mark), prying.parent / mark) if path.exists()]
    for path in left:
        path.unlink()

    assert set(said["worked"]) == expected
    assert not set(said["variables"]) & set(SECRET)
    assert set(said["variables"]) >= OFFLINE
    assert bool(left) == (level != "sandbox")
    assert not list((folder / "data").glob("worker-*"))


@pytest.mark.tool("bwrap")
@pytest.mark.parametrize("level", ["none", "sandbox"])
def test_a_killed_daemon_leaves_no_process_of_a_sandboxed_worker(folder: Path, prying: Path, level: str) -> None:
    """What a worker has started in a session of its own dies with the sandbox; without one it lives on."""
    with running(folder, **settings(prying, level)) as daemon:
        with connect(daemon) as wire:
            wire.create(wire.plan(1, engine="prying", attempts={"a": ["spawn"], "b": ["wait"]}))
            while not (spawned := sleeping(daemon)):
                pass
            others = [found for found in psutil.Process(daemon.pid).children(recursive=True) if found not in spawned]
        daemon.kill()
        assert not psutil.wait_procs(others, timeout=20)[1]
        _, alive = psutil.wait_procs(spawned, timeout=20 if level == "sandbox" else 0.5)
        for found in alive:
            found.kill()

    assert len(alive) == (0 if level == "sandbox" else len(spawned))


def sleeping(daemon: Daemon) -> list[psutil.Process]:
    """Return the processes that the prying engine has spawned."""
    with suppress(psutil.NoSuchProcess):
        return [found for found in psutil.Process(daemon.pid).children(recursive=True) if found.name() == "sleep"]
    return []


@pytest.mark.tool("bwrap")
def test_the_daemon_sees_the_real_worker_behind_the_sandbox(folder: Path, prying: Path) -> None:
    """Telemetry holds the resident memory of the worker itself, not that of the small process in front of it."""
    with running(folder, **settings(prying, "sandbox")) as daemon, connect(daemon) as wire:
        wire.create(wire.plan(1, engine="prying", attempts={"wait": ["wait"]}))
        for answered in wire.board.WatchTelemetry(board_pb2.WatchTelemetryRequest(interval_s=0.1)):
            if answered.telemetry.worker_rss_bytes > 1 << 20:
                break
        worker = daemon.worker
        assert worker.name() != "bwrap"
        assert answered.telemetry.worker_rss_bytes > worker.parent().memory_info().rss * 2  # type: ignore[union-attr]
        # The first thing it does once it has imported what it needs.
        while Path(f"/proc/{worker.pid}/oom_score_adj").read_text().strip() != "900":
            pass


@pytest.mark.tool("unshare")
def test_without_bubblewrap_a_worker_still_has_no_network(folder: Path) -> None:
    """The ladder goes one step down and says what to install; the run records level and reason."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("unshare", "sh"):
        (programs / name).symlink_to(str(shutil.which(name)))
    with running(folder, environment={"PATH": str(programs)}) as daemon, connect(daemon) as wire:
        level, reason = isolation(wire)
        records = list(wire.watch(wire.create(wire.plan(2)).name))

    assert level == "network"
    assert "apt-get install bubblewrap" in reason
    check_history(records, 2)
    (environment,) = (body(r).state.environment for r in records if body(r).state.HasField("environment"))
    assert (environment.isolation, environment.isolation_reason) == (level, reason)


@pytest.mark.tool("bwrap")
@pytest.mark.tool("unshare")
def test_where_namespaces_are_forbidden_the_daemon_runs_without(folder: Path) -> None:
    """As in many containers: no level holds, both reasons are given, and runs work all the same."""
    with running(folder, *NO_NETWORK_NAMESPACES) as daemon, connect(daemon) as wire:
        level, reason = isolation(wire)
        check_history(list(wire.watch(wire.create(wire.plan(2)).name)), 2)

    assert level == "none"
    assert "no sandbox: bwrap: " in reason
    assert "no network: unshare: " in reason


def write_profile(folder: Path, official: bool) -> Path:
    """Write a hardware profile of any machine whose workers must be in the sandbox."""
    path = folder / "strict.toml"
    path.write_text(
        f'id = "strict"\ntitle = "Strict"\nofficial = {str(official).lower()}\ndevice = "cpu"\n'
        'memory_methods = ["process-rss"]\nfree_disk_gib = 0.1\nisolation_floor = "sandbox"\n'
    )
    return path


def test_an_official_profile_refuses_a_run_below_its_floor(folder: Path) -> None:
    """The check is reported before and in the refusal, with what is in force and why; no worker was started."""
    profile = str(write_profile(folder, official=True))
    with running(folder, profile=profile, isolation="none") as daemon, connect(daemon) as wire:
        checked = wire.board.CheckBoard(board_pb2.CheckBoardRequest())
        failure = finished_of(list(wire.watch(wire.create(wire.plan(2)).name))).failure

    (check,) = (check for check in checked.checks if check.name == "isolation")
    assert not checked.passed
    assert (check.expected, check.found) == ("at least sandbox", "none")
    assert 'isolation = "none"' in check.hint
    assert (failure.failure_class, failure.reason) == (record_pb2.FAILURE_CLASS_BOARD, "PREFLIGHT_FAILED")
    assert check in failure.checks


def test_any_other_profile_marks_a_run_below_its_floor(folder: Path) -> None:
    """The run succeeds and carries ISOLATION_LOW, which voids every axis."""
    profile = str(write_profile(folder, official=False))
    with running(folder, profile=profile, isolation="none") as daemon, connect(daemon) as wire:
        finished = check_history(list(wire.watch(wire.create(wire.plan(2)).name)), 2)

    (found,) = (made for made in finished.violations if made.reason == "ISOLATION_LOW")
    assert len(found.voids) == 4


@pytest.mark.parametrize("way", ["append", "hold"])
def test_a_worker_that_fills_the_disk_is_ended(folder: Path, prying: Path, way: str) -> None:
    """Over the limit the run fails as the model's, with figures; the scratch folder goes, although it was closed.

    So too when the file is removed and held open, where no folder shows it.
    """
    tried = {"close": ["forbid removal", "~"], "fill": [way, "~", "big", 8 << 20], "wait": ["wait"]}
    limits = {"worker_gib": 0.005}
    with running(folder, **settings(prying, "sandbox", limits=limits)) as daemon, connect(daemon) as wire:
        failure = finished_of(run(wire, attempts=tried)).failure
        check_history(run(wire, samples=2, attempts={}), 2)

    assert (failure.failure_class, failure.reason) == (record_pb2.FAILURE_CLASS_MODEL, "SCRATCH_FULL")
    assert "limits.worker_gib allows 0.005" in failure.message
    assert not list((folder / "data").glob("worker-*"))


def test_a_cache_outlives_its_run_and_belongs_to_one_model(folder: Path, prying: Path) -> None:
    """A second run of a model finds what the first one left; another model's does not, and may push it out."""
    data = folder / "data"
    plan = [f"{data}/cache/*", "plan"]
    build = {"build": ["append", *plan, 1 << 20]}
    limits = {"cache_gib": 0.0005}
    with running(folder, **settings(prying, "sandbox", limits=limits)) as daemon, connect(daemon) as wire:
        submitted = wire.plan(1, engine="prying", attempts=build)
        for _ in range(2):
            answer(list(wire.watch(wire.create(submitted).name)))
        (first,) = (data / "cache").iterdir()
        kept = (first / "plan").stat().st_size
        other = answer(run(wire, attempts={"own": ["append", f"{data}/cache/*", "other"], "theirs": ["read", *plan]}))

    # Each run computes its sample twice for the proof and once to measure.
    assert kept == 2 * 3 << 20
    assert first.name == submitted.model_digest.removeprefix("sha256:")
    assert other["worked"] == ["own"]
    assert not first.exists()
