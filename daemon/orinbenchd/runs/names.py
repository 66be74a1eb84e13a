"""Names of runs: runs/ID, where the id says the model and when."""

from __future__ import annotations

import secrets
import time


def new_id(model_id: str) -> str:
    """Return an id that no run has yet."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"{model_id[:40]}-{stamp}-{secrets.token_hex(3)}"


def id_of(name: str) -> str:
    """Return the last part of a run's name."""
    return name.removeprefix("runs/")
