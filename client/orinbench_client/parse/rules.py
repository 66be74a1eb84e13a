"""What an answer earns: upstream's rules to the letter, those the paper words, and strict ones.

Each gives a fraction (hits, of how many), 0 ≤ hits, 1 ≤ of how many; the score of a cell is the mean of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

from orinbench_client.parse.questions import BOOLEAN, FACTOID, MULTICHOICE
from orinbench_client.text import Normalizer

WRONG, RIGHT = (0, 1), (1, 1)
Fraction = tuple[int, int]


class Gold(NamedTuple):
    """The right answer: true or false, the numbers of the right options (from 1), or the right texts."""

    type: str
    subtype: str
    answer: Any


def gold_of(type_: str, subtype: str, answer: Any, options: Sequence[str]) -> Gold:
    """Return the right answer in the terms of a reply."""
    if type_ == BOOLEAN:
        return Gold(type_, subtype, answer)
    texts = [] if answer is None else answer if isinstance(answer, list) else [answer]
    return Gold(type_, subtype, [options.index(text) + 1 for text in texts] if type_ == MULTICHOICE else texts)


def upstream(gold: Gold, answer: Any) -> Fraction:
    """Score as upstream's program does. `answer` may be what its files hold: any numbers, repeats, a bare text."""
    if gold.type == BOOLEAN:
        return RIGHT if answer == gold.answer else WRONG
    if gold.type == MULTICHOICE:
        if not answer:
            return WRONG
        # The first number alone counts: further ones cost nothing.
        return _jaccard(gold.answer, answer) if gold.subtype == "multi" else _right(answer[0] == gold.answer[0])
    if gold.subtype == "nonanswerable":
        return _right(not answer)
    # A bare text is walked letter by letter, as upstream does.
    hits = len({text for text in answer if any(right in text for right in gold.answer)})
    return hits, max(len(gold.answer), len(answer))


def paper(gold: Gold, answer: Any) -> Fraction:
    """Score as the paper words it: accuracy of the whole answer, Contains as yes or no, Jaccard of lists of texts."""
    if gold.type == BOOLEAN or gold.subtype == "nonanswerable":
        return upstream(gold, answer)
    if gold.subtype in ("multi", "listbased"):
        return _jaccard(gold.answer, answer)
    if gold.type == FACTOID:
        return _right(any(gold.answer[0] in text for text in answer))
    return _right(set(answer) == set(gold.answer))


def strict(gold: Gold, answer: Any, normalizer: Normalizer) -> Fraction:
    """Score the whole answer: options as a set, texts by the F1 of the sets of normalised texts."""
    if gold.type == BOOLEAN or gold.subtype == "nonanswerable":
        return upstream(gold, answer)
    if gold.type == MULTICHOICE:
        return _right(set(answer) == set(gold.answer))
    right, given = ({normalizer.normalize(text) for text in texts} for texts in (gold.answer, answer))
    return 2 * len(right & given), len(right) + len(given)


def _right(correct: bool) -> Fraction:
    return RIGHT if correct else WRONG


def _jaccard(gold: Sequence[object], answer: Sequence[object]) -> Fraction:
    return len(set(gold) & set(answer)), len(set(gold) | set(answer))


def two_decimals(type_: str, score: float) -> str:
    """Return a score as the published table of its type shows it."""
    return factoid_decimals(score) if type_ == FACTOID else float_decimals(score)


def float_decimals(score: float) -> str:
    """Round as the tables of boolean and multichoice do (4 and 5): Python's round of the float, ties and all."""
    return f"{round(score, 2):.2f}"


def factoid_decimals(score: float) -> str:
    """Round as the table of factoid does (6): to four places first, then half up."""
    return str(Decimal(repr(round(score, 4))).quantize(Decimal("0.01"), ROUND_HALF_UP))
