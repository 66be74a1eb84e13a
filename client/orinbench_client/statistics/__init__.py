"""Bootstrap intervals, bit-equal to PESTE's."""

from orinbench_client.statistics.bootstrap import (
    CONFIDENCE,
    REPLICATES,
    SEED,
    FloatArray,
    Interval,
    Replicates,
    draw_indices,
    percentile_interval,
)

__all__ = [
    "CONFIDENCE",
    "REPLICATES",
    "SEED",
    "FloatArray",
    "Interval",
    "Replicates",
    "draw_indices",
    "percentile_interval",
]
