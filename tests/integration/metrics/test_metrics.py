"""The metrics of real daemons, scraped over HTTP while they work."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from tests.integration.cli.program import null_model, program_in
from tests.integration.harness import check_history, connect, running
from tests.integration.metrics.naming import faults, faults_of_text
from tests.jetson_sim import rig

METRICS: dict[str, Any] = {"metrics": "127.0.0.1:0"}
RTF = "orinbench_run_real_time_factor_ratio"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
DASHBOARD = Path(__file__).parents[3] / "docs" / "grafana" / "orinbench.json"
_DIRECT = build_opener(ProxyHandler({}))
#: What the page describes and this board, with these models, does not have.
ELSEWHERE = {
    "orinbench_run_peak_reserved_bytes",
    "orinbench_board_gpu_memory_used_bytes",
    "orinbench_board_swap_used_bytes",
    "orinbench_board_fan_duty_ratio",
}
Series = dict[str, list[tuple[dict[str, str], float]]]


def scrape(port: int, accept: str = "text/plain", path: str = "/metrics") -> tuple[str, str]:
    """Return (content type, text) of one scrape."""
    request = Request(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept})
    with _DIRECT.open(request, timeout=30) as response:
        return response.headers["Content-Type"], response.read().decode()


def series(families: list[Metric]) -> Series:
    """Return the samples by name."""
    found: Series = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def until(port: int, holds: Callable[[Series], bool]) -> Series:
    """Scrape until something holds; the test's own time limit is the end of it."""
    while True:
        found = series(list(parse_text(scrape(port)[1])))
        if holds(found):
            return found


def one(found: Series, name: str) -> float:
    """Return the value of a metric with one series."""
    ((_, value),) = found[name]
    return value


def state_of(found: Series) -> str | None:
    """Return the state of the active run."""
    return next((labels["state"] for labels, value in found.get("orinbench_run_state", []) if value), None)


@contextmanager
def silent(port: int, count: int, said: bytes) -> Iterator[None]:
    """Hold connections that say so much and then neither read nor write."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(said)
        yield


def test_a_simulated_jetson_is_told_in_full(tmp_path: Path) -> None:
    """During a run on a simulated Jetson both formats hold board, queue, run and daemon, named by the rules.

    The dashboard asks for nothing that is not there.
    """
    with rig.running(tmp_path, "agx-orin-32gb", more=METRICS) as board, program_in(tmp_path, board.host) as program:
        port = board.ready["metrics_port"]
        for _ in range(2):
            program.good("run", "-s", "fa-demo-v1", "-m", "fa-demo-small", "--detach")
        seen: Series = {}
        ended = until(port, lambda found: bool(seen.update(found)) or _ended(found) == 2)
        late = program.good("run", "-s", "fa-demo-v1", "-m", null_model(tmp_path, 200), "--detach")
        until(port, lambda found: state_of(found) == "running")
        content_type, text = scrape(port)
        open_type, open_text = scrape(port, OPENMETRICS)
        program.good("cancel", late)

    families, open_families = list(parse_text(text)), list(parse_openmetrics(open_text))  # type: ignore[no-untyped-call]
    assert content_type.startswith("text/plain; version=")
    assert open_type.startswith("application/openmetrics-text; version=")
    assert (faults_of_text(text), faults(open_families)) == ([], [])
    found = series(families)
    assert found.keys() == series(open_families).keys()
    assert 0 < one(seen, RTF) < 10
    assert one(ended, "orinbench_journal_records_total") > 80
    rails = {labels["rail"]: value for labels, value in found["orinbench_board_rail_power_watts"]}
    assert {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"} <= rails.keys()
    assert one(found, "orinbench_board_power_watts") == pytest.approx(9.6, rel=0.5)
    temperatures = {labels["sensor"]: value for labels, value in found["orinbench_board_temperature_celsius"]}
    assert any(value == 46.25 for name, value in temperatures.items() if name.startswith("gpu"))
    ((facts, _),) = found["orinbench_board_info"]
    assert (facts["simulated"], facts["power_mode"]) == ("true", "MAXN")
    # The null model holds nothing of the device, and this board has no discrete GPU: no series, never a 0.
    assert "orinbench_run_peak_reserved_bytes" not in found
    assert "orinbench_board_gpu_memory_used_bytes" not in found
    told = {re.sub("_(bucket|count|sum)$", "", name) for name in seen if name.startswith("orinbench_")}
    assert told - documented() == set()
    assert documented() - told == ELSEWHERE
    # Only a worker on a GPU reserves anything there.
    assert asked_by_the_dashboard() - seen.keys() == {"orinbench_run_peak_reserved_bytes"}


def _ended(found: Series) -> float:
    return sum(value for _, value in found["orinbench_runs_ended_total"])


def documented() -> set[str]:
    """Return the names in the table of the documentation."""
    page = (DASHBOARD.parents[1] / "observability.md").read_text()
    return set(re.findall(r"^\| `(orinbench_\w+)` \|", page, re.MULTILINE))


def asked_by_the_dashboard() -> set[str]:
    """Return the names of all metrics in the dashboard's expressions."""
    content: dict[str, Any] = json.loads(DASHBOARD.read_text())
    expressions = [target["expr"] for panel in content["panels"] for target in panel.get("targets", [])]
    return {
        name for expression in expressions for name in re.findall(r"\b(?:orinbench|process)_[a-z0-9_]+", expression)
    }


def test_a_run_and_its_end(folder: Path, tmp_path: Path) -> None:
    """The state, samples and watchers of a run are told while it lasts; at its end they are gone and it is counted."""
    with running(folder, **METRICS) as daemon, connect(daemon) as wire:
        port = daemon.ready["metrics_port"]
        idle = series(list(parse_text(scrape(port)[1])))
        run = wire.create(wire.plan(40, delay_ms=50))
        stream = wire.watch(run.name)
        next(stream)
        found = until(port, lambda found: state_of(found) == "running" and found["orinbench_daemon_watchers"][0][1] > 0)
        list(stream)
        after = until(port, lambda found: "orinbench_run_state" not in found)
        with pytest.raises(HTTPError, match="404"):
            scrape(port, path="/")

    assert not [name for name in idle if name.startswith("orinbench_run_")]
    assert one(idle, "orinbench_daemon_watchers") == 0
    assert one(found, "orinbench_run_planned_samples") == 40
    assert RTF not in found
    assert ({"state": "succeeded"}, 1.0) in after["orinbench_runs_ended_total"]
    assert one(after, "orinbench_journal_records_total") >= 43
    counts = [value for _, value in after["orinbench_journal_commit_duration_seconds_bucket"]]
    assert counts == sorted(counts)
    assert counts[-1] == one(after, "orinbench_journal_commit_duration_seconds_count") > 0
    assert one(after, "process_resident_memory_bytes") > 1 << 20
    assert one(after, "process_open_fds") > 3


def test_who_is_slow_hurts_nobody(folder: Path) -> None:
    """Scrapers that say nothing, half a request, or never read: the run ends whole, and then others are answered."""
    with running(folder, **METRICS) as daemon, connect(daemon) as wire, ExitStack() as held:
        port = daemon.ready["metrics_port"]
        for said in (b"", b"GET /metrics HTTP/1.1\r\nX: ", b"GET /metrics HTTP/1.1\r\n\r\n"):
            held.enter_context(silent(port, 20, said))
        run = wire.create(wire.plan(50))
        check_history(list(wire.watch(run.name)), 50)
        # Those that hold a place are let go of when their time is over.
        assert _answered(port)
        assert daemon.stop() == 0


def _answered(port: int) -> bool:
    while True:
        try:
            return "orinbench_build_info" in scrape(port)[1]
        except OSError:
            continue
