"""A job: its runs, each with what became of its gates, or why there is no run to judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orinbench_client.bundles.model import SUCCEEDED
from orinbench_client.ci.baseline import Finished, baseline_of
from orinbench_client.ci.gates import Gate, Gates, Regression
from orinbench_client.ci.judge import Verdict, judge, marks_of
from orinbench_client.errors import BadInput, OrinbenchError, RunFailed

GATE_NOT_MET = 1


@dataclass(frozen=True)
class Case:
    """A suite with a model. Without an error there is a verdict for every gate."""

    suite: str
    model: str
    gates: Sequence[Gate]
    finished: Finished | None = None
    verdicts: Sequence[Verdict] = ()
    marks: Sequence[str] = ()
    error: OrinbenchError | None = None

    @property
    def exit_code(self) -> int:
        """What it alone would end the job with."""
        if self.error is not None:
            return self.error.exit_code
        return 0 if all(verdict.met for verdict in self.verdicts) else GATE_NOT_MET


@dataclass(frozen=True)
class Job:
    """All of them, and the sections of the gates' file that concern none."""

    cases: Sequence[Case]
    unused: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        """0 when every gate is met; else the code of the case that came the least far."""
        return max((case.exit_code for case in self.cases), default=0)

    @property
    def verdicts(self) -> list[Verdict]:
        """Those of all cases."""
        return [verdict for case in self.cases for verdict in case.verdicts]


def gates_of(gates: Gates, baselines: Sequence[Finished], suite: str, model: str) -> list[Gate]:
    """Return the gates of a run: whoever names a baseline wants to be compared with it, with or without such a gate.

    Raises BadInput when there is none: the run would pass whatever it does.
    """
    found = gates.of(suite, model)
    if not any(isinstance(gate, Regression) for gate in found):
        of_suite = any(baseline.run.facts.suite.name == suite for baseline in baselines)
        # Without a regression anywhere a baseline of another suite is a mistake, which is then named.
        found += [Regression()] if of_suite or (baselines and not gates.regressions) else []
    if not found:
        raise BadInput(f"no gate is for suite {suite} with model {model}: --gate 'cer <= 0.065', or --gates FILE")
    return found


def judged(finished: Finished, gates: Sequence[Gate], baselines: Sequence[Finished]) -> Case:
    """Return the case of a run that has ended. Raises BadInput for a baseline that does not fit."""
    facts = finished.run.facts
    suite, model, marks = facts.suite.name, facts.model.name, marks_of(finished.run)
    if facts.state != SUCCEEDED:
        error = RunFailed(f"run {facts.run_id} did not succeed: {facts.failure or facts.state}: see {finished.path}")
        return Case(suite, model, gates, finished, marks=marks, error=error)
    needed = any(isinstance(gate, Regression) for gate in gates)
    baseline = baseline_of(baselines, facts.suite, model) if needed else None
    return Case(suite, model, gates, finished, judge(finished, gates, baseline), marks)


def describe(job: Job) -> str:
    """Return a job for people."""
    return "\n".join([*(line for case in job.cases for line in _lines(case)), *_sum(job)])


def found(verdict: Verdict) -> str:
    """Return what was found of a gate's figure, and what else stood against it."""
    if verdict.value is None:
        return verdict.why
    unit = "" if verdict.unit in ("ratio", "count") else f" {verdict.unit}"
    figure = f"{verdict.value:.6g}{unit}" if verdict.difference is None else str(verdict.difference)
    return f"{figure}: {verdict.why}" if verdict.why else figure


def _lines(case: Case) -> Iterator[str]:
    where = f", {case.finished.path}" if case.finished else ""
    yield f"{case.model} on {case.suite}{where}{''.join(f' [{mark}]' for mark in case.marks)}"
    if case.error is not None:
        yield f"  not judged: {case.error}"
    for verdict in case.verdicts:
        yield f"  {'ok  ' if verdict.met else 'FAIL'}  {verdict.gate!s:<32} {found(verdict)}"


def _sum(job: Job) -> Iterator[str]:
    for name in job.unused:
        yield f"note: the gates of {name} concern none of these runs"
    failed = sum(not verdict.met for verdict in job.verdicts)
    yield f"{len(job.verdicts)} gates, {failed} not met" if job.verdicts else "no gate was judged"


def to_json(job: Job) -> dict[str, Any]:
    """Return a job for programs. What is not known is left out."""
    return {
        "exit_code": job.exit_code,
        "cases": [_case(case) for case in job.cases],
        "unused_gates": list(job.unused),
    }


def _case(case: Case) -> dict[str, Any]:
    content: dict[str, Any] = {"suite": case.suite, "model": case.model, "marks": list(case.marks)}
    if case.finished is not None:
        facts = case.finished.run.facts
        content |= {"run": facts.run_id, "bundle": str(case.finished.path), "hardware_profile": facts.hardware.name}
    if case.error is not None:
        return content | {"error": str(case.error), "exit_code": case.exit_code}
    return content | {"gates": [_verdict(verdict) for verdict in case.verdicts]}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    content: dict[str, Any] = {"gate": str(verdict.gate), "met": verdict.met}
    if verdict.value is not None:
        content |= {"value": verdict.value, "unit": verdict.unit}
    if verdict.difference is not None:
        content |= {"metric": verdict.difference.metric, "interval": list(verdict.difference.interval)}
    return content | ({"why": verdict.why} if verdict.why else {})
