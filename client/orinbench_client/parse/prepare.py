"""Gets upstream's files: from a copy of its repository, or from GitHub at the pinned commit. Each is verified."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from orinbench_profiles import GithubSource, Loaded, SuiteDeclaration

from orinbench_client.errors import BadInput
from orinbench_client.parse.layout import layout_files, settings_of, verify_files
from orinbench_client.suites.prepared import data_folder

RAW = "https://raw.githubusercontent.com"
_TIMEOUT_S = 60.0


def prepared_folder(source: GithubSource) -> Path:
    """Return where the files of a commit are kept, there or not: in the user's data folder (XDG_DATA_HOME)."""
    return data_folder(f"{source.repository.replace('/', '--')}-{source.revision[:12]}")


def prepare(loaded: Loaded[SuiteDeclaration], copy: Path | None = None, raw: str = RAW) -> Path:
    """Put a suite's files into their folder, from `copy` or from `raw`, unless they are there; return the folder.

    The folder appears whole or not at all, and only with files that have their pinned ids. Raises BadInput.
    """
    source, files = loaded.declaration.source, layout_files()
    if not isinstance(source, GithubSource):
        raise BadInput(f"suite {loaded.declaration.id} has its data beside its declaration: nothing is to be fetched")
    blobs = settings_of(loaded.declaration).blobs
    if unpinned := [name for name in files if name not in blobs]:
        raise BadInput(f"suite {loaded.declaration.id}: settings.blobs does not name {unpinned[0]}")
    if copy is not None:
        verify_files(copy, blobs, files)
    folder = prepared_folder(source)
    if folder.exists():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
            whole = Path(scratch) / "whole"
            if copy is None:
                _download(f"{raw}/{source.repository}/{source.revision}", files, whole)
            else:
                _copy(copy, files, whole)
            verify_files(whole, blobs, files)
            whole.rename(folder)
    except OSError as error:
        raise BadInput(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from None
    return folder


def _copy(copy: Path, files: Sequence[str], whole: Path) -> None:
    for name in files:
        (whole / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(copy / name, whole / name)


def _download(base: str, files: Sequence[str], whole: Path) -> None:
    for name in files:
        (whole / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            with urlopen(f"{base}/{name}", timeout=_TIMEOUT_S) as answer:  # noqa: S310 - the scheme is ours
                data = answer.read()
        except (OSError, HTTPException) as error:
            raise BadInput(
                f"{base}/{name}: cannot be fetched: {error} (a copy of the repository can be given by --source DIR)"
            ) from None
        (whole / name).write_bytes(data)
