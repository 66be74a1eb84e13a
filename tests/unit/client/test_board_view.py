"""What `board`, `check` and `top` show: what is read, what is not, and what is zero."""

from __future__ import annotations

from orinbench.v1.board_pb2 import BOARD_STATE_WEDGED, Board, BoardIdentity, GpuClient, RuntimeState
from orinbench.v1.record_pb2 import CHECK_RESULT_FAILED, CHECK_RESULT_PASSED, CHECK_RESULT_UNKNOWN, Check
from orinbench.v1.telemetry_pb2 import SOURCE_STATE_STALE, CpuReading, RailReading, SourceStatus, Telemetry
from orinbench_client.cli.board import checks_table, describe
from orinbench_client.cli.common import to_dict
from orinbench_client.cli.top import UNKNOWN, frame


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


def test_frame_tells_unknown_from_zero() -> None:
    """In a frame a reading of zero is 0, one that is not there is a dash, an offline CPU is off."""
    reading = Telemetry(
        cpu_load_pct=0.0,
        cpus=[CpuReading(online=True, load_pct=0.0), CpuReading(online=True), CpuReading()],
        gpu_load_pct=0.0,
        swap_used_bytes=0,
        rails={"VDD_GPU": RailReading(now_mw=0.0), "VIN": RailReading()},
        throttle_events={"oc1": 0},
        sources=[SourceStatus(name="sysfs", state=SOURCE_STATE_STALE, reason="no answer")],
    )
    lines = frame(Board(name="boards/a"), reading).splitlines()
    by_name = {line.split("  ")[0]: line for line in lines if line}

    assert f"0 %  0 {UNKNOWN} off" in by_name["CPU"]
    assert f"0 %  {UNKNOWN}  limits {UNKNOWN} to {UNKNOWN}" in by_name["GPU"]
    assert f"0 MiB of {UNKNOWN}" in by_name["swap"]
    assert by_name["fan"].endswith(UNKNOWN)
    assert f"rails: VDD_GPU 0 mW  VIN {UNKNOWN}" in lines
    assert f"temperatures: {UNKNOWN}" in lines
    assert "throttle events: oc1 0" in lines
    assert "sources: sysfs stale (no answer)" in lines


def test_json_keeps_zero_and_leaves_out_unknown() -> None:
    """In JSON a zero is there and what is unknown is not, on every version of protobuf."""
    content = to_dict(Board(queue_length=0))

    assert content["queue_length"] == 0
    assert "expected_wait_s" not in content
