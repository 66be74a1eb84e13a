"""Writes PESTE's layout: imported runs exactly as they came, native runs translated."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from orinbench_client.bundles.files import new_folder
from orinbench_client.bundles.model import Origin
from orinbench_client.bundles.peste_facts import read_notes
from orinbench_client.bundles.peste_import import SOURCES, UPSTREAM
from orinbench_client.bundles.peste_native import Translation
from orinbench_client.bundles.results import Bundle
from orinbench_client.errors import BadInput


def export_peste(
    imported: Sequence[Bundle], native: Sequence[Translation], out: Path, form: Origin, source: str | None = None
) -> None:
    """Write runs to the new folder `out` in PESTE's layout, with the specifications that imported runs came with.

    `source` chooses among several imports by the beginning of its digest. Raises BadInput when the choice is not
    clear, for imported runs of another schema than `form`, and when their specifications are gone.
    """
    for bundle in imported:
        if bundle.facts.origin != form:
            raise BadInput(f"{bundle.path}: was imported as {bundle.facts.origin}: it lacks what {form} needs")
    chosen = _choose_source(imported, source) if imported else None
    with new_folder(out) as folder:
        if chosen is not None:
            _copy_imported(imported, chosen, folder)
        for run in native:
            place = folder / "results" / run.suite_id / run.run_id
            place.mkdir(parents=True)
            (place / "run.json").write_bytes(run.run_json)
            (place / "predictions.jsonl").write_bytes(run.predictions)


def _choose_source(bundles: Sequence[Bundle], wanted: str | None) -> str:
    sources = sorted({note.source for bundle in bundles for note in read_notes(bundle.path)})
    found = [source for source in sources if source[7:].startswith((wanted or "").removeprefix("sha256:"))]
    if len(found) == 1:
        return found[0]
    names = ", ".join(source[7:19] for source in sources)
    raise BadInput(f"the runs came with {len(sources)} sets of specifications: choose one with --source: {names}")


def _copy_imported(bundles: Sequence[Bundle], source: str, folder: Path) -> None:
    specs = bundles[0].path.parent.parent / SOURCES / source[7:]
    if not specs.is_dir():
        raise BadInput(f"{specs}: missing: the specifications of the import; import the directory again")
    shutil.copytree(specs, folder, dirs_exist_ok=True)
    for bundle in bundles:
        if any(note.source == source for note in read_notes(bundle.path)):
            place = folder / "results" / bundle.facts.suite.name / bundle.facts.run_id
            shutil.copytree(bundle.path / UPSTREAM, place)
