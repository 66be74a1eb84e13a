"""Which suite a run is of, and the figures people and scripts are told at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orinbench.v1.run_pb2 import Run, RunPlan

from orinbench_client.bundles.model import Counts
from orinbench_client.bundles.results import load_run
from orinbench_client.bundles.trust import TrustList, trust_file
from orinbench_client.errors import BadInput
from orinbench_client.scoring.grades import Grading, find_scorer, stats_of
from orinbench_client.statistics import Replicates, percentile_interval
from orinbench_client.suites import Suite, open_suite, open_variant

# Why a run ended before its first sample because the board would not do.
_BOARD_SAID_NO = ("PREFLIGHT_FAILED", "GPU_IN_USE", "BOARD_WEDGED")


def board_said_no(run: Run) -> bool:
    """Tell whether a run ended before its first sample because the board would not do."""
    return run.failure.reason in _BOARD_SAID_NO and not run.accepted_samples


def matching_suite(plan: RunPlan, name: str | None, note: Callable[[str], None]) -> Suite | None:
    """Return the suite a run is of, from our own or from the folder `name`; None, with a note, if it is not here.

    Raises BadInput for a suite that was named and is damaged.
    """
    try:
        suite = open_suite(name) if name else open_variant(plan.suite_id, plan.suite_digest)
    except BadInput as error:
        if name is not None:
            raise
        note(f"the right answers are not here, so the bundle stays unscored: {error} (--suite DIR names a folder)")
        return None
    if suite.digest == plan.suite_digest:
        return suite
    note(
        f"suite {plan.suite_id} here has the digest {suite.digest}, the run is of {plan.suite_digest}: "
        "the bundle stays unscored"
    )
    return None


def outcome(bundle: Path) -> dict[str, Any]:
    """Return what a bundle says of its run, for people and scripts. What is not known is left out."""
    scored = TrustList(trust_file()).judge(load_run(bundle), demanded=False)
    facts, timing, memory = scored.facts, scored.facts.timing, scored.facts.memory
    found: dict[str, Any] = {
        "run": facts.run_id,
        "suite": facts.suite.name,
        "model": facts.model.name,
        "state": facts.state,
        "bundle": str(bundle),
        "signature": {"standing": facts.standing, "key_id": facts.key_id, "signer": facts.signer},
        "violations": [violation.reason for violation in facts.violations],
    }
    if facts.failure:
        found["failure"] = facts.failure
    if timing is not None and timing.total_audio_ns:
        found["rtf"] = timing.total_window_ns / timing.total_audio_ns
    if memory is not None and memory.peak_bytes is not None:
        found["memory"] = {"method": memory.method, "peak_bytes": memory.peak_bytes}
    if scored.counts is not None:
        found["score"] = {"normalizer": scored.scored_by, **_rates(scored.counts)}
    if scored.grading is not None:
        found["score"] = _graded(scored.grading)
    return found


def _graded(grading: Grading) -> dict[str, Any]:
    states = Counter(grade.state for grade in grading.grades)
    found: dict[str, Any] = {
        "scorer": grading.scorer,
        "variant": dict(grading.variant),
        "n": len(grading.grades),
        "unparsable": states["unparsable"],
        "refused": states["refused"],
    }
    for metric in find_scorer(grading.scorer).metrics({})[:1]:
        stats = stats_of([grade.stats for grade in grading.grades])
        columns = metric.columns(stats)
        replicates = Replicates(columns)
        interval = percentile_interval(metric.rates([replicates.sums(column) for column in columns]))
        found |= {"metric": metric.name, "value": metric.value(stats), "interval": list(interval)}
    return found


def _rates(counts: Counts) -> dict[str, Any]:
    columns = [counts.word_edits, counts.word_units, counts.character_edits, counts.character_units]
    replicates = Replicates(columns)
    return {
        "wer": counts.wer,
        "wer_interval": list(percentile_interval(replicates.rates(columns[0], columns[1]))),
        "cer": counts.cer,
        "cer_interval": list(percentile_interval(replicates.rates(columns[2], columns[3]))),
    }
