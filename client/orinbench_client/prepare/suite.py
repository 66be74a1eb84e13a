"""Prepares a suite that lies on a hub."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from orinbench_profiles import HubSource, Loaded, SuiteDeclaration, digest_file
from orinbench_profiles.hub import Event, HubError, Progress, Wanted, fetch

from orinbench_client.errors import BadInput
from orinbench_client.prepare import fleurs
from orinbench_client.suites.asr import MANIFEST
from orinbench_client.suites.base import OnPrepare
from orinbench_client.suites.prepared import prepared_folder

# How a repository is laid out, by the setting `layout`.
_LAYOUTS = {"fleurs": fleurs}


def prepare_recordings(loaded: Loaded[SuiteDeclaration], copy: Path | None, tell: OnPrepare) -> None:
    """Prepare a suite from its hub or from `copy`, a copy of its repository, unless it is prepared already.

    The folder appears whole or not at all. Raises BadInput.
    """
    source, declaration = loaded.declaration.source, loaded.declaration
    if not isinstance(source, HubSource):
        raise BadInput(f"suite {declaration.id}: recordings are prepared from a hub: its source must be 'huggingface'")
    layout = _LAYOUTS.get(str(declaration.settings.get("layout")))
    if layout is None:
        raise BadInput(f"suite {declaration.id}: settings.layout must be one of: {', '.join(_LAYOUTS)}")
    destination = prepared_folder(loaded)
    if destination.exists():
        return
    root = copy or _download(source, layout.files(source), tell)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{destination.name}-", dir=destination.parent) as scratch:
            whole = Path(scratch) / "whole"
            whole.mkdir()
            layout.write(loaded, source, root, whole, lambda done, total: tell("read", done, total))
            _check_manifest(declaration, whole / MANIFEST)
            whole.rename(destination)
    except OSError as error:
        raise BadInput(f"{error.filename or destination}: cannot be written: {error.strerror}") from None
    if copy is None:
        shutil.rmtree(root)


def _check_manifest(declaration: SuiteDeclaration, manifest: Path) -> None:
    found = digest_file(manifest)
    if declaration.manifest_digest not in (None, found):
        raise BadInput(
            f"suite {declaration.id}: what was prepared has a manifest with digest {found}, "
            f"the declaration says {declaration.manifest_digest}"
        )


def _download(source: HubSource, files: list[str], tell: OnPrepare) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "orinbench" / f"{source.repository.replace('/', '--')}-{source.revision}"

    def on_event(event: Event) -> None:
        if isinstance(event, Progress):
            tell("fetched", event.received, event.total)

    try:
        fetch(
            Wanted("dataset", source.repository, source.revision, files, folder), os.environ.get("HF_TOKEN"), on_event
        )
    except HubError as error:
        raise BadInput(f"{error} (a copy of the repository can be given by --source DIR)") from None
    return folder
