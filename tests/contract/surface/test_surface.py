"""Nothing of the public surface is ever taken away or changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# The surface of the last release. Written at each release by `scripts/protos --release`, and at no other time.
RELEASED = Path(__file__).with_name("orinbench-v1.binpb")


def breaking(proto: Path) -> subprocess.CompletedProcess[str]:
    """Compare a folder of protos with the last release, file by file."""
    command = [str(Path(sys.executable).with_name("buf")), "breaking", str(proto), "--against", str(RELEASED)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_surface_holds_what_was_released() -> None:
    """No field, value, method or type of the last release is missing or means something else."""
    done = breaking(ROOT / "proto")

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("run.proto", "uint32 planned_samples = 10;", "uint64 planned_samples = 10;"),
        ("run.proto", "  bytes signature = 18;\n", ""),
        ("board.proto", "rpc CheckBoard", "rpc ExamineBoard"),
        ("errors.proto", "ERROR_REASON_DISK_LOW = 9", "ERROR_REASON_DISK_LOW = 99"),
    ],
)
def test_a_break_is_noticed(tmp_path: Path, file: str, old: str, new: str) -> None:
    """A changed type, a lost field, a renamed method and a renumbered value are each refused."""
    shutil.copytree(ROOT / "proto", tmp_path / "proto")
    path = tmp_path / "proto" / "orinbench" / "v1" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    done = breaking(tmp_path / "proto")

    assert done.returncode == 100
    assert file in done.stdout
