"""What `board`, `check` and `top` show: what is read, what is not, and what is zero."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from orinbench.v1.board_pb2 import BOARD_STATE_WEDGED, Board, BoardIdentity, GpuClient, RuntimeState
from orinbench.v1.record_pb2 import (
    CHECK_RESULT_FAILED,
    CHECK_RESULT_PASSED,
    CHECK_RESULT_UNKNOWN,
    MEMORY_METHOD_PROCESS_RSS,
    RUN_STATE_RUNNING,
    Check,
    MemoryReading,
    Violation,
)
from orinbench.v1.run_pb2 import Run, RunPlan
from orinbench.v1.telemetry_pb2 import SOURCE_STATE_STALE, CpuReading, RailReading, SourceStatus, Telemetry
from orinbench_client.cli.board import checks_table, describe
from orinbench_client.cli.common import to_dict
from orinbench_client.cli.dashboard import UNKNOWN, Dashboard, Seen
from rich.cells import cell_len
from rich.console import Console


def lines_of(board: Board) -> dict[str, str]:
    """Return the lines of `orinbench board` by name."""
    return dict(describe(board))


def test_unknown_says_why() -> None:
    """A fact that could not be read is unknown with the daemon's reason; one that is zero is zero."""
    identity = BoardIdentity(model="Orin", uptime_s=0.0, absent_reasons={"l4t_release": "no such file"})
    lines = lines_of(Board(name="boards/a", identity=identity))

    assert lines["model"] == "Orin"
    assert lines["uptime"] == "0.0 s"
    assert lines["l4t release"] == "unknown (no such file)"
    assert lines["cpu count"] == "unknown (the daemon does not say why)"


def test_wait_and_disk() -> None:
    """No wait is 0 seconds; an unknown wait and an unknown free space are unknown."""
    assert lines_of(Board(expected_wait_s=0.0, disk_free_bytes=0))["expected wait"] == "0.0 s"
    assert lines_of(Board(expected_wait_s=0.0, disk_free_bytes=0))["disk free"] == "0 MiB"
    assert lines_of(Board())["expected wait"] == "unknown"
    assert lines_of(Board())["disk free"] == "unknown"


def test_isolation_and_runtimes_say_what_is_wrong_with_them() -> None:
    """A lower isolation has its reason; a runtime its Python, its problem, or just its name from an older daemon."""
    looked_at = [RuntimeState(name="a", python_version="3.10.12"), RuntimeState(name="b", problem="it is no Python")]
    board = Board(isolation="network", isolation_reason="no sandbox: bwrap is not installed", runtimes=["a", "b", "c"])
    board.runtime_states.extend(looked_at)
    lines = lines_of(board)

    assert lines["isolation"] == "network (no sandbox: bwrap is not installed)"
    assert lines["runtimes"] == "a (Python 3.10.12), b (broken: it is no Python), c"
    assert lines_of(Board(isolation="sandbox"))["isolation"] == "sandbox"


def test_trouble_is_told() -> None:
    """A wedged board, a profile that does not match, and who holds the GPU cannot be overlooked."""
    wrong = Check(name="cores", result=CHECK_RESULT_FAILED, expected="12", found="8", hint="take another profile")
    board = Board(
        state=BOARD_STATE_WEDGED,
        state_reason="power-cycle it",
        hardware_profile="orin",
        profile_checks=[wrong, Check(name="memory", result=CHECK_RESULT_PASSED)],
        gpu_clients=[GpuClient(pid=7, name="python3")],
        simulated=True,
    )
    lines = lines_of(board)

    assert lines["state"] == "wedged: power-cycle it"
    assert "DOES NOT MATCH" in lines["profile"]
    assert lines["  cores"] == "expected 12, found 8: take another profile"
    assert "  memory" not in lines
    assert lines["on the GPU"] == "python3 (pid 7)"
    assert "(simulated)" in lines["board"]


def test_checks() -> None:
    """A check passes, fails or is unknown: three words."""
    results = (CHECK_RESULT_PASSED, CHECK_RESULT_FAILED, CHECK_RESULT_UNKNOWN)
    text = checks_table(Check(name=f"c{index}", result=result) for index, result in enumerate(results))

    assert [line.split()[1] for line in text.splitlines()[1:]] == ["ok", "FAILED", "unknown"]


def drawn(*looks: Seen, width: int = 80, clock: Callable[[], float] = lambda: 0.0) -> list[str]:
    """Return the lines of `top` after these looks, on a terminal of so many columns."""
    dashboard = Dashboard(clock)
    for look in looks:
        dashboard.take(look)
    console = Console(width=width, file=StringIO(), highlight=False)
    with console.capture() as shown:
        console.print(dashboard)
    return [line.rstrip() for line in shown.get().splitlines()]


def line_of(lines: list[str], name: str) -> str:
    """Return the one line that begins with a name."""
    (line,) = [line for line in lines if line.startswith(name)]
    return line


def test_top_tells_unknown_from_zero() -> None:
    """A reading of zero is 0, one that is not there is a dash, an offline CPU is off."""
    reading = Telemetry(
        cpu_load_pct=0.0,
        cpus=[CpuReading(online=True, load_pct=0.0), CpuReading(online=True), CpuReading()],
        gpu_load_pct=0.0,
        swap_used_bytes=0,
        rails={"VDD_GPU": RailReading(now_mw=0.0), "VIN": RailReading()},
        throttle_events={"oc1": 0},
        sources=[SourceStatus(name="sysfs", state=SOURCE_STATE_STALE, reason="no answer")],
    )
    lines = drawn(Seen(Board(name="boards/a", profile_matches=True), reading))

    assert "power mode –" in lines[0]
    assert line_of(lines, "run").split() == ["run", "none"]
    assert line_of(lines, "GPU").endswith(f"{UNKNOWN}, limits {UNKNOWN} to {UNKNOWN}")
    assert "  0% " in line_of(lines, "GPU")
    assert any(line.endswith(f"each, %:  0  {UNKNOWN}  off") for line in lines)
    assert f"swap 0 MiB of {UNKNOWN}" in line_of(lines, "memory")
    assert f"{UNKNOWN} module  fan {UNKNOWN}" in line_of(lines, "power")
    assert f"VDD_GPU 0.00 W  VIN {UNKNOWN}" in line_of(lines, "rails")
    assert line_of(lines, "heat").split() == ["heat", UNKNOWN]
    assert line_of(lines, "throttled").endswith("oc1 0")
    assert line_of(lines, "sources").endswith("sysfs stale (no answer)")
    assert f"would wait {UNKNOWN}" in line_of(lines, "queue")


@pytest.mark.parametrize("width", [80, 120])
def test_top_shows_the_run_beside_the_board(width: int) -> None:
    """Run, progress, pace, peak, violations, queue and new throttle events are there, and no line is too long."""
    plan = RunPlan(model_id="گفتار", suite_id="fa-demo-v1")
    memory = MemoryReading(method=MEMORY_METHOD_PROCESS_RSS, peak_rss_bytes=300 << 20)
    ticks = iter(range(0, 100, 10))

    def look(accepted: int, throttled: int) -> Seen:
        run = Run(name="runs/r", plan=plan, state=RUN_STATE_RUNNING, planned_samples=40, accepted_samples=accepted)
        run.memory.CopyFrom(memory)
        run.violations.append(Violation(reason="THROTTLED", message="oc1 rose"))
        reading = Telemetry(throttle_events={"oc1": throttled}, module_power_w=20.0 + accepted, power_mode="MAXN")
        board = Board(name="boards/a", active_run="runs/r", queue_length=5, expected_wait_s=0.0)
        return Seen(board, reading, run, [Run(plan=plan, queue_position=place) for place in range(1, 6)])

    lines = drawn(look(10, 3), look(20, 5), width=width, clock=lambda: float(next(ticks)))
    text = "\n".join(lines)

    assert max(map(cell_len, lines)) <= width
    assert "DOES NOT MATCH" in lines[0]
    for shown in ("20/40", "ETA 20.0 s", "peak 300 MiB", "! THROTTLED: oc1 rose", "5 waiting", "and 2 more"):
        assert shown in text
    assert "oc1 5 (+2 while watching)" in text
    assert "1 ahead: \u2068گفتار\u2069 on fa-demo-v1" in text
    assert "30.0–40.0 W" in text


def test_json_keeps_zero_and_leaves_out_unknown() -> None:
    """In JSON a zero is there and what is unknown is not, on every version of protobuf."""
    content = to_dict(Board(queue_length=0))

    assert content["queue_length"] == 0
    assert "expected_wait_s" not in content
