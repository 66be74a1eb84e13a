"""The program that looks at a runtime: run by its interpreter, it says what that is and whether a worker can start.

Given to the interpreter as text, with our packages on PYTHONPATH; of its own the daemon knows without. It prints one
JSON object: `python`, the version; `problem`, why no worker can start, or nothing; `paths`, the folders from which it
imports. An interpreter that is too old for us must be able to say so: nothing newer than Python 3.7 is in here.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path

_OLDEST = (3, 10)
_GROUPS = ("orinbench.engines", "orinbench.adapters")


def main() -> None:
    """Print what there is to say."""
    print(json.dumps({"python": version(), "problem": _problem(), "paths": paths()}))  # noqa: T201  the answer


def version() -> str:
    """Return the version of this interpreter."""
    return ".".join(map(str, sys.version_info[:3]))


def paths() -> list[str]:
    """Return the folders that this interpreter and its engines are read from."""
    return sorted({str(Path(path).absolute()) for path in _paths() if Path(path).exists()})


def _problem() -> str:
    if sys.version_info < _OLDEST:
        return f"it is older than Python {_OLDEST[0]}.{_OLDEST[1]}"
    try:
        importlib.import_module("orinbench_engines.worker")
    except Exception as error:  # noqa: BLE001  whatever it is, it is in the way
        return f"{type(error).__name__}: {error}"
    return ""


def _paths() -> Iterator[str]:
    yield from (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    yield from filter(None, sys.path)
    if sys.version_info >= _OLDEST:
        yield from _plugins()


def _plugins() -> Iterator[str]:
    """Yield where engines and adapters lie: one installed as a link to its source is on no path."""
    from importlib.metadata import entry_points

    for group in _GROUPS:
        for point in entry_points(group=group):
            try:
                spec = importlib.util.find_spec(point.module.partition(".")[0])
            except (ImportError, ValueError):
                continue
            if spec is not None:
                yield from spec.submodule_search_locations or filter(None, [spec.origin])


if __name__ == "__main__":
    main()
