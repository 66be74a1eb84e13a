"""Results folders to report on: native bundles as a daemon's records make them, scored as the client scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from orinbench.v1.record_pb2 import RecordBody, TelemetryRecord
from orinbench.v1.telemetry_pb2 import RailReading, Telemetry
from orinbench_client.bundles.native import write_native
from orinbench_client.bundles.results import open_bundle
from orinbench_client.scoring.diagnostics import diagnose
from orinbench_client.scoring.score import score_samples
from orinbench_client.scoring.store import ScoredTexts, write_score
from orinbench_client.text import get_normalizer

from tests.unit.bundles.native_run import NativeRun

NORMALIZER = "fa-v1"


@dataclass
class MeasuredRun(NativeRun):
    """A run with telemetry at 2 Hz: `power_w` by reading, None where nothing was read at that tick."""

    power_w: Sequence[float | None] = ()

    def bodies(self) -> list[RecordBody]:
        """The records before `finished`."""
        kept = [body for body in super().bodies() if body.WhichOneof("body") != "telemetry"]
        return kept + list(self._telemetry())

    def _telemetry(self) -> Iterator[RecordBody]:
        for tick, watts in enumerate(self.power_w):
            if watts is None:
                continue
            reading = Telemetry(monotonic_ns=(1 + tick) * 500_000_000, module_power_w=watts)
            reading.rails["VDD_IN"].CopyFrom(RailReading(now_mw=watts * 1000))
            reading.temperatures_c["tj-thermal"] = 40 + tick / 10
            reading.time.FromMilliseconds(1_000_000 + 500 * tick)
            yield RecordBody(telemetry=TelemetryRecord(telemetry=reading))


def write_run(results: Path, run: NativeRun, scored: bool = True) -> Path:
    """Write a run's bundle where it belongs, with its score."""
    path = results / run.suite_id / run.run_id
    write_native(path, run.run(), run.frames())
    if scored:
        bundle = open_bundle(path)
        score = score_samples(bundle.samples, run.references, get_normalizer(NORMALIZER))
        texts = ScoredTexts(run.suite_id, run.suite_digest, bundle.texts_digest, NORMALIZER)
        write_score(path, texts, score, diagnose(bundle.samples, run.references, score))
    return path
