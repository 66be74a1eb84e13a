"""Edit counts, rates and alignments."""

from __future__ import annotations

from collections import Counter

import pytest
from bench_cases.score import count_plainly
from hypothesis import example, given
from hypothesis import strategies as st
from orinbench_client.metrics import (
    GIB,
    align,
    character_edits,
    error_rate,
    memory_efficiency,
    word_accuracy_pct,
    word_edits,
)

# Few different units, so that minimal alignments are many and the tie rule decides.
WORDS = st.lists(st.sampled_from(["آب", "نان", "a", "b", "\ud800"]), max_size=9)


@given(WORDS, WORDS)
@example([], [])
@example(["a"], [])
@example([], ["a", "b"])
@example(["a", "b"], ["b", "a"])
def test_word_edits_follow_the_tie_rule(reference: list[str], prediction: list[str]) -> None:
    """Substitutions, deletions, insertions are those of a textbook recurrence that compares them in that order."""
    counts = word_edits(" ".join(reference), " ".join(prediction))

    assert count_plainly(reference, prediction) == counts
    assert counts.edits == counts.substitutions + counts.deletions + counts.insertions


@given(st.text("ab آ", max_size=12), st.text("ab آ\ud800", max_size=12))
def test_character_edits_follow_the_tie_rule(reference: str, prediction: str) -> None:
    """The same holds over characters, with spaces taken out."""
    expected = count_plainly(reference.replace(" ", ""), prediction.replace(" ", ""))

    assert expected == character_edits(reference, prediction)


def test_tie_goes_to_the_fewest_substitutions() -> None:
    """Of two minimal alignments the one without substitutions counts."""
    assert word_edits("a b", "b a") == (0, 1, 1, 2)
    assert word_edits("a b c", "x y") == (2, 1, 0, 3)


@given(WORDS, WORDS)
def test_alignment_has_the_counts(reference: list[str], prediction: list[str]) -> None:
    """The alignment shown to people reads both texts in full and has exactly the edits that are counted."""
    steps = align(reference, prediction)
    kinds = Counter(step.kind for step in steps)

    assert reference == [step.reference for step in steps if step.kind != "I"]
    assert prediction == [step.prediction for step in steps if step.kind != "D"]
    assert (kinds["S"], kinds["D"], kinds["I"]) == word_edits(" ".join(reference), " ".join(prediction))[:3]
    assert all((step.reference == step.prediction) == (step.kind == "=") for step in steps)


def test_rates() -> None:
    """A rate may exceed 1 and is kept; word accuracy ends at 0; efficiency is per GiB of 2^30 bytes."""
    assert error_rate(3, 2) == 1.5
    assert word_accuracy_pct(0.25) == 75.0
    assert word_accuracy_pct(1.5) == 0.0
    assert memory_efficiency(0.2, 2 * GIB) == pytest.approx(40.0)


def test_long_texts_are_counted() -> None:
    """Costs that hold edits and substitutions in one number stay exact for texts of 50,000 characters."""
    assert character_edits("ab" * 25_000, "ac" * 25_000) == (25_000, 0, 0, 50_000)
