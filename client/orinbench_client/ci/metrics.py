"""The figures a gate may name: unit, axis, and where in a run's board they stand. None is computed here."""

from __future__ import annotations

from typing import NamedTuple

from orinbench_client.bundles.model import Axis


class GateMetric(NamedTuple):
    """A figure of a whole run. `board` and `key` say where the run's row has it; it is multiplied by `scale`.

    `graded_key` is what the figure is called on the board of a graded suite, where that differs.
    """

    unit: str
    axis: Axis
    board: str
    key: str
    meaning: str
    scale: float = 1.0
    graded_key: str | None = None


_MS = 1000.0

METRICS: dict[str, GateMetric] = {
    "cer": GateMetric("ratio", "accuracy", "accuracy", "cer", "character error rate"),
    "wer": GateMetric("ratio", "accuracy", "accuracy", "wer", "word error rate"),
    "word_accuracy_pct": GateMetric("%", "accuracy", "accuracy", "word_accuracy_pct", "100 × max(0, 1 − WER)"),
    "score": GateMetric("ratio", "accuracy", "accuracy", "score", "score of a graded suite, all samples together"),
    "unparsable": GateMetric("count", "accuracy", "accuracy", "unparsable", "replies of a graded suite without answer"),
    "refused": GateMetric("count", "accuracy", "accuracy", "refused", "replies of a graded suite that decline"),
    "peak_reserved_gib": GateMetric(
        "GiB", "memory", "facts", "peak_cuda_reserved_gib", "peak that the run's allocator held from the device"
    ),
    "peak_memory_gib": GateMetric(
        "GiB", "memory", "memory", "peak_memory_gib", "peak by the method that the run's record names"
    ),
    "memory_efficiency": GateMetric(
        "% per GiB",
        "memory",
        "memory",
        "memory_efficiency",
        "word accuracy, or score, in % / peak",
        graded_key="score_pct_per_gib",
    ),
    "rtf": GateMetric("ratio", "speed", "speed", "rtf", "timed windows / audio"),
    "throughput_x": GateMetric("× real time", "speed", "speed", "throughput_x", "audio / timed windows"),
    "mean_ms": GateMetric("ms", "speed", "speed", "window_mean_s", "mean timed window of a sample", _MS),
    "p50_ms": GateMetric("ms", "speed", "speed", "window_p50_s", "median timed window of a sample", _MS),
    "p90_ms": GateMetric("ms", "speed", "speed", "window_p90_s", "90th percentile of the timed windows", _MS),
    "energy_j": GateMetric("J", "energy", "energy", "energy_j", "energy of all timed windows"),
    "energy_j_per_sample": GateMetric("J", "energy", "energy", "energy_j_per_sample", "energy of a sample"),
    "energy_j_per_audio_hour": GateMetric(
        "J/h", "energy", "energy", "energy_j_per_audio_hour", "energy of an hour of audio"
    ),
    "energy_j_per_correct_answer": GateMetric(
        "J", "energy", "energy", "energy_j_per_correct_answer", "energy of a correct answer of a graded suite"
    ),
}
