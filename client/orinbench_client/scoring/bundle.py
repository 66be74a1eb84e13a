"""Scores a bundle on the disk, whatever its origin, and keeps the score beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from orinbench_profiles import SuiteDeclaration

from orinbench_client.bundles.model import SUCCEEDED
from orinbench_client.bundles.results import Bundle
from orinbench_client.errors import BadInput
from orinbench_client.scoring.catalogue import Summary
from orinbench_client.scoring.diagnostics import diagnose
from orinbench_client.scoring.grade_store import GradedTexts, write_grades
from orinbench_client.scoring.grades import EDITS, find_scorer, grade_samples
from orinbench_client.scoring.score import score_samples
from orinbench_client.scoring.store import ScoredTexts, write_score
from orinbench_client.suites import Suite, references
from orinbench_client.text import get_normalizer


def score_bundle(bundle: Bundle, suite: Suite | None = None, by: str | None = None) -> Summary:
    """Score a bundle, write the score, and return its summary.

    `by` is a normaliser for a suite that counts edits, a scorer for one that grades; the suite's own where it is
    None. `suite` holds the right answers of a native bundle; an imported one brings its own. The same score again is
    no error. Raises BadInput for a run that did not succeed, a suite of another digest, and what scoring refuses.
    """
    facts = bundle.facts
    if facts.state != SUCCEEDED:
        raise BadInput(f"{bundle.path}: the run has no score: {facts.failure or facts.state}")
    key = _key(bundle, suite)
    if key.declaration is None or key.declaration.scorer == EDITS:
        return _count_edits(bundle, key, by)
    return _grade(bundle, key.references, key.declaration, by)


class _Key(NamedTuple):
    references: Mapping[str, str]
    normalizer: str | None
    declaration: SuiteDeclaration | None


def _key(bundle: Bundle, suite: Suite | None) -> _Key:
    if bundle.references is not None:
        return _Key(bundle.references, bundle.normalizer, bundle.declaration)
    wanted = bundle.facts.suite
    if suite is None:
        raise BadInput(f"{bundle.path}: the right answers are not in it: name the suite {wanted.name}")
    if suite.digest != wanted.digest:
        raise BadInput(
            f"{bundle.path}: was run on {wanted.name} with digest {wanted.digest}, the suite here has {suite.digest}:"
            " give the version it was run on"
        )
    # What was asked for is scored, all of it; a part of a suite is ranked nowhere.
    asked = dict(islice(references(suite).items(), bundle.facts.first))
    return _Key(asked, suite.declaration.normalizer, suite.declaration)


@contextmanager
def _naming(bundle: Bundle) -> Iterator[None]:
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{bundle.path}: {error}") from None


def _count_edits(bundle: Bundle, key: _Key, normalizer: str | None) -> Summary:
    if key.normalizer is None:
        raise BadInput(f"{bundle.path}: its suite names no normaliser, so no edits can be counted")
    with _naming(bundle):
        score = score_samples(bundle.samples, key.references, get_normalizer(normalizer or key.normalizer))
    texts = ScoredTexts(bundle.facts.suite.name, bundle.facts.suite.digest, bundle.texts_digest, key.normalizer)
    return write_score(bundle.path, texts, score, diagnose(bundle.samples, key.references, score))


def _grade(bundle: Bundle, references: Mapping[str, str], declaration: SuiteDeclaration, name: str | None) -> Summary:
    scorer = find_scorer(name or declaration.scorer)
    with _naming(bundle):
        grades = grade_samples(bundle.samples, references, scorer)
    made_of = (scorer.floors(references), scorer.made_with(references))
    texts = GradedTexts(bundle.facts.suite, declaration, bundle.texts_digest, *made_of)
    return write_grades(bundle.path, texts, grades, scorer)
