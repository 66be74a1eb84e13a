"""Virtual environments for tests: real ones, without orinbench, with what every runtime needs."""

from __future__ import annotations

import os
import shutil
import venv
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

# protobuf and pydantic, with what they need themselves in their oldest and newest versions.
NEEDED = ("protobuf", "pydantic", "pydantic-core", "annotated-types", "typing-extensions", "typing-inspection")


def make_venv(folder: Path, packages: Iterable[str] = NEEDED) -> Path:
    """Make an environment with packages that this one has; return its interpreter."""
    venv.create(folder, symlinks=True, with_pip=False)
    for name in packages:
        install(folder, name)
    return folder / "bin" / "python"


def install(folder: Path, name: str) -> None:
    """Put a package of this environment into another; one that is not needed here is left out."""
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return
    for file in files:
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = site_packages(folder) / file
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy(Path(str(file.locate())), target)


def add_engine(folder: Path, name: str, source: Path) -> None:
    """Install an engine as anybody's: a module with a class `Engine`, found by its entry point."""
    site = site_packages(folder)
    information = site / f"{name}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[orinbench.engines]\n{name} = {source.stem}:Engine\n")
    (site / source.name).write_bytes(source.read_bytes())


def site_packages(folder: Path) -> Path:
    """Return where an environment's packages are."""
    (found,) = folder.glob("lib/python3*/site-packages")
    return found


def _copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another file system
        shutil.copy2(source, target)
