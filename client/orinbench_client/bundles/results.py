"""The results folder: ``results/<suite>/<run>/``, bundles of every origin, found, verified and loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orinbench_profiles import SuiteDeclaration, digest_file

from orinbench_client.bundles import peste_facts
from orinbench_client.bundles.files import read_json, verify_manifest
from orinbench_client.bundles.model import RunFacts, Sample, ScoredRun
from orinbench_client.bundles.peste_import import RUN_SCHEMA, UPSTREAM
from orinbench_client.errors import BadInput
from orinbench_client.scoring.catalogue import Summary, list_scores
from orinbench_client.scoring.grade_store import GradeSummary, read_grading
from orinbench_client.scoring.store import read_counts

if TYPE_CHECKING:
    from orinbench.v1.run_pb2 import Run

    from orinbench_client.bundles.native import NativeContent

#: Schema of run.json of an import of Parse's answers.
ANSWERS_SCHEMA: Final = "orinbench-imported-answers-1"


@dataclass(frozen=True)
class Bundle:
    """A verified bundle.

    `texts_digest` is what scores of it are bound to. `references` and `normalizer` are None for a native bundle:
    they belong to the suite, which the client holds. `normalizer` is the suite's own; `declaration` is that of an
    imported run's suite where its answers are graded. `native` is a native run with all that its records hold.
    """

    path: Path
    facts: RunFacts
    samples: tuple[Sample, ...]
    texts_digest: str
    references: Mapping[str, str] | None
    normalizer: str | None
    declaration: SuiteDeclaration | None = None
    native: tuple[Run, NativeContent] | None = None


def open_bundle(path: Path) -> Bundle:
    """Read a bundle and check it against its manifest. Raises BadInput."""
    head = _head(path)
    if head.get("schema") == RUN_SCHEMA:
        return _open_imported(path)
    if head.get("schema") == ANSWERS_SCHEMA:
        from orinbench_client.parse.bundle import open_answers

        return open_answers(path)
    from orinbench_client.bundles import native, native_facts

    run, content = native.read_native(path)
    samples = tuple(native_facts.samples_of(content))
    facts = native_facts.facts_of(run, content)
    return Bundle(path, facts, samples, content.digest.value, None, None, native=(run, content))


def _open_imported(path: Path) -> Bundle:
    verify_manifest(path)
    upstream, notes = peste_facts.read_upstream(path), peste_facts.read_notes(path)
    samples: list[Sample] = []
    references: dict[str, str] = {}
    digest = ""
    if upstream.run.successful:
        samples, references = peste_facts.samples_of(upstream, notes)
        digest = digest_file(upstream.folder / upstream.run.predictions_path)
    facts = peste_facts.facts_of(upstream.run, notes)
    return Bundle(path, facts, tuple(samples), digest, references, notes[0].normalizer)


def _head(path: Path) -> dict[str, Any]:
    if not (path / "run.json").is_file():
        raise BadInput(f"{path}: not a bundle: it has no run.json")
    head = read_json(path / "run.json")
    if not isinstance(head, dict):
        raise BadInput(f"{path / 'run.json'}: not an object")
    return head


def find_bundles(results: Path, suite_id: str | None = None) -> list[Path]:
    """Return the bundles of a results folder, sorted. Raises BadInput when there are none.

    Hidden folders (partial runs, sources) and files are passed over.
    """
    if not results.is_dir():
        raise BadInput(f"{results}: no such folder")
    if runs_in(results):
        raise BadInput(f"{results}: holds runs itself: give the folder above it, which holds suites")
    suites = [folder for folder in _folders(results) if suite_id in (None, folder.name)]
    bundles = [run for suite in suites for run in runs_in(suite)]
    if not bundles:
        where = results if suite_id is None else results / suite_id
        there = ", ".join(folder.name for folder in _folders(results)) or "nothing"
        raise BadInput(f"{where}: no bundle in it (expected SUITE/RUN/run.json; {results} has {there})")
    return bundles


def runs_in(suite: Path) -> list[Path]:
    """Return the bundles in the folder of one suite, sorted."""
    return [run for run in _folders(suite) if (run / "run.json").is_file()]


def _folders(path: Path) -> Iterator[Path]:
    for folder in sorted(path.iterdir()):
        if folder.is_dir() and not folder.name.startswith("."):
            yield folder


def load_run(path: Path, by: str | None = None) -> ScoredRun:
    """Load a bundle for a board with the score by a normaliser or scorer, or by the suite's own where it is None.

    Raises BadInput for a damaged bundle, or one in a folder of another name.
    """
    facts, summary = find_score(path, by)
    for what, found, expected in (("run", facts.run_id, path.name), ("suite", facts.suite.name, path.parent.name)):
        if found != expected:
            raise BadInput(f"{path}: holds {what} {found}: a copy? Remove it, or give the folder its name again")
    if summary is None:
        return ScoredRun(facts, by or "")
    if isinstance(summary, GradeSummary):
        return ScoredRun(facts, summary.made_by, grading=read_grading(path, summary))
    return ScoredRun(facts, summary.made_by, read_counts(path, summary), summary.diagnostics)


def find_score(path: Path, by: str | None = None) -> tuple[RunFacts, Summary | None]:
    """Return a bundle's facts and its score by a normaliser or scorer, or by the suite's own.

    The score is None if this version made none. Raises BadInput for a damaged bundle, and for a score of other texts
    than the bundle's.
    """
    facts, texts_digest = _facts(path)
    for summary in list_scores(path):
        if summary.made_by != (by or summary.by_default) or summary.name != summary.expected_name(facts.suite.digest):
            continue
        if summary.texts_digest != texts_digest:
            raise BadInput(f"{path}: its score {summary.name} is of other texts: remove the score, score anew")
        return facts, summary
    return facts, None


def _facts(path: Path) -> tuple[RunFacts, str]:
    schema = _head(path).get("schema")
    if schema == ANSWERS_SCHEMA:
        from orinbench_client.parse.bundle import read_facts

        return read_facts(path)
    if schema != RUN_SCHEMA:
        bundle = open_bundle(path)
        return bundle.facts, bundle.texts_digest
    # The texts are not read again: they were checked at the import, and the manifest vouches for them since.
    files = verify_manifest(path)
    run = peste_facts.read_upstream(path).run
    texts_digest = files.get(f"{UPSTREAM}/{run.predictions_path}", "")
    return peste_facts.facts_of(run, peste_facts.read_notes(path)), texts_digest
