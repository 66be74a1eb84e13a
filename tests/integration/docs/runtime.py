"""`python -m tests.integration.docs.runtime FOLDER`: an environment for workers with pip, made without a network."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.integration.venvs import NEEDED, make_venv

if __name__ == "__main__":
    make_venv(Path(sys.argv[1]), (*NEEDED, "pip", "setuptools"))
