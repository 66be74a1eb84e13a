"""Takes a directory in PESTE's layout into our results: upstream files verbatim, scores recomputed.

Every run is read and checked before the first is written. The directory's specifications are kept by digest below
``.sources``, and each run notes which import it came with (``imports/<source>.json``), so that several directories
in one results folder never decide over each other's runs.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from orinbench_profiles.digest import canonical_json, digest_file
from pydantic import BaseModel, ConfigDict, Field

from orinbench_client.bundles.files import new_folder, write_file, write_manifest
from orinbench_client.bundles.peste import PesteSource, bundle_files, read_bundles, read_source
from orinbench_client.bundles.peste_check import CheckedRun, Difference, check_run
from orinbench_client.errors import BadInput
from orinbench_client.scoring.diagnostics import diagnose
from orinbench_client.scoring.store import ScoredTexts, has_score, write_score

SOURCES = ".sources"
UPSTREAM = "upstream"
IMPORTS = "imports"
RUN_SCHEMA = "orinbench-imported-run-1"


class ImportNote(BaseModel):
    """What one import said of a run: its current specifications (model None if it has none), and what differed.

    `audio_seconds` are the lengths the suite's manifest gives, in order; None unless all samples are in their place.
    """

    # pydantic before 2.10 warns of fields that begin with `model_`.
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())

    schema_: Literal["orinbench-import-1"] = Field(default="orinbench-import-1", alias="schema")
    source: str
    suite_digest: str
    model_digest: str | None
    normalizer: str
    audio_seconds: tuple[float, ...] | None = Field(default=None, strict=False)
    differences: tuple[Difference, ...] = Field(default=(), strict=False)


@dataclass(frozen=True)
class Imported:
    """One run after the import: where it is, and whether it was there before, unchanged."""

    path: Path
    checked: CheckedRun
    known: bool


def import_peste(directory: Path, results: Path) -> list[Imported]:
    """Import every run of `directory` into `results`. The same import again changes nothing.

    Raises BadInput, having written nothing, when anything cannot be read or another run of the same name is there.
    """
    if not directory.is_dir():
        raise BadInput(f"{directory}: no such folder")
    source = read_source(directory)
    planned = [_plan(check_run(bundle, source), results) for bundle in read_bundles(directory)]
    _keep_source(source, {run.checked.bundle.run.suite_id for run in planned}, results)
    return [Imported(_write_run(run, source), run.checked, run.known) for run in planned]


class _Planned(NamedTuple):
    """A run before anything is written: where it will be, its files, and whether it is there already."""

    checked: CheckedRun
    path: Path
    files: list[Path]
    known: bool


def _plan(checked: CheckedRun, results: Path) -> _Planned:
    folder, run = checked.bundle.folder, checked.bundle.run
    path, files = results / run.suite_id / run.run_id, bundle_files(folder)
    known = path.exists()
    if known and _digests(path / UPSTREAM, bundle_files(path / UPSTREAM)) != _digests(folder, files):
        raise BadInput(f"{path}: another run of this name is there: import into another folder, or remove it")
    return _Planned(checked, path, files, known)


def _digests(folder: Path, files: list[Path]) -> dict[Path, str]:
    return {name: digest_file(folder / name) for name in files}


def _keep_source(source: PesteSource, used: set[str], results: Path) -> None:
    kept = results / SOURCES / source.digest[7:]
    names = [path.relative_to(source.folder) for path in source.spec_files()]
    names += [path.relative_to(source.folder.resolve()) for path in source.manifests(used)]
    for name in dict.fromkeys(names):
        content = (source.folder / name).read_bytes()
        # What is there is read again: an import that is given once more mends what was lost or changed since.
        if not (kept / name).is_file() or (kept / name).read_bytes() != content:
            write_file(kept / name, content)


def _write_run(planned: _Planned, source: PesteSource) -> Path:
    checked, path, run = planned.checked, planned.path, planned.checked.bundle.run
    note = ImportNote(
        source=source.digest,
        suite_digest=source.suites[run.suite_id],
        model_digest=source.models.get(run.model_id),
        normalizer=source.suite(run.suite_id).normalization_version,
        audio_seconds=checked.audio_seconds,
        differences=checked.differences,
    )
    if planned.known:
        _write_client_part(path, checked, note)
        return path
    with new_folder(path) as folder:
        for name in planned.files:
            _copy(checked.bundle.folder / name, folder / UPSTREAM / name)
        head = {
            "schema": RUN_SCHEMA,
            "origin": f"peste-{run.schema_version}",
            "run_id": run.run_id,
            "suite_id": run.suite_id,
        }
        (folder / "run.json").write_bytes(canonical_json(head))
        write_manifest(folder)
        _write_client_part(folder, checked, note)
    return path


def _write_client_part(folder: Path, checked: CheckedRun, note: ImportNote) -> None:
    name = f"{note.source[7:19]}.json"
    write_file(folder / IMPORTS / name, canonical_json(note.model_dump(mode="json", by_alias=True)))
    if checked.score is None or checked.samples is None or checked.references is None:
        return
    run = checked.bundle.run
    texts = ScoredTexts(
        run.suite_id,
        f"sha256:{run.suite_digest}",
        digest_file(folder / UPSTREAM / run.predictions_path),
        note.normalizer,
    )
    if not has_score(folder, texts.suite_digest, checked.score.normalizer):
        write_score(folder, texts, checked.score, diagnose(checked.samples, checked.references, checked.score))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
