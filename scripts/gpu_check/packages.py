"""Installs what is checked, with pip. Imported by the system's Python too: standard library alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_SHOWN = 500


class InstallFailed(Exception):
    """What pip said of errors; all it said goes to standard error."""


def install(python: str, extras: str, *more: str) -> str:
    """Install this project with extras (a,b) into the environment of an interpreter. Raises InstallFailed."""
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--editable", f"{ROOT}[{extras}]", *more], stdout=sys.stderr, stderr=subprocess.PIPE, text=True
    )
    sys.stderr.write(done.stderr)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if "error" in line.lower()]
        raise InstallFailed("; ".join(lines)[:_SHOWN] or f"pip ended with code {done.returncode}")
    return f"installed {extras}"
