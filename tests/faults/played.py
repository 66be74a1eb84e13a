"""A runtime whose workers run a script of the test's own."""

from __future__ import annotations

import sys
from pathlib import Path

# The file is all that a sandbox shows of it, so the script is inside; what is no worker is a plain Python.
_PYTHON = """#!/bin/sh
[ "$1" = -m ] || exec {python} "$@"
exec {python} - "$@" << 'END'
{worker}
END
"""


def play(python: Path, worker: str) -> Path:
    """Make `python` an interpreter that runs `worker` where a worker is to be started; return it."""
    python.write_text(_PYTHON.format(python=sys.executable, worker=worker))
    python.chmod(0o755)
    return python
