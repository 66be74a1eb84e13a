"""Word and character edit counts by PESTE's tie rule.

Among the minimal alignments the one with the fewest substitutions counts, then the one with the fewest deletions.
With a cost of K for an insertion or deletion and K + 1 for a substitution, K above any possible number of
substitutions, one weighted Levenshtein distance w holds both: edits = w div K, substitutions = w mod K. Deletions
less insertions is the difference of the lengths, so all three follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein


class EditCounts(NamedTuple):
    """Edits that turn the reference into the prediction, and `units`, the length of the reference."""

    substitutions: int
    deletions: int
    insertions: int
    units: int

    @property
    def edits(self) -> int:
        """All edits together."""
        return self.substitutions + self.deletions + self.insertions


def word_edits(reference: str, prediction: str) -> EditCounts:
    """Count edits over the words of two normalised texts."""
    return count_edits(*numbered(reference.split(), prediction.split()))


def numbered(reference: Sequence[str], prediction: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return two texts with a number for each different word."""
    # rapidfuzz compares the hashes of objects: those of small integers are exact.
    numbers: dict[str, int] = {}
    left = [numbers.setdefault(word, len(numbers)) for word in reference]
    return left, [numbers.setdefault(word, len(numbers)) for word in prediction]


def character_edits(reference: str, prediction: str) -> EditCounts:
    """Count edits over the characters of two normalised texts, their spaces removed."""
    return count_edits(reference.replace(" ", ""), prediction.replace(" ", ""))


def count_edits(reference: Sequence[int] | str, prediction: Sequence[int] | str) -> EditCounts:
    """Count edits over characters, or over words that are numbered."""
    cost = min(len(reference), len(prediction)) + 2
    distance = Levenshtein.distance(reference, prediction, weights=(cost, cost, cost + 1))
    edits, substitutions = divmod(distance, cost)
    surplus = len(reference) - len(prediction)
    deletions = (edits - substitutions + surplus) // 2
    return EditCounts(substitutions, deletions, deletions - surplus, len(reference))
