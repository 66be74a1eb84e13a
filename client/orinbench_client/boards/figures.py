"""The figures of one board's runs, with their intervals. One draw of samples serves every interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orinbench_client.bundles.model import Counts, IntArray, Memory, ScoredRun, Timing
from orinbench_client.errors import BadInput
from orinbench_client.metrics import GIB, memory_efficiency, word_accuracy_pct
from orinbench_client.statistics import FloatArray, Interval, Replicates, percentile_interval

Figure = dict[str, Any]
_NS = 1e9
_UJ = 1e6
_HOUR_S = 3600.0


class Measured:
    """Figures of what a board measured, whatever was scored: speed and energy, with their intervals.

    `columns` are what else needs intervals from the same draws.
    """

    def __init__(self, runs: Sequence[ScoredRun], columns: Sequence[IntArray]) -> None:
        measured = [column for run in runs for column in _measured(run)]
        self.replicates = Replicates([*columns, *measured, *(ones(len(column)) for column in measured)])

    def speed(self, run: ScoredRun) -> Figure:
        """Return `rtf` and `throughput_x` where there is audio, seconds a sample where windows were recorded."""
        timing = run.facts.timing
        if timing is None:
            return {}
        figures: Figure = {}
        if timing.total_audio_ns is not None:
            figures["rtf"] = timing.total_window_ns / timing.total_audio_ns
            if timing.windows_ns is not None and timing.audio_ns is not None:
                figures["rtf_ci"] = self.interval(timing.windows_ns, timing.audio_ns)
            figures["throughput_x"] = timing.total_audio_ns / timing.total_window_ns
        return {**figures, **self._windows(timing)}

    def _windows(self, timing: Timing) -> Figure:
        windows = timing.windows_ns
        if windows is None:
            return {}
        p50, p90, p99 = (float(bound) / _NS for bound in np.quantile(windows, [0.5, 0.9, 0.99]))
        return {
            "window_mean_s": timing.total_window_ns / len(windows) / _NS,
            "window_mean_ci_s": self.interval(windows, ones(len(windows)), 1 / _NS),
            "window_p50_s": p50,
            "window_p90_s": p90,
            "window_p99_s": p99,
        }

    def energy(self, run: ScoredRun) -> Figure:
        """Return the joules in all, a sample, and an hour of audio where there is audio."""
        energy, timing = run.facts.energy_uj, run.facts.timing
        if energy is None:
            return {}
        total = int(energy.sum())
        figures: Figure = {
            "energy_j": total / _UJ,
            "energy_j_per_sample": total / len(energy) / _UJ,
            "energy_j_per_sample_ci": self.interval(energy, ones(len(energy)), 1 / _UJ),
        }
        if timing is not None and timing.audio_ns is not None and timing.total_audio_ns:
            scale = _NS / _UJ * _HOUR_S
            figures["energy_j_per_audio_hour"] = total / timing.total_audio_ns * scale
            figures["energy_j_per_audio_hour_ci"] = self.interval(energy, timing.audio_ns, scale)
        return figures

    def interval(self, numerator: IntArray, denominator: IntArray, scale: float = 1.0) -> list[float]:
        """Return the bounds of one column's sum over another's, times `scale`."""
        return list(percentile_interval(self.replicates.rates(numerator, denominator) * scale))


class Figures(Measured):
    """Figures and intervals of the ranked runs of one board. Raises BadInput when they have not the same samples."""

    def __init__(self, runs: Sequence[ScoredRun]) -> None:
        self._runs = {run.facts.run_id: run for run in runs}
        samples = {counts_of(run).sample_ids for run in runs}
        if len(samples) > 1:
            raise BadInput(f"{', '.join(self._runs)}: not the same samples, although the suite's digest is the same")
        super().__init__(runs, [column for run in runs for column in _edits(run)])
        self._differences: dict[tuple[str, str], Interval] = {}

    def accuracy(self, run: ScoredRun) -> Figure:
        """Return `cer, wer`, their intervals, and `word_accuracy_pct`."""
        counts = counts_of(run)
        return {
            "cer": counts.cer,
            "cer_ci": self.interval(counts.character_edits, counts.character_units),
            "wer": counts.wer,
            "wer_ci": self.interval(counts.word_edits, counts.word_units),
            "word_accuracy_pct": word_accuracy_pct(counts.wer),
        }

    def memory(self, run: ScoredRun) -> Figure:
        """Return the memory efficiency, its interval (that of the WER, carried over) and the peak in GiB."""
        memory, counts = run.facts.memory, counts_of(run)
        if memory is None or memory.peak_bytes is None:
            return {}
        wer = self.interval(counts.word_edits, counts.word_units)
        return {
            "memory_method": memory.method,
            "memory_efficiency": memory_efficiency(counts.wer, memory.peak_bytes),
            "memory_efficiency_ci": [memory_efficiency(bound, memory.peak_bytes) for bound in reversed(wer)],
            "peak_memory_gib": memory.peak_bytes / GIB,
        }

    def cer_difference(self, first: str, second: str) -> Interval:
        """Return the paired bounds of the first run's CER less the second's, both by run id."""
        if (first, second) not in self._differences:
            self._differences[first, second] = percentile_interval(self._cers(first) - self._cers(second))
        return self._differences[first, second]

    def _cers(self, run_id: str) -> FloatArray:
        counts = counts_of(self._runs[run_id])
        return self.replicates.rates(counts.character_edits, counts.character_units)


def counts_of(run: ScoredRun) -> Counts:
    """Return the counts of a ranked run, which always has them."""
    if run.counts is None:
        raise BadInput(f"{run.facts.run_id}: no score")
    return run.counts


def has_device_memory(run: ScoredRun) -> bool:
    """Return whether the run's memory number is what an allocator held from the device."""
    return run.facts.memory is not None and run.facts.memory.method != "process-rss"


def ones(samples: int) -> IntArray:
    """Return the column that counts samples."""
    return np.ones(samples, dtype=np.int64)


def _edits(run: ScoredRun) -> list[IntArray]:
    counts = counts_of(run)
    return [counts.word_edits, counts.word_units, counts.character_edits, counts.character_units]


def _measured(run: ScoredRun) -> list[IntArray]:
    timing = run.facts.timing
    columns = [run.facts.energy_uj, *((timing.windows_ns, timing.audio_ns) if timing else ())]
    return [column for column in columns if column is not None]


def model_facts(run: ScoredRun) -> Figure:
    """Return what is known of the model and its device memory beside the figures; what is not known is left out.

    Without device memory there is only the resident set, which no two runs share to the byte: it stands on the memory
    board alone.
    """
    facts, memory = run.facts.facts, run.facts.memory or Memory("", None)
    sizes = {"checkpoint_gib": facts.checkpoint_bytes}
    if has_device_memory(run):
        sizes["peak_cuda_reserved_gib"] = memory.reserved_bytes
        sizes["peak_cuda_allocated_gib"] = memory.allocated_bytes
        sizes["peak_process_rss_gib"] = memory.rss_bytes
    known: Figure = {name: size / GIB for name, size in sizes.items() if size is not None}
    for name, value in (("parameter_count", facts.parameter_count), ("native_dtype", facts.native_dtype)):
        if value is not None:
            known[name] = value
    return known
