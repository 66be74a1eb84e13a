"""A results folder with everything a page must bear: names and texts that attack it, failures, graded answers."""

from __future__ import annotations

from pathlib import Path

from bench_cases.synthetic import make_references
from orinbench.v1.record_pb2 import AXIS_ACCURACY, AXIS_ENERGY, AXIS_MEMORY, AXIS_SPEED
from orinbench_client.bundles.results import open_bundle
from orinbench_client.scoring.bundle import score_bundle
from orinbench_client.suites import open_suite, references

from tests.unit.bundles.native_run import NativeRun
from tests.unit.parse.parse_folder import write_parse
from tests.unit.report.bundles import MeasuredRun, write_run

HOSTILE = "</script><img src=x onerror=document.title='broken'>"
SAMPLES = 120
ALL_AXES = (AXIS_ACCURACY, AXIS_MEMORY, AXIS_SPEED, AXIS_ENERGY)


def write_results(folder: Path) -> Path:
    """Write three runs of a speech suite, one of them failed and one simulated, and one run of graded answers."""
    results = folder / "results"
    texts = make_references(SAMPLES)
    first = next(iter(texts))
    texts[first] = f"سلام {HOSTILE} دنیا"
    watts = [*[20.0 + tick % 5 for tick in range(20)], *[None] * 8, *[24.0] * 20]
    write_run(
        results, MeasuredRun(run_id="run-good", model_id="z-good", references=texts, error_rate=0.0, power_w=watts)
    )
    write_run(results, NativeRun(run_id="run-bad", model_id="a-bad", references=texts, error_rate=0.6, window_ms=40))
    simulated = [("SIMULATED", ALL_AXES)]
    write_run(results, NativeRun(run_id="run-sim", model_id=HOSTILE, references=texts, violations=simulated))
    write_run(results, NativeRun(run_id="run-failed", model_id="broken", references=texts, failed=True), scored=False)
    _write_graded(folder, results)
    return results


def _write_graded(folder: Path, results: Path) -> None:
    suite = open_suite(f"{write_parse(folder / 'own')}:persian,zero_shot,test")
    run = NativeRun(
        run_id="run-graded",
        suite_id=suite.declaration.id,
        suite_digest=suite.digest,
        model_id="a-chat",
        audio=False,
        references={**references(suite)},
        error_rate=0.05,
    )
    path = write_run(results, run, scored=False)
    score_bundle(open_bundle(path), suite)
