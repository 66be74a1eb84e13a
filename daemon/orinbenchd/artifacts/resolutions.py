"""Which models this board fetched from a hub itself: what a declaration's files turned out to be.

models/<64 hex digits of the declaration as it was given>    the digest of the declaration that runs name
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from orinbench_profiles import HubSource, ModelDeclaration, PackagedSource, list_declarations, load_model


class Resolutions:
    """What was fetched below one data folder. An entry is a fact: it stays, even when a file is deleted."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "models"

    def find(self, given: str) -> str | None:
        """Return the digest that runs name for a declaration with the digest `given`; None if it was never fetched."""
        try:
            return self._path(given).read_text()
        except FileNotFoundError:
            return None

    def record(self, given: str, resolved: str) -> None:
        """Write down that the files of a declaration were fetched and checked."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(given)
        part = path.with_suffix(".part")
        with part.open("w") as file:
            file.write(resolved)
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)

    def doubt(self, model: ModelDeclaration, digest: str) -> str | None:
        """Return why the source of a model is not known for sure, or None if it is."""
        source = model.source
        if not model.files:
            return None
        if isinstance(source, HubSource):
            if self.find(model.resolves or digest) == digest:
                return None
            return f"the files were pushed: this board did not fetch them from {source.repository} itself"
        if isinstance(source, PackagedSource):
            return None if digest in _packaged() else "the declaration is none of those that come with this release"
        return "the declaration names no repository and revision"

    def _path(self, given: str) -> Path:
        return self._folder / given.removeprefix("sha256:")


@cache
def _packaged() -> frozenset[str]:
    return frozenset(load_model(name).digest for name in list_declarations("models"))
