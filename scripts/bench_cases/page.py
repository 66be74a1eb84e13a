"""docs/performance.md: the tables between its marks are written anew, what people wrote around them stays."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import psutil

from bench_cases import CASES, Result

PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance.md"


def write_page(results: Sequence[Result]) -> None:
    """Write the table of the budgets."""
    rows = [f"| {' | '.join(_cells(result))} |" for result in results]
    heading = "| case | what | ratio | ours | reference | budget | | beside |"
    replace("budgets", [machine(), "", heading, "|---|---|---|---|---|---|---|---|", *rows])


def replace(name: str, lines: Sequence[str]) -> None:
    """Put `lines` between the marks called `name`."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    text = PAGE.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise SystemExit(f"{PAGE}: the marks {begin} and {end} are not there")
    head, _, rest = text.partition(begin)
    PAGE.write_text(head + "\n".join([begin, *lines, end]) + rest.partition(end)[2], encoding="utf-8")


def machine() -> str:
    """Return a sentence that names the machine, its load and the day."""
    model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    name = model[1] if model else platform.machine()
    memory = psutil.virtual_memory().total / 2**30
    day = datetime.now(tz=timezone.utc).date()
    return (
        f"Measured {day} on {os.cpu_count()} cores of {name}, {memory:.0f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f} at the end."
    )


def _cells(result: Result) -> list[str]:
    return [
        result.bench,
        CASES[result.bench],
        f"{result.ratio:.3g}",
        _value(result.ours, result),
        _value(result.reference, result),
        result.budget,
        "met" if result.ok else "**missed**",
        ", ".join(f"{name} {value:g}" for name, value in result.details.items()),
    ]


def _value(value: float, result: Result) -> str:
    return f"{value:,.0f} {result.unit}" if value >= 1000 else f"{value:.3g} {result.unit}"
