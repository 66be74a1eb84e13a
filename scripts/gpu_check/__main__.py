"""Runs all checks, one JSON line each, and the summary."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from gpu_check.bench import bench
from gpu_check.checks import Checks, Skipped


def main() -> int:
    """Return 0 if nothing failed, else 1."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as name, bench(Path(name)) as running:
        for check, run in Checks(running, Path(name)):
            ok, detail = _outcome(run)
            counts[{True: "passed", False: "failed", None: "skipped"}[ok]] += 1
            print(json.dumps({"check": check, "ok": ok, "detail": detail}), flush=True)
    words = ", ".join(f"{counts[word]} {word}" for word in ("passed", "failed", "skipped"))
    print(json.dumps({"check": "summary", "ok": not counts["failed"], "detail": words}))
    return int(bool(counts["failed"]))


def _outcome(run: Callable[[], str]) -> tuple[bool | None, str]:
    try:
        return True, run()
    except Skipped as skipped:
        return None, f"skipped: {skipped}"
    except Exception as error:  # noqa: BLE001  one check must not hide the others
        return False, f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
