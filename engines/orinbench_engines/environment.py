"""Facts of the worker's surroundings, and the two things it changes about its own process."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_OOM_SCORE_ADJ = Path("/proc/self/oom_score_adj")
_PACKAGES = ("orinbench", "protobuf", "pydantic")


def volunteer_for_oom_kill() -> None:
    """Ask the kernel to end this process before any other when memory runs out.

    On a board memory of the GPU is not in a process's resident set, so the kernel might pick the daemon.
    """
    with suppress(OSError):  # settings() tells what is in force
        _OOM_SCORE_ADJ.write_text("900")


def settings() -> dict[str, str]:
    """Return what of the process bears on a result: environment variables that are set, the OOM score."""
    names = ("CUBLAS_WORKSPACE_CONFIG", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONHASHSEED")
    found = {name: os.environ[name] for name in names if name in os.environ}
    with suppress(OSError):
        found["oom_score_adj"] = _OOM_SCORE_ADJ.read_text().strip()
    return found


def packages(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of our own distributions and of `names`; those that are not installed are left out."""
    return {name: found for name in (*_PACKAGES, *names) if (found := _version(name))}


def orinbench_version() -> str:
    """Return our own version; "unknown" when running from a folder that was never installed."""
    return _version("orinbench") or "unknown"


def system() -> str:
    """Return the system's name, release and machine."""
    names = os.uname()
    return f"{names.sysname} {names.release} {names.machine}"


def python() -> str:
    """Return the interpreter's kind and version."""
    return f"{platform.python_implementation()} {platform.python_version()}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
