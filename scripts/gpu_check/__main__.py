"""Runs all checks, one JSON line each, and the summary."""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from gpu_check.bench import bench
from gpu_check.checks import Checks, Skipped
from gpu_check.packages import install


def main(extras: list[str]) -> int:
    """Install each extra by itself, then check everything. Return 0 if nothing failed, else 1."""
    counts: Counter[str] = Counter()
    for extra in extras:
        _tell(counts, f"install {extra}", _outcome(partial(install, sys.executable, extra)))
    importlib.invalidate_caches()
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as name:
        try:
            with bench(Path(name)) as running:
                for check, run in Checks(running, Path(name)):
                    _tell(counts, check, _outcome(run))
        except Exception as error:  # noqa: BLE001  the summary comes whatever happens
            _tell(counts, "daemon", (False, f"{type(error).__name__}: {error}"))
    words = ", ".join(f"{counts[word]} {word}" for word in ("passed", "failed", "skipped"))
    print(json.dumps({"check": "summary", "ok": not counts["failed"], "detail": words}))
    return int(bool(counts["failed"]))


def _tell(counts: Counter[str], check: str, outcome: tuple[bool | None, str]) -> None:
    ok, detail = outcome
    counts[{True: "passed", False: "failed", None: "skipped"}[ok]] += 1
    print(json.dumps({"check": check, "ok": ok, "detail": detail}), flush=True)


def _outcome(run: Callable[[], str]) -> tuple[bool | None, str]:
    try:
        return True, run()
    except Skipped as skipped:
        return None, f"skipped: {skipped}"
    except Exception as error:  # noqa: BLE001  one check must not hide the others
        return False, f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
