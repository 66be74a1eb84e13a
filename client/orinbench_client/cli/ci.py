"""`orinbench ci`: a board's figures as gates of a continuous integration job."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from orinbench_client.cli.common import (
    GiveUpOption,
    HostOption,
    JsonOption,
    MaybeModelsOption,
    MaybeSuitesOption,
    PriorityOption,
    ProfileOption,
    TokenOption,
    finite,
    print_json,
)
from orinbench_client.cli.terminal import plain_lines
from orinbench_client.errors import BadInput, GateNotMet

if TYPE_CHECKING:
    from orinbench_client.ci.baseline import Finished
    from orinbench_client.ci.gates import Gates
    from orinbench_client.ci.job import Job
    from orinbench_client.cli.ci_runs import Terms

_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"

BundlesArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="BUNDLE", help="Finished bundles to judge instead of running.")
]
GateOption = Annotated[
    list[str] | None, typer.Option("--gate", metavar="GATE", help="Such as 'cer <= 0.065'; may be repeated.")
]
GatesOption = Annotated[Path | None, typer.Option("--gates", metavar="FILE", help="TOML file of gates.")]
BaselineOption = Annotated[
    list[Path] | None,
    typer.Option("--baseline", metavar="BUNDLE", help="What 'regression' compares with; one a suite, may be repeated."),
]
ResultsOption = Annotated[
    Path | None, typer.Option("--results", metavar="DIR", help="Where bundles are kept, or the bundles to judge.")
]
RequestOption = Annotated[
    str | None,
    typer.Option("--request-id", help="The same id again finds its runs; else made of the CI job's attempt."),
]
QueueOption = Annotated[
    float | None,
    typer.Option("--queue-timeout", metavar="SECONDS", min=1, callback=finite, help="Give up when not begun by then."),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", min=1, callback=finite, help="Cancel a run that takes longer."),
]
JunitOption = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")]
SummaryOption = Annotated[Path | None, typer.Option("--summary", metavar="FILE", help="Append a Markdown summary.")]


def ci(
    bundles: BundlesArgument = None,
    suite: MaybeSuitesOption = None,
    model: MaybeModelsOption = None,
    host: HostOption = None,
    token_file: TokenOption = None,
    profile: ProfileOption = "",
    gate: GateOption = None,
    gates: GatesOption = None,
    baseline: BaselineOption = None,
    results: ResultsOption = None,
    request_id: RequestOption = None,
    priority: PriorityOption = 0,
    queue_timeout: QueueOption = None,
    timeout: TimeoutOption = None,
    give_up_after: GiveUpOption = 600.0,
    junit: JunitOption = None,
    summary: SummaryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold a board's figures against the gates of a CI job.

    Suites are run with models, or finished bundles are taken. When the job is ended (SIGTERM; SIGINT too without a
    terminal) its run is cancelled.

    Exit codes: 0 all met, 1 a gate is not met, 2 bad input, 3 a run failed, 4 the board refused, 5 no board reached.

    \b
    Examples:
      orinbench ci -s fa-demo-v1 -m fa-demo-small --gate 'cer <= 0.065'
      orinbench ci -s fa-demo-v1 -m fa-demo-small --gates gates.toml --junit j.xml
      orinbench ci -s fa-demo-v1 -m fa-demo-small --baseline main/fa-demo-v1/RUN
      orinbench ci results/fa-demo-v1/RUN --gate 'p90_ms <= 200'
    """
    for file in (junit, summary):
        _require_folder(file)
    demands = _demands(gates, gate or [], baseline or [])
    if suite or model:
        if bundles or not (suite and model):
            raise typer.BadParameter("give both --suite and --model, or finished bundles, not some of each")
        from orinbench.v1.run_pb2 import RunOptions

        from orinbench_client.cli.ci_runs import Terms
        from orinbench_client.cli.following import DEFAULT_RESULTS, Place

        options = RunOptions(priority=priority, time_limit_s=timeout, queue_timeout_s=queue_timeout)
        terms = Terms(profile, options, Place(host, token_file, results or DEFAULT_RESULTS, give_up_after))
        job = _run(demands, (suite, model, request_id), terms)
    else:
        job = _judge(demands, bundles or ([results] if results else []))
    _tell(job, junit, summary, as_json)
    _end(job)


class _Demands(NamedTuple):
    gates: Gates
    baselines: list[Finished]


def _demands(file: Path | None, flags: list[str], paths: list[Path]) -> _Demands:
    from orinbench_client.ci.baseline import load_baselines
    from orinbench_client.ci.gates import load_gates

    return _Demands(load_gates(file, flags), load_baselines(paths))


def _run(
    demands: _Demands,
    what: tuple[list[str], list[str], str | None],
    terms: Terms,
) -> Job:
    from orinbench_client.ci.job import Job
    from orinbench_client.cli.ci_runs import run_all, wanted
    from orinbench_client.follow.session import require_writable

    suites, models, request_id = what
    pairs = wanted(suites, models, demands.gates, demands.baselines, request_id, os.environ)
    require_writable(terms.place.results)
    cases = asyncio.run(run_all(pairs, terms))
    return Job(cases, demands.gates.unused((case.suite, case.model) for case in cases))


def _judge(demands: _Demands, paths: list[Path]) -> Job:
    from orinbench_client.ci.baseline import load_finished
    from orinbench_client.ci.job import Job, gates_of, judged
    from orinbench_client.cli.score import bundle_paths

    if not paths:
        raise typer.BadParameter("nothing to judge: give --suite and --model, or finished bundles")
    runs = [load_finished(path) for path in bundle_paths(paths)]
    named = [(finished.run.facts.suite.name, finished.run.facts.model.name) for finished in runs]
    gates = [gates_of(*demands, *names) for names in named]
    cases = [judged(finished, own, demands.baselines) for finished, own in zip(runs, gates, strict=True)]
    return Job(cases, demands.gates.unused(named))


def _tell(job: Job, junit: Path | None, summary: Path | None, as_json: bool) -> None:
    from orinbench_client.ci.job import describe, to_json
    from orinbench_client.ci.junit import write_junit
    from orinbench_client.ci.summary import append_summary

    if as_json:
        print_json(to_json(job))
    else:
        print(plain_lines(describe(job)), flush=True)
    if junit is not None:
        write_junit(junit, job)
    step = os.environ.get(_STEP_SUMMARY)
    for file in dict.fromkeys(path for path in (summary, Path(step) if step else None) if path is not None):
        append_summary(file, job)


def _end(job: Job) -> None:
    """Raise what the job ends with, unless every gate is met."""
    worst = max(job.cases, key=lambda case: case.exit_code)
    if worst.error is not None:
        raise worst.error
    failed = [str(verdict.gate) for verdict in job.verdicts if not verdict.met]
    if failed:
        raise GateNotMet(f"{len(failed)} of {len(job.verdicts)} gates not met: {'; '.join(failed)}")


def _require_folder(file: Path | None) -> None:
    """Raise BadInput for a file that nothing can be written to, before a board works for it."""
    if file is not None and not (file.parent.is_dir() and os.access(file.parent, os.W_OK)):
        raise BadInput(f"{file}: its folder is not there, or may not be written by this user")
