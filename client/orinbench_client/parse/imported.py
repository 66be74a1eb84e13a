"""Takes upstream's stored answers into our results, scored as they are taken."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from orinbench_profiles import Loaded, SuiteDeclaration, canonical_json, digest_bytes, digest_file

from orinbench_client.bundles.files import new_folder, verify_manifest, write_file, write_manifest
from orinbench_client.errors import BadInput
from orinbench_client.parse import layout
from orinbench_client.parse.answers import StoredRun, read_answers
from orinbench_client.parse.bundle import SOURCES, UPSTREAM, Head, samples_of, texts_digest
from orinbench_client.parse.questions import Question
from orinbench_client.parse.suite import check_variants, reference_of
from orinbench_client.scoring.grade_store import GradedTexts, GradeSummary, write_grades
from orinbench_client.scoring.grades import Floor, Grade, find_scorer, grade_samples
from orinbench_client.suites.base import bound_digest

#: How upstream's answers were drawn, in place of a variant of ours.
DECODING = "upstream"


@dataclass(frozen=True)
class Imported:
    """One run after the import: where it is, its score, and whether it was there before, unchanged."""

    path: Path
    head: Head
    summary: GradeSummary
    known: bool


class _Key(NamedTuple):
    """The right answers of one variant: the declaration and digest they are bound to, and what is kept of them."""

    declaration: SuiteDeclaration
    digest: str
    references: Mapping[str, str]
    lines: bytes
    floors: Sequence[Floor]


class _Planned(NamedTuple):
    """A run before anything is written."""

    run: StoredRun
    key: _Key
    head: Head
    path: Path
    known: bool
    grades: Sequence[Grade]


def import_answers(loaded: Loaded[SuiteDeclaration], directory: Path, strategy: str, results: Path) -> list[Imported]:
    """Import the answers of every model to the prompts of a strategy. The same import again changes nothing.

    The questions are those of `directory`, verified against the suite. Raises BadInput, having written nothing, when
    anything cannot be read or another run of the same name is there.
    """
    if not directory.is_dir():
        raise BadInput(f"{directory}: no such folder")
    check_variants(loaded.declaration)
    questions = _read_questions(loaded.declaration, directory)
    ids = {split: [question.id for question in own] for split, own in questions.items()}
    examples = layout.example_ids(directory, questions["full"])
    keys: dict[tuple[str, str], _Key] = {}
    planned = []
    for run in read_answers(directory, strategy, ids):
        variant = (run.language, run.split)
        if variant not in keys:
            keys[variant] = _make_key(loaded.declaration, run, questions[run.split], examples)
        planned.append(_plan(run, keys[variant], results))
    return [_write(run, results) for run in planned]


def _read_questions(declaration: SuiteDeclaration, directory: Path) -> dict[str, list[Question]]:
    asked = map(layout.dataset_file, layout.SPLITS["full"])
    solved = [name for name in layout.layout_files() if name.startswith("evaluation/few_shot/")]
    layout.verify_files(directory, layout.settings_of(declaration).blobs, [*asked, *solved])
    return {split: layout.read_split(directory, split) for split in layout.SPLITS}


def _make_key(declaration: SuiteDeclaration, run: StoredRun, questions: Sequence[Question], examples: set[str]) -> _Key:
    chosen = {
        "prompt_language": run.language,
        "strategy": run.strategy,
        "split": run.split,
        "decoding": DECODING,
    }
    # In the order of the suite's own variants: it is the order of the columns of a board.
    bound = declaration.model_copy(update={"variants": {axis: [chosen[axis]] for axis in declaration.variants or {}}})
    references = {
        question.id: reference_of(question, run.strategy, question.id in examples, stored=True)
        for question in questions
    }
    lines = b"".join(canonical_json(list(item)) for item in references.items())
    floors = find_scorer(declaration.scorer).floors(references)
    return _Key(bound, bound_digest(bound, digest_bytes(lines)), references, lines, floors)


def _plan(run: StoredRun, key: _Key, results: Path) -> _Planned:
    head = Head(
        run_id=run.run_id,
        suite_digest=key.digest,
        declaration=key.declaration,
        model=run.model,
        references=digest_bytes(key.lines),
        unanswered=len(key.references.keys() - run.answers.keys()),
        strays=run.strays,
    )
    path = results / key.declaration.id / run.run_id
    known = path.exists()
    if known:
        if not _same(path, run, head):
            raise BadInput(f"{path}: another run of this name is there: import into another folder, or remove it")
        verify_manifest(path)
    samples = samples_of(run.answers, key.references)
    grades = grade_samples(samples, key.references, find_scorer(key.declaration.scorer))
    return _Planned(run, key, head, path, known, grades)


def _same(path: Path, run: StoredRun, head: Head) -> bool:
    kept = {path / UPSTREAM / f"{type_}.json": source for type_, source in run.files.items()}
    if not all(file.is_file() and digest_file(file) == digest_file(source) for file, source in kept.items()):
        return False
    return (path / "run.json").is_file() and (path / "run.json").read_bytes() == _head_bytes(head)


def _head_bytes(head: Head) -> bytes:
    return canonical_json(head.model_dump(mode="json", by_alias=True, exclude_none=True))


def _write(planned: _Planned, results: Path) -> Imported:
    run, key, head, path, known, grades = planned
    source = results / SOURCES / f"{head.references[7:]}.jsonl"
    if not source.is_file() or digest_file(source) != head.references:
        write_file(source, key.lines)
    if not known:
        with new_folder(path) as folder:
            (folder / UPSTREAM).mkdir()
            for type_, file in run.files.items():
                shutil.copyfile(file, folder / UPSTREAM / f"{type_}.json")
            (folder / "run.json").write_bytes(_head_bytes(head))
            write_manifest(folder)
    scorer = find_scorer(key.declaration.scorer)
    texts = GradedTexts(head.suite, key.declaration, texts_digest(path), key.floors, {})
    return Imported(path, head, write_grades(path, texts, grades, scorer), known)
