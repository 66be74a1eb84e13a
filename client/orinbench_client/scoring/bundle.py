"""Scores a bundle on the disk, whatever its origin, and keeps the score beside it."""

from __future__ import annotations

from collections.abc import Mapping

from orinbench_client.bundles.model import SUCCEEDED
from orinbench_client.bundles.results import Bundle
from orinbench_client.errors import BadInput
from orinbench_client.scoring.diagnostics import diagnose
from orinbench_client.scoring.score import score_samples
from orinbench_client.scoring.store import ScoredTexts, ScoreSummary, write_score
from orinbench_client.suites import Suite, references
from orinbench_client.text import get_normalizer


def score_bundle(bundle: Bundle, suite: Suite | None = None, normalizer: str | None = None) -> ScoreSummary:
    """Score a bundle under `normalizer`, or the suite's own, write the score, and return its summary.

    `suite` holds the right answers of a native bundle; an imported one brings its own. The same score again is no
    error. Raises BadInput for a run that did not succeed, a suite of another digest, and what score_samples refuses.
    """
    facts = bundle.facts
    if facts.state != SUCCEEDED:
        raise BadInput(f"{bundle.path}: the run has no score: {facts.failure or facts.state}")
    answers, own = _answers(bundle, suite)
    try:
        score = score_samples(bundle.samples, answers, get_normalizer(normalizer or own))
    except BadInput as error:
        raise BadInput(f"{bundle.path}: {error}") from None
    texts = ScoredTexts(facts.suite.name, facts.suite.digest, bundle.texts_digest, own)
    return write_score(bundle.path, texts, score, diagnose(bundle.samples, answers, score))


def _answers(bundle: Bundle, suite: Suite | None) -> tuple[Mapping[str, str], str]:
    if bundle.references is not None and bundle.normalizer is not None:
        return bundle.references, bundle.normalizer
    wanted = bundle.facts.suite
    if suite is None:
        raise BadInput(f"{bundle.path}: the right answers are not in it: name the suite {wanted.name}")
    if suite.digest != wanted.digest:
        raise BadInput(
            f"{bundle.path}: was run on {wanted.name} with digest {wanted.digest}, the suite here has {suite.digest}:"
            " give the version it was run on"
        )
    return references(suite), suite.declaration.normalizer
