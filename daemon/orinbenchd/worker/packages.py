"""A folder from which every runtime imports the worker: our packages by symbolic links, and our entry points.

So a worker is always of the daemon's own release, and nothing is installed into anybody's environment.
"""

from __future__ import annotations

import importlib.util
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from orinbenchd.start_error import StartError

_PACKAGES = ("orinbench", "orinbench_engines", "orinbench_profiles")


def link_packages(folder: Path) -> list[Path]:
    """Make the folder anew; return it and where its links lead. Raises StartError."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        sources = [_source(name) for name in _PACKAGES]
        for source in sources:
            (folder / source.name).symlink_to(source)
        _write_entry_points(folder)
    except OSError as error:
        raise StartError(f"{folder}: cannot be written: {error.strerror}") from None
    return [folder, *sources]


def _source(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise StartError(f"the package {name} is not installed beside the daemon")
    return Path(spec.submodule_search_locations[0])


def _write_entry_points(folder: Path) -> None:
    try:
        ours = distribution("orinbench")
    except PackageNotFoundError:
        return  # from a bare checkout: there are no entry points to hand on
    information = folder / f"orinbench-{ours.version}.dist-info"
    information.mkdir()
    head = f"Metadata-Version: 2.1\nName: orinbench\nVersion: {ours.version}\n"
    (information / "METADATA").write_text(head, encoding="utf-8")
    (information / "entry_points.txt").write_text(ours.read_text("entry_points.txt") or "", encoding="utf-8")
