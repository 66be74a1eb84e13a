"""A run as the report shows it: what it is, whether it counts, its figures and surroundings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from orinbench.v1.run_pb2 import Run

from orinbench_client.boards.figures import Figures, Measured
from orinbench_client.boards.selection import DEVELOPMENT, Unranked
from orinbench_client.boards.tables import METHODS, Column, Table, fixed, make_table, plain
from orinbench_client.bundles.model import AXES, SUCCEEDED, Axis, RunFacts, ScoredRun
from orinbench_client.bundles.results import Bundle, find_score
from orinbench_client.metrics import GIB
from orinbench_client.report.facts import AxisVerdict, Fact, Mark, RunView, Tone
from orinbench_client.report.recorded import Recorded, recorded
from orinbench_client.report.samples import References, samples_of
from orinbench_client.report.surroundings import sections_of
from orinbench_client.report.telemetry import make_timeline
from orinbench_client.scoring.grade_store import GradeSummary

NATIVE = "orinbench"
_ORIGINS = {
    NATIVE: "native run",
    "peste-1": "imported, PESTE schema 1",
    "peste-2": "imported, PESTE schema 2",
    "parse-upstream": "imported answers of Parse",
}
_STANDINGS: Mapping[str, tuple[Tone, str]] = {
    "trusted": ("good", "the board's signature is valid, its key is trusted"),
    "unknown": ("warn", "signed by no board that is trusted here (orinbench trust add)"),
    "invalid": ("bad", "the signature does not hold: the run is ranked nowhere"),
}
_STATES = {"ok": "Earned something", "wrong": "Wrong", "unparsable": "Unparsable", "refused": "Refused"}
_VIOLATION = (
    Column("When", plain("time")),
    Column("What", plain("reason")),
    Column("In words", plain("message")),
    Column("Voids", plain("voids")),
    Column("Sample", plain("sample_index")),
    Column("Segment", plain("segment")),
)
_CHECK = (
    Column("Check", plain("name")),
    Column("Result", plain("result")),
    Column("Expected", plain("expected")),
    Column("Found", plain("found")),
    Column("What to do", plain("hint")),
)
_PART = (
    Column("Part", plain("part")),
    Column("Samples", plain("samples")),
    Column("WER", fixed("wer", 4)),
    Column("CER", fixed("cer", 4)),
)


def view_run(
    run: ScoredRun, bundle: Bundle, ranked: Measured | None, unranked: Sequence[Unranked], answers: References
) -> RunView:
    """Return a run's view. Raises BadInput for a damaged bundle.

    `ranked` makes the figures of the board the run is ranked in, None where it is in none; `unranked` is what boards
    say against it.
    """
    facts = run.facts
    found = recorded(*bundle.native) if bundle.native is not None else None
    native = found.run if found is not None else None
    return RunView(
        anchor=f"run-{facts.suite.name}-{facts.run_id}",
        run_id=facts.run_id,
        suite=facts.suite.name,
        model=facts.model.name,
        hardware=facts.hardware.name,
        origin=_ORIGINS[facts.origin],
        marks=_marks(facts, native),
        headline=[*_score(run, bundle.path), *_headline(run, ranked or _own_figures(run))],
        verdict=[_axis_verdict(facts, axis, unranked) for axis in AXES],
        tables=[table for table in _tables(run, found) if table.cells],
        sections=[section for section in sections_of(bundle, found) if section.facts],
        samples=samples_of(run, bundle, answers),
        timeline=make_timeline(found) if found is not None else None,
        log=native.failure.stderr_tail if native is not None else "",
        log_remark=found.remark("failure", facts) if found is not None else "",
    )


def _marks(facts: RunFacts, native: Run | None) -> list[Mark]:
    marks = []
    if facts.state != SUCCEEDED:
        marks.append(Mark("bad", facts.state.upper(), facts.failure or facts.state))
    if native is not None and native.accepted_samples < native.planned_samples:
        done = f"{native.accepted_samples} of {native.planned_samples} samples have a result"
        marks.append(Mark("bad", "INCOMPLETE", done))
    reasons = {violation.reason: violation.message for violation in facts.violations}
    if facts.first is not None:
        marks.append(Mark("bad", "INCOMPLETE", f"only the first {facts.first} samples of the suite were asked for"))
    if "SIMULATED" in reasons:
        marks.append(Mark("warn", "SIMULATED", reasons["SIMULATED"]))
    if DEVELOPMENT in reasons:
        marks.append(Mark("warn", "development profile", "not comparable with anything but runs of this profile"))
    if facts.standing is not None:
        tone, why = _STANDINGS[facts.standing]
        marks.append(Mark(tone, f"signature {facts.standing}", f"{why}{f' as {facts.signer}' if facts.signer else ''}"))
    if facts.origin != NATIVE:
        marks.append(Mark("plain", "imported", _ORIGINS[facts.origin]))
    return marks


def _axis_verdict(facts: RunFacts, axis: Axis, unranked: Sequence[Unranked]) -> AxisVerdict:
    causes = list(dict.fromkeys(entry.cause for entry in unranked if axis in entry.axes))
    readings = {"memory": facts.memory and facts.memory.peak_bytes, "speed": facts.timing, "energy": facts.energy_uj}
    if causes:
        return AxisVerdict(axis, Mark("bad", "does not count", ""), causes)
    if readings.get(axis, facts) is None:
        return AxisVerdict(axis, Mark("plain", "no reading", ""), [])
    return AxisVerdict(axis, Mark("good", "counts", ""), [])


def _own_figures(run: ScoredRun) -> Measured:
    return Figures([run]) if run.counts is not None else Measured([run], [])


def _score(run: ScoredRun, bundle: Path) -> Iterator[Fact]:
    """Yield the score of graded answers, where there is one of all samples, and how they were graded."""
    if run.grading is None:
        return
    _, summary = find_score(bundle, run.scored_by)
    assert isinstance(summary, GradeSummary)  # noqa: S101 - what the grades were read from
    if summary.metric is not None and summary.value is not None:
        yield Fact(summary.metric.capitalize(), f"{summary.value:.4f}", run.scored_by)
        whole = [floor for floor in summary.floors if not floor.labels]
        for floor in sorted(whole, key=lambda floor: floor.value)[-1:]:
            yield Fact("Floor", f"{floor.value:.4f}", f"always the answer {floor.answer}")
    for state, words in _STATES.items():
        yield Fact(words, str(summary.states.get(state, 0)), f"of {summary.samples}")


def _headline(run: ScoredRun, figures: Measured) -> Iterator[Fact]:
    """Yield the figures of a run, by what makes those of boards, whether or not it is ranked."""
    if isinstance(figures, Figures):
        accuracy = figures.accuracy(run)
        yield Fact("CER", f"{accuracy['cer']:.4f}", _bounds(accuracy["cer_ci"], 4))
        yield Fact("WER", f"{accuracy['wer']:.4f}", _bounds(accuracy["wer_ci"], 4))
    yield from _speed(figures.speed(run))
    yield from _memory(run.facts)
    yield from _energy(figures.energy(run))


def _speed(speed: Mapping[str, Any]) -> Iterator[Fact]:
    if "rtf" in speed:
        beside = _bounds(speed["rtf_ci"], 5) if "rtf_ci" in speed else ""
        yield Fact("RTF", f"{speed['rtf']:.5f}", beside or f"{speed['throughput_x']:.1f} × real time")
    if "window_p50_s" in speed:
        p50, p90, p99 = (f"{speed[f'window_{name}_s'] * 1000:.1f}" for name in ("p50", "p90", "p99"))
        yield Fact(
            "Latency p50 / p90 / p99", f"{p50} / {p90} / {p99} ms", f"mean {speed['window_mean_s'] * 1000:.1f} ms"
        )


def _memory(facts: RunFacts) -> Iterator[Fact]:
    memory = facts.memory
    if memory is not None and memory.peak_bytes is not None:
        yield Fact("Peak memory", f"{memory.peak_bytes / GIB:.3f} GiB", METHODS.get(memory.method, memory.method))


def _energy(energy: Mapping[str, Any]) -> Iterator[Fact]:
    if "energy_j_per_audio_hour" in energy:
        bounds = _bounds(energy["energy_j_per_audio_hour_ci"], 1)
        yield Fact("Energy an hour of audio", f"{energy['energy_j_per_audio_hour']:.1f} J", bounds)
    if "energy_j" in energy:
        yield Fact("Energy", f"{energy['energy_j']:.1f} J", f"{energy['energy_j_per_sample']:.3f} J a sample")


def _bounds(bounds: Sequence[float], digits: int) -> str:
    return f"95 %: {bounds[0]:.{digits}f} to {bounds[1]:.{digits}f}"


def _tables(run: ScoredRun, found: Recorded | None) -> Iterator[Table]:
    if found is not None:
        checks = [_check(check) for check in found.run.failure.checks]
        yield make_table("Violations", _VIOLATION, [_violation(violation) for violation in found.run.violations])
        yield make_table(f"Checks that did not pass{found.remark('failure', run.facts)}", _CHECK, checks)
    parts = [part for part in _diagnostics(run.diagnostics) if part["samples"]]
    yield make_table("Where the error comes from", _PART, parts)


def _violation(violation: Any) -> dict[str, Any]:
    values = MessageToDict(violation, preserving_proto_field_name=True)
    voids = ", ".join(axis.removeprefix("AXIS_").lower() for axis in values.get("voids", []))
    return {**values, "voids": voids or "nothing", "time": values.get("time", "")[:19].replace("T", " ")}


def _check(check: Any) -> dict[str, Any]:
    values = MessageToDict(check, preserving_proto_field_name=True)
    return {**values, "result": values.get("result", "").removeprefix("CHECK_RESULT_").lower()}


def _diagnostics(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if join := found.get("zwnj_join"):
        yield {"part": "ZWNJ joined instead of a space", "samples": join["references_with_zwnj"], "wer": join["wer"]}
    digits = found.get("digits", {})
    for key, part in (("with", "references with digits"), ("without", "references without digits")):
        if key in digits:
            yield {"part": part, **digits[key]}
    for bucket in found.get("durations", []):
        upper = f" to {bucket['up_to_s']:g} s" if "up_to_s" in bucket else ""
        yield {**bucket, "part": f"audio over {bucket['over_s']:g} s{upper}"}
