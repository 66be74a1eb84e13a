"""scripts/gpu-check where something cannot be installed: it says so in its own form and goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
# What the check asks the driver for, of a machine with one device.
_DRIVER = "int cuInit(unsigned flags) { return 0; }\nint cuDeviceGetCount(int *count) { *count = 1; return 0; }\n"


@pytest.mark.tool("cc")
def test_an_environment_that_cannot_be_made_is_a_failed_check(tmp_path: Path) -> None:
    """Where pip fails at the base, its last error and the summary come as JSON lines, and the exit code is 1."""
    (tmp_path / "cuda.c").write_text(_DRIVER)
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "cuda.c"], check=True)
    (tmp_path / "project" / "scripts").mkdir(parents=True)
    script = shutil.copy(SCRIPTS / "gpu-check", tmp_path / "project" / "scripts")
    shutil.copytree(SCRIPTS / "gpu_check", tmp_path / "project" / "scripts" / "gpu_check")
    python = tmp_path / "project" / ".venv-gpu" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 'ERROR: no room' >&2\necho hint >&2\nexit 1\n")
    python.chmod(0o755)
    run = subprocess.run(
        [sys.executable, script], env={"LD_LIBRARY_PATH": str(tmp_path)}, capture_output=True, text=True
    )

    assert _lines(run.stdout) == [
        {"check": "install daemon,torch", "ok": False, "detail": "ERROR: no room"},
        {"check": "summary", "ok": False, "detail": "0 passed, 1 failed, 0 skipped"},
    ]
    assert run.returncode == 1


def test_an_extra_that_cannot_be_installed_hides_no_other_check(tmp_path: Path) -> None:
    """Each extra is installed by itself; one without a build here fails as a check, and the summary counts it."""
    program = (
        "import contextlib, sys; from gpu_check import __main__ as program; "
        "program.bench = contextlib.nullcontext; "
        "program.Checks = lambda bench, folder: [('after', lambda: 'ran')]; "
        "sys.exit(program.main(['onnx-gpu']))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PIP_NO_INDEX": "1", "PIP_DRY_RUN": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    install, after, summary = _lines(run.stdout)

    assert (install["check"], install["ok"]) == ("install onnx-gpu", False)
    assert install["detail"].startswith("InstallFailed: ")
    assert "No matching distribution" in install["detail"]
    assert (after["ok"], after["detail"]) == (True, "ran")
    assert (summary["ok"], summary["detail"], run.returncode) == (False, "1 passed, 1 failed, 0 skipped", 1)


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]
