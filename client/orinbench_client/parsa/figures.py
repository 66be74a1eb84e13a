"""The figures by name, and what answering without understanding comes to in them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from orinbench_client.bundles.model import IntArray
from orinbench_client.metrics.classes import class_columns, expected_macro_f1, macro_f1
from orinbench_client.metrics.overlap import BLEU_COUNTS, CHRF_COUNTS, bleu, chrf
from orinbench_client.parsa.kinds import Choice, Closed, Kind
from orinbench_client.scoring.grades import Metric, fraction_metric, ratio_metric, stats_of
from orinbench_client.statistics import FloatArray

EMPTY, GUESS = "an empty reply", "a guess"


def _part(metric: Metric, first: int, count: int = 2) -> Metric:
    """Return a metric of `count` of the stats, from `first` on."""
    return replace(
        metric,
        value=lambda stats: metric.value(stats[:, first : first + count]),
        columns=lambda stats: metric.columns(stats[:, first : first + count]),
    )


def _each(stats: IntArray) -> list[IntArray]:
    return [np.ascontiguousarray(column) for column in stats.T]


def _totals(columns: Sequence[IntArray]) -> list[FloatArray]:
    return [column.sum(keepdims=True).astype(np.float64) for column in columns]


def _f1(sums: Sequence[FloatArray]) -> FloatArray:
    """Return 2 hits / (found + expected); 0 where there is nothing of either."""
    result: FloatArray = np.where(sums[1] > 0, sums[0] / np.where(sums[1] > 0, sums[1], 1.0), 0.0)
    return result


def _classes(stats: IntArray) -> list[IntArray]:
    return class_columns(stats[:, 0], stats[:, 1])


_RIGHT = replace(ratio_metric("accuracy"), counts_right=True)
_F1 = Metric("micro-f1", lambda stats: float(_f1(_totals(_each(stats)))[0]), _each, _f1)
_MACRO = Metric("macro-f1", lambda stats: float(macro_f1(_totals(_classes(stats)))[0]), _classes, macro_f1)
_BLEU = Metric(
    "bleu",
    lambda stats: float(bleu(np.stack(_totals(_each(stats))))[0]),
    _each,
    lambda sums: bleu(np.stack(sums)),
)
_CHRF = Metric(
    "chrf++",
    lambda stats: float(chrf(np.stack(_totals(_each(stats))))[0]),
    _each,
    lambda sums: chrf(np.stack(sums)),
)

#: Every figure, of the stats of the kind that has it.
METRICS = {
    "wer": _part(ratio_metric("wer", higher_is_better=False), 0),
    "cer": _part(ratio_metric("cer", higher_is_better=False), 2),
    "wer-zwnj-joined": _part(ratio_metric("wer-zwnj-joined", higher_is_better=False), 4),
    "bleu": _part(_BLEU, 0, BLEU_COUNTS),
    "chrf++": _part(_CHRF, BLEU_COUNTS, CHRF_COUNTS),
    "accuracy": _part(_RIGHT, 0),
    "choice-accuracy": _part(replace(_RIGHT, name="choice-accuracy"), 0),
    "macro-f1": _part(_MACRO, 2),
    "micro-f1": _part(_F1, 0),
    "value-f1": _part(replace(_F1, name="value-f1"), 2),
    "token-f1": fraction_metric("token-f1"),
}


def floors(members: Sequence[Kind], metric: Metric) -> Iterator[tuple[str, float]]:
    """Yield what answers without understanding come to: none at all, always the same class, a guess."""
    yield EMPTY, metric.value(stats_of([member.stats(None) for member in members]))
    closed = [member for member in members if isinstance(member, Closed)]
    if not closed:
        return
    right = Counter(member.names.index(member.answer) for member in closed)
    most = max(right, key=lambda place: (right[place], -place))
    always = stats_of([(int(place == most), 1, place, most) for place in right.elements()])
    name = f"option {most + 1}" if isinstance(closed[0], Choice) else closed[0].names[most]
    yield f"always {name}", metric.value(always)
    if metric.counts_right:
        yield GUESS, math.fsum(1 / len(member.names) for member in closed) / len(closed)
    else:
        yield GUESS, expected_macro_f1([count / len(closed) for count in right.values()], len(closed[0].names))
