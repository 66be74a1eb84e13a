"""Where a suite from a hub lies once it is prepared."""

from __future__ import annotations

import os
from pathlib import Path

from orinbench_profiles import HubSource, Loaded, SuiteDeclaration


def data_folder(name: str) -> Path:
    """Return where the data of a prepared suite are kept, there or not: in the user's data folder (XDG_DATA_HOME)."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "orinbench" / "suites" / name


def prepared_folder(loaded: Loaded[SuiteDeclaration]) -> Path:
    """Return the folder of a suite's prepared data there or not.

    Suites that differ in their scoring alone have the same data and the same folder. Raises ValueError for a suite
    whose data do not lie on a hub.
    """
    declaration = loaded.declaration
    source = declaration.source
    if not isinstance(source, HubSource):
        raise ValueError(f"suite {declaration.id} does not lie on a hub")
    parts = [source.repository.replace("/", "--"), source.config, source.split]
    digest = (declaration.manifest_digest or loaded.digest).removeprefix("sha256:")
    return data_folder("-".join([*filter(None, parts), digest[:16]]))
