"""What a shell can complete: names of our declarations and of the user's boards."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def suite_names(incomplete: str) -> list[str]:
    """Return the names of suites that begin so. None: the shell then completes a folder."""
    return _declared("suites", incomplete)


def model_names(incomplete: str) -> list[str]:
    """Return the names of models that begin so. None: the shell then completes a file."""
    return _declared("models", incomplete)


def declaration_names(incomplete: str) -> list[str]:
    """Return the names of models and suites that begin so. None: the shell then completes a file."""
    return model_names(incomplete) + suite_names(incomplete)


def host_names(incomplete: str) -> list[str]:
    """Return the names of boards in the config file that begin so; none if it cannot be read."""
    from orinbench_client.config import read_config
    from orinbench_client.errors import BadInput

    try:
        return [name for name in read_config().hosts if name.startswith(incomplete)]
    except BadInput:
        return []


def _declared(kind: str, incomplete: str) -> list[str]:
    # By the names of their files: reading them takes longer than a press of a key may.
    spec = find_spec("orinbench_profiles")
    folders = (spec.submodule_search_locations if spec is not None else None) or ()
    names = {path.stem for folder in folders for path in Path(folder, kind).glob("*.toml")}
    return sorted(name for name in names if name.startswith(incomplete))
