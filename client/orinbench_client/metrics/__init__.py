"""Edit counts, rates and alignments of normalised text."""

from orinbench_client.metrics.alignment import Step, align
from orinbench_client.metrics.edits import EditCounts, character_edits, word_edits
from orinbench_client.metrics.rates import GIB, error_rate, memory_efficiency, word_accuracy_pct

__all__ = [
    "GIB",
    "EditCounts",
    "Step",
    "align",
    "character_edits",
    "error_rate",
    "memory_efficiency",
    "word_accuracy_pct",
    "word_edits",
]
