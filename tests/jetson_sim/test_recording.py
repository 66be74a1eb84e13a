"""Recording a board: the copy reads like the original, plays back, and holds no names or serial numbers."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from orinbench_profiles.loader import load_hardware
from orinbenchd.board.board import Board
from orinbenchd.board.rootfs import Root
from orinbenchd.sandbox import Isolation
from orinbenchd.telemetry.sysfs import SysfsSource
from orinbenchd.telemetry.tegrastats import parse_file

from tests.jetson_sim import events
from tests.jetson_sim.builder import build

REPOSITORY = Path(__file__).parents[2]


def record(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, REPOSITORY / "scripts/record-board", "--seconds", "3", "--root", str(root), str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "SUDO_USER": "somebody"},
        timeout=60,
    )


def test_a_recording_reads_like_the_board_it_was_taken_of(tmp_path: Path) -> None:
    """Identity, checks, readings and GPU clients of the copy are the original's; the private parts are gone."""
    built = build(tmp_path / "root", "agx-orin-32gb", mode="MODE_50W")
    events.gpu_client(built, name="Xorg", pid=4711)
    host = socket.gethostname()
    built.write("/etc/os-release", f'PRETTY_NAME="Image of somebody on {host}"\n')
    built.write("/proc/device-tree/serial-number", "1421923006147\0")
    built.write("/proc/cpuinfo", "Serial : 1421923006147\n")

    ended = record(built.root, tmp_path / "copy")

    assert ended.returncode == 0, ended.stderr
    copy = tmp_path / "copy"
    profile = load_hardware("agx-orin-32gb-maxn").declaration
    original, again = (
        Board(root, profile, helper_socket=None, data_dir=tmp_path, isolation=Isolation("sandbox"))
        for root in (built.root, copy)
    )
    expected, found = original.identity(), again.identity()
    assert found.os_release == "Image of REMOVED on REMOVED"
    for field in ("boot_id", "os_release"):
        expected.ClearField(field)
        found.ClearField(field)
    assert found == expected
    checks = [[(c.name, c.result) for c in asyncio.run(board.preflight())] for board in (original, again)]
    assert checks[0] == checks[1]
    assert asyncio.run(original.competitors()) == asyncio.run(again.competitors())
    readings = [SysfsSource(Root(root), 1.0).sample() for root in (built.root, copy)]
    assert readings[0] == readings[1]
    everything = "\n".join(path.read_text() for path in copy.rglob("*") if path.is_file())
    for word in ("1421923006147", "somebody", "6c1f2d0e"):
        assert word not in everything


def test_a_recording_settles_what_is_open(tmp_path: Path) -> None:
    """Programs with their exit codes, the time to tegrastats' first line, and its lines, which play back."""
    built = build(tmp_path / "root", "agx-orin-64gb")

    record(built.root, tmp_path / "copy")

    copy = tmp_path / "copy"
    report = json.loads((copy / "recorded/report.json").read_text())
    assert report["programs"]["nvpmodel-q"]["exit_code"] == 0
    assert "NV Power Mode: MAXN" in report["programs"]["nvpmodel-q"]["output"]
    assert report["tegrastats"]["first_output_s"] < 5
    lines = list(parse_file(copy / "recorded/tegrastats.txt"))
    assert len(lines) >= 3
    played = subprocess.Popen([copy / "usr/bin/tegrastats", "--interval", "10"], stdout=subprocess.PIPE, text=True)
    assert played.stdout is not None
    with played.stdout as out:
        assert [out.readline().strip() for _ in range(3)] == [str(line) for line in lines[:3]]
        played.kill()
    played.wait()
    assert not [call for call in built.calls() if " -m " in call or "--stop" in call]


def test_a_folder_that_holds_something_is_not_written_into(tmp_path: Path) -> None:
    """One clear error, exit code 2."""
    (tmp_path / "x").write_text("")

    ended = record(build(tmp_path / "root", "agx-orin-64gb").root, tmp_path)

    assert ended.returncode == 2
    assert "is not empty" in ended.stderr
