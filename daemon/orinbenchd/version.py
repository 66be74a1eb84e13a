"""The version of this installation."""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata


@lru_cache(maxsize=1)
def version() -> str:
    """Return the version of the installed distribution, or "0+unknown" when run from a bare checkout."""
    try:
        return metadata.version("orinbench")
    except metadata.PackageNotFoundError:
        return "0+unknown"
