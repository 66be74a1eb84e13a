"""Corpus rates and the figures made of them."""

from __future__ import annotations

#: Bytes in a GiB.
GIB = 2**30


def error_rate(edits: int, units: int) -> float:
    """Return the sum of edits over the sum of reference units. May exceed 1 and is never clipped; units ≥ 1."""
    return edits / units


def word_accuracy_pct(wer: float) -> float:
    """Return 100 × max(0, 1 − WER), in percent."""
    return 100.0 * max(0.0, 1.0 - wer)


def memory_efficiency(wer: float, peak_bytes: int) -> float:
    """Return word accuracy in percent per GiB of peak memory; `peak_bytes` ≥ 1."""
    return word_accuracy_pct(wer) / (peak_bytes / GIB)
