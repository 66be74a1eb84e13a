"""How soon the client answers `--help`, and how much the thin client installs."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from statistics import median

from bench_cases import Result

ROUNDS = 9
BUDGET_S, BUDGET_MB = 0.3, 120.0
# What an empty program with the same two libraries for command lines takes.
_BARE = "import rich.console, typer; app = typer.Typer(); app.command()(lambda: None); app(['--help'])"
_OURS = "from orinbench_client.cli.main import main; import sys; sys.argv = ['orinbench', '--help']; main()"


def measure() -> Result:
    """Compare the median time of `orinbench --help` with that of an empty typer program, in turns."""
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(_time(_BARE))
        ours.append(_time(_OURS))
    seconds, reference = median(ours), median(bare)
    size = sum(map(_size_mb, _closure("orinbench")))
    ok = seconds <= BUDGET_S and size <= BUDGET_MB
    budget = f"at most {BUDGET_S} s; at most {BUDGET_MB:.0f} MB installed, bytecode apart"
    details = {"installed_mb": round(size, 1)}
    return Result("startup", seconds, reference, seconds / reference, "s", budget, ok, details)


def _time(program: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def _closure(name: str) -> set[str]:
    """Return the distributions that an installation without extras brings, itself included."""
    found: set[str] = set()
    left = [name]
    while left:
        current = left.pop()
        if current in found:
            continue
        try:
            wanted = requires(current) or []
        except PackageNotFoundError:
            continue  # needed on another Python only
        found.add(current)
        left += [_plain(line) for line in wanted if "extra ==" not in line]
    return found


def _plain(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    if name is None:
        raise SystemExit(f"a requirement without a name: {requirement!r}")
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def _size_mb(name: str) -> float:
    files = distribution(name).files or []
    paths = [file.locate() for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in map(_as_path, paths) if path.exists()) / 1e6


def _as_path(path: object) -> Path:
    return Path(str(path))
