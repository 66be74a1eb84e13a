"""Folding: what two texts must share to be the same answer."""

from __future__ import annotations

from orinbench_client.text import get_normalizer

#: The normaliser that folds.
POLICY = "fa-v1"


def fold(text: str) -> str:
    """Return words with one space between: `fa-v1` (Persian letters, digits, marks, ZWNJ), and no case.

    Punctuation, underscores and ZWNJ are spaces, so ``play_music``, ``play music`` and ``play:music`` are one.
    """
    normalize = get_normalizer(POLICY).normalize
    # Again, because a letter without case may be one the policy composes.
    return normalize(normalize(text).casefold())
