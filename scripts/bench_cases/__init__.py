"""The cases of scripts/bench, by name. A case measures in this process or in one of its own and returns figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple

# A new case is a module of this package with a function `measure`, and a line here.
CASES = {
    "score": "score 871 samples: normalise and count edits of words and characters",
    "board": "make the boards of 42 imported runs of 871 samples, charts apart",
}


class Figure(NamedTuple):
    """One measured number. `budget` says what it must be; `met` is None where there is no budget."""

    name: str
    value: str
    budget: str = ""
    met: bool | None = None


Measure = Callable[[], "list[Figure]"]


def main(names: Sequence[str]) -> int:
    """Run the named cases and print their figures. Return 2 for a name there is not."""
    unknown = [name for name in names if name not in CASES]
    if unknown or not names:
        print("usage: scripts/bench CASE...")
        print("\n".join(f"  {name:<8}{text}" for name, text in CASES.items()))
        return 2
    for name in names:
        measure: Measure = import_module(f"bench_cases.{name}").measure
        print(f"{name}: {CASES[name]}")
        for figure in measure():
            verdict = {True: "  met", False: "  MISSED", None: ""}[figure.met]
            budget = f"  (budget {figure.budget})" if figure.budget else ""
            print(f"  {figure.name:<34}{figure.value:>12}{budget}{verdict}")
    return 0
