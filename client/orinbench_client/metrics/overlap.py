"""BLEU and chrF++: n-gram counts of a sentence by sacreBLEU, the figure of their sums by its formulas.

Counts and formula are apart because a bootstrap makes ten thousand figures of sums of the same counts.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from orinbench_client.errors import BadInput

Tokenizer = Literal["13a", "intl"]
FloatArray = npt.NDArray[np.float64]

_ORDERS = 4
_CHRF_ORDERS, _BETA_SQUARED = 8, 4.0
#: How many counts a sentence has: lengths, matches and totals by order; and three counts by order.
BLEU_COUNTS = 2 + 2 * _ORDERS
CHRF_COUNTS = 3 * _CHRF_ORDERS


def bleu_counts(hypothesis: str, reference: str, tokenizer: Tokenizer) -> list[int]:
    """Return hypothesis and reference length in tokens, matches of 1- to 4-grams, and n-grams of the hypothesis."""
    return _counts(_metrics(tokenizer)[0], hypothesis, reference)


def chrf_counts(hypothesis: str, reference: str) -> list[int]:
    """Return n-grams of hypothesis and reference and matches, for characters of order 1 to 6 and words of 1 and 2."""
    return _counts(_metrics("13a")[1], hypothesis, reference)


def signatures(tokenizer: Tokenizer) -> dict[str, str]:
    """Return sacreBLEU's signatures of both metrics: the options and the version that made the counts."""
    bleu, chrf = _metrics(tokenizer)
    # The number of references is known to sacreBLEU only once it has scored something.
    for metric in (bleu, chrf):
        metric.corpus_score([""], [[""]])
    return {"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())}


def bleu(sums: FloatArray) -> FloatArray:
    """Return BLEU in percent of summed counts, (BLEU_COUNTS, replicates) → (replicates,).

    Papineni et al. 2002 with the exponential smoothing of Chen and Cherry 2014 (their method 3), as sacreBLEU has it:
    the k-th order without a match counts as 1 / (2^k × total). An order without n-grams, or no match at all, makes 0.
    """
    lengths, matches, totals = sums[:2], sums[2 : 2 + _ORDERS], sums[2 + _ORDERS :]
    smoothing = 2.0 ** np.cumsum(matches == 0, axis=0)
    usable = (totals > 0).all(axis=0) & (matches > 0).any(axis=0)
    whole = np.where(usable, totals, 1.0)
    precisions = np.where(matches > 0, matches / whole, 1.0 / (smoothing * whole))
    penalty = np.exp(np.minimum(0.0, 1.0 - lengths[1] / np.where(usable, lengths[0], 1.0)))
    scores = 100.0 * penalty * np.exp(np.log(np.where(usable, precisions, 1.0)).mean(axis=0))
    result: FloatArray = np.where(usable, scores, 0.0)
    return result


def chrf(sums: FloatArray) -> FloatArray:
    """Return chrF++ in percent of summed counts, (CHRF_COUNTS, replicates) → (replicates,).

    Popović 2017: precision and recall are means over the orders both sides have n-grams of; F with β = 2.
    """
    hypothesis, reference, matches = sums[0::3], sums[1::3], sums[2::3]
    there = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(there.sum(axis=0), 1)
    precision = np.where(there, matches / np.where(there, hypothesis, 1.0), 0.0).sum(axis=0) / orders
    recall = np.where(there, matches / np.where(there, reference, 1.0), 0.0).sum(axis=0) / orders
    below = _BETA_SQUARED * precision + recall
    result: FloatArray = 100.0 * (1 + _BETA_SQUARED) * precision * recall / np.where(below > 0, below, 1.0)
    return result


def _counts(metric: Any, hypothesis: str, reference: str) -> list[int]:
    # Not public, and what sacreBLEU's own bootstrap is made of; that it is what corpus_score adds up is tested.
    return [int(count) for count in metric._extract_corpus_statistics([hypothesis], [[reference]])[0]]


@cache
def _metrics(tokenizer: Tokenizer) -> tuple[Any, Any]:
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        raise BadInput("scoring translations needs sacrebleu: pip install 'orinbench[qa]'") from None
    return BLEU(tokenize=tokenizer, force=True), CHRF(word_order=2)
