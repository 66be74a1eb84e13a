"""What answers earn: each rule of upstream that another reading would break, the other scorers, and the rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench_client.parse import rules
from orinbench_client.parse.rules import Gold, factoid_decimals, float_decimals, gold_of, two_decimals
from orinbench_client.scoring.grades import fraction_metric, stats_of
from orinbench_client.text import get_normalizer

MULTI, SINGLE = Gold("multichoice", "multi", [1, 3]), Gold("multichoice", "single", [2])
LIST, SIMPLE = Gold("factoid", "listbased", ["روسیه", "کانادا"]), Gold("factoid", "simple", ["مشهد"])
NONE, YES = Gold("factoid", "nonanswerable", []), Gold("boolean", "simple", True)
GOLDS = [MULTI, SINGLE, LIST, SIMPLE, NONE, YES]


def _strict(gold: Gold, answer: Any) -> tuple[int, int]:
    return rules.strict(gold, answer, get_normalizer("fa-v1"))


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        (YES, True, 1),
        (YES, False, 0),
        (MULTI, [1, 3], 1),
        (MULTI, [1, 2], Fraction(1, 3)),
        (MULTI, [1, 3, 7], Fraction(2, 3)),
        (MULTI, [], 0),
        (SINGLE, [2], 1),
        (SINGLE, [2, 3, 4], 1),
        (SINGLE, [1, 2], 0),
        (SINGLE, [], 0),
        (NONE, [], 1),
        (NONE, ["هیچ"], 0),
        (SIMPLE, ["شهر مشهد"], 1),
        (SIMPLE, ["مشهد", "قم"], Fraction(1, 2)),
        (SIMPLE, [], 0),
        (LIST, ["روسیه", "کانادا"], 1),
        (LIST, ["روسیه و کانادا"], Fraction(1, 2)),
        (LIST, ["روسیه", "روسیه بزرگ"], 1),
        (LIST, ["روسیه", "روسیه"], Fraction(1, 2)),
        (LIST, ["روسیه", "کانادا", "چین", "هند"], Fraction(1, 2)),
        (LIST, "روسیه", 0),
    ],
)
def test_upstream(gold: Gold, answer: Any, expected: Fraction | int) -> None:
    """Upstream's rules: the first number counts, extra answers dilute, one right text may be hit twice, repeats not."""
    assert expected == Fraction(*rules.upstream(gold, answer))


@pytest.mark.parametrize(
    ("gold", "answer", "paper", "strict"),
    [
        (SINGLE, [2, 3], 0, 0),
        (SINGLE, [2], 1, 1),
        (MULTI, [1], Fraction(1, 2), 0),
        (SIMPLE, ["شهر مشهد", "قم"], 1, 0),
        (SIMPLE, ["مشهد", "قم"], 1, Fraction(2, 3)),
        (LIST, ["روسیه", "روسیه بزرگ"], Fraction(1, 3), Fraction(1, 2)),
        (LIST, ["روسیة", "كانادا"], 0, 1),
        (NONE, [], 1, 1),
        (YES, True, 1, 1),
    ],
)
def test_paper_and_strict(gold: Gold, answer: Any, paper: Fraction | int, strict: Fraction | int) -> None:
    """The paper's wording and the strict reading differ from upstream's program where they say so."""
    assert (paper, strict) == (Fraction(*rules.paper(gold, answer)), Fraction(*_strict(gold, answer)))


@given(
    st.sampled_from(GOLDS),
    st.lists(st.integers(-2, 9), max_size=6),
    st.lists(st.sampled_from(["روسیه", "کانادا", "مشهد", "شهر مشهد", "", "قم"]), max_size=6),
    st.booleans(),
)
def test_a_score_lies_between_0_and_1(gold: Gold, numbers: list[int], texts: list[str], truth: bool) -> None:
    """Whatever the answer, it earns between nothing and everything, and the right one everything, by every scorer."""
    answer = {"boolean": truth, "multichoice": numbers, "factoid": texts}[gold.type]
    for rule in (rules.upstream, rules.paper, _strict):
        hits, of = rule(gold, answer)
        assert 0 <= hits <= of
        assert of >= 1
        assert Fraction(*rule(gold, gold.answer)) == 1


def test_gold_of_options() -> None:
    """The right options become their numbers, in the order of the answer."""
    assert gold_of("multichoice", "multi", ["ج", "الف"], ["الف", "ب", "ج", "د"]).answer == [3, 1]


@pytest.mark.parametrize(("score", "expected"), [(0.485, "0.48"), (0.565, "0.56"), (0.575, "0.57"), (1.0, "1.00")])
def test_rounding_of_boolean_and_multichoice(score: float, expected: str) -> None:
    """Tables 4 and 5 round the float, so that ties fall as its binary form does."""
    assert expected == float_decimals(score) == two_decimals("boolean", score) == two_decimals("multichoice", score)


@pytest.mark.parametrize(
    ("score", "expected"), [(0.485, "0.49"), (0.12345, "0.12"), (0.12496, "0.13"), (0.004, "0.00"), (0.0, "0.00")]
)
def test_rounding_of_factoid(score: float, expected: str) -> None:
    """Table 6 rounds to four places first, then half up."""
    assert expected == factoid_decimals(score) == two_decimals("factoid", score)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 41)).filter(lambda pair: pair[0] <= pair[1]), min_size=1))
def test_mean_is_exact(stats: list[tuple[int, int]]) -> None:
    """The mean is the exact one, correctly rounded; what the bootstrap adds up is within a billionth of it."""
    metric = fraction_metric("score")
    exact = sum((Fraction(*pair) for pair in stats), Fraction()) / len(stats)
    columns = metric.columns(stats_of(stats))

    assert float(exact) == metric.value(stats_of(stats))
    rate = metric.rates([column.sum(keepdims=True).astype(float) for column in columns])
    assert abs(rate[0] - float(exact)) < 1e-8
