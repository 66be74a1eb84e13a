"""Whole runs on simulated boards: real daemon, helper, worker and client, and what must come of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.jetson_sim import events, rig

REPOSITORY = Path(__file__).parents[2]
CLIENT = (sys.executable, "-m", "orinbench_client.cli.main")
DEMO = ("--suite", "fa-demo-v1", "--model", "fa-demo-small")
SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.toml"))


def sim_board(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            str(REPOSITORY / part) for part in ("client", "daemon", "engines", "profiles", "proto")
        ),
    }
    return subprocess.run(
        [sys.executable, REPOSITORY / "scripts/sim-board", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=110,
    )


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_comes_out_as_it_says(path: Path) -> None:
    """The run of the file ends in the state, with the violations, words and power modes that the file expects."""
    ended = sim_board("--scenario", str(path))

    assert ended.stdout.count("\n") == 1, ended.stderr[-2000:]
    result: dict[str, Any] = json.loads(ended.stdout)
    assert (result["differences"], ended.returncode) == ([], 0)
    assert [made for made in result["violations"] if made["reason"] == "SIMULATED"] or result["state"] == "FAILED"
    if path.stem == "known-energy":
        energy = result["energy"]
        assert energy["measured_j"] == pytest.approx(energy["true_j"], rel=0.01)
        assert energy["coverage"] == pytest.approx(1.0)
        assert energy["true_j"] > 100
    if path.stem == "tegrastats-killed":
        # On a slow machine a late reading is a gap, too.
        assert result["tegrastats"]["restarts"] == 1
        assert result["tegrastats"]["gaps"] >= 1
        assert result["samples"] == 40


def test_who_holds_the_gpu_is_told(tmp_path: Path) -> None:
    """`orinbench board` names the processes on the GPU by name and pid, with their memory in its JSON."""
    with rig.running(tmp_path, "agx-orin-32gb", prepare=partial(events.gpu_client, name="Xorg", pid=4711)) as running:
        text, content = (
            subprocess.run(
                [*CLIENT, "board", "--host", running.host, *more], capture_output=True, text=True, check=True
            )
            for more in ([], ["--json"])
        )

    assert "Xorg (pid 4711)" in text.stdout
    (client,) = [client for client in json.loads(content.stdout)["gpu_clients"] if client["name"] == "Xorg"]
    assert (int(client["pid"]), int(client["memory_bytes"])) == (4711, 43_008 * 1024)


def test_a_daemon_killed_in_a_run_leaves_the_board_as_it_was(tmp_path: Path) -> None:
    """SIGKILL of the daemon in the middle of a run: the helper puts the power mode back by itself."""
    with rig.running(tmp_path, "agx-orin-32gb", mode="MODE_50W") as started:
        submitted = subprocess.run(
            [*CLIENT, "run", "--detach", "--host", started.host, *DEMO, "--warmup", "100"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert submitted.returncode == 0, submitted.stderr
        until(lambda: started.board.mode() == "MAXN", "the board is put into its top mode")

        started.daemon.kill()

        until(lambda: started.board.mode() == "MODE_50W", "the board is put back")


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does; fail after twenty seconds."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, f"did not happen: {what}"
        time.sleep(0.01)


def test_a_scenario_that_comes_out_otherwise_is_told(tmp_path: Path) -> None:
    """Exit code 1, and each difference in words: the scenarios above can fail."""
    path = tmp_path / "wrong.toml"
    path.write_text('board = "agx-orin-32gb"\nmode = "MODE_30W"\n[expect]\nstate = "SUCCEEDED"\n')

    ended = sim_board("--scenario", str(path))

    assert ended.returncode == 1
    assert "state: expected SUCCEEDED, found FAILED" in json.loads(ended.stdout)["differences"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a board"),
        (["agx-orin-16gb"], "invalid choice"),
        (["agx-orin-32gb", "--mode", "MODE_9W"], "it has MAXN, MODE_15W"),
        (["--scenario", "/no/such/file"], "No such file"),
    ],
)
def test_wrong_use_is_one_clear_error(arguments: list[str], says: str) -> None:
    """Exit code 2 and what would be right."""
    ended = sim_board(*arguments)

    assert ended.returncode == 2
    assert says in ended.stderr


def test_an_unknown_event_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """A slip in a scenario names the events there are."""
    path = tmp_path / "slip.toml"
    path.write_text('board = "agx-orin-32gb"\n[[events]]\ndo = "set-mood"\n[expect]\nstate = "SUCCEEDED"\n')

    ended = sim_board("--scenario", str(path))

    assert ended.returncode == 2
    assert "set-mode" in ended.stderr


def test_a_board_by_hand_serves_until_it_is_told_to_stop() -> None:
    """`sim-board BOARD` prints an address; `orinbench board` and `check` answer there; SIGTERM ends all of it."""
    process = subprocess.Popen(
        [sys.executable, REPOSITORY / "scripts/sim-board", "agx-orin-32gb", "--mode", "MODE_50W"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout as out:
        try:
            host = next(line.split("=", 1)[1].strip() for line in out if "ORINBENCH_HOST=" in line)
            board = subprocess.run([*CLIENT, "board", "--host", host], capture_output=True, text=True, timeout=60)
            check = subprocess.run([*CLIENT, "check", "--host", host], capture_output=True, text=True, timeout=60)
        finally:
            process.terminate()
            out.read()
    assert process.wait(60) == 0
    assert "agx-orin-32gb" in board.stdout, board.stderr
    assert "power_mode" in check.stdout, check.stderr
    assert not Path(host.removeprefix("unix:")).exists()
