"""Shared fixtures: where the oracle is, what may be skipped, and that nothing is left running."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.integration.harness import Daemon, Wire, connect, running

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell that runs the tests in the background has its children ignore Ctrl-C, the programs under test too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# With --complete (scripts/test) a skip is a failure, except for hardware nobody has here.
COMPLETE = os.environ.get("ORINBENCH_TEST_COMPLETE") == "1"
HARDWARE = {"gpu": ("/dev/nvidia0", "/dev/nvgpu/igpu0"), "jetson": ("/etc/nv_tegra_release",)}
# The Python whose environment gets torch then (scripts/test).
MODELS_PYTHON = (3, 11)
LONGEST_FIRST = ("faults", "integration", "jetson_sim", "contract", "oracle", "unit")


def oracle_dir() -> Path:
    """Return the folder of published results, which may be absent."""
    default = Path(__file__).parents[2] / "shared" / "oracle"
    return Path(os.environ.get("ORINBENCH_ORACLE", default))


def _lacking(item: pytest.Item) -> str | None:
    if item.get_closest_marker("oracle") and not oracle_dir().is_dir():
        return f"no published results at {oracle_dir()} (ORINBENCH_ORACLE)"
    if item.get_closest_marker("root") and os.geteuid() != 0:
        return "needs root"
    for name, nodes in HARDWARE.items():
        if item.get_closest_marker(name) and not any(Path(node).exists() for node in nodes):
            return f"needs hardware that is not here: none of {', '.join(nodes)}"
    if item.get_closest_marker("models") and not (find_spec("torch") and find_spec("transformers")):
        return "needs torch and transformers (extra test-models)"
    for marker in item.iter_markers("tool"):
        if shutil.which(marker.args[0]) is None:
            return f"needs the program {marker.args[0]}"
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, each with its reason. Files of long tests come first: none is left for last."""
    for item in items:
        if reason := _lacking(item):
            item.add_marker(pytest.mark.skip(reason=reason))
    # Stable: within a folder the order stays random.
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return LONGEST_FIRST.index(folder)


def _may_skip(item: pytest.Item) -> bool:
    if any(item.get_closest_marker(name) for name in HARDWARE):
        return True
    return item.get_closest_marker("models") is not None and sys.version_info[:2] != MODELS_PYTHON


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Turn a skip into a failure when the run must be complete."""
    report = yield
    if COMPLETE and report.skipped and not _may_skip(item):
        report.outcome = "failed"
        report.longrepr = f"skipped, but this run must be complete: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """Whatever a test, or what it calls, does to the environment variables ends with it."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def oracle() -> Path:
    """The folder of published results."""
    return oracle_dir()


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a name short enough for a Unix socket."""
    return tmp_path_factory.mktemp("d")


@pytest.fixture
def daemon(folder: Path) -> Iterator[Daemon]:
    """A running daemon."""
    with running(folder) as started:
        yield started


@pytest.fixture
def wire(daemon: Daemon) -> Iterator[Wire]:
    """A raw client of it."""
    with connect(daemon) as client:
        yield client


@pytest.fixture
def idle_daemon(folder: Path) -> Iterator[Daemon]:
    """A daemon that is not started yet; the test starts and ends it as it likes."""
    made = Daemon(folder)
    try:
        yield made
    finally:
        made.close()
