"""A job as a few lines of Markdown, as CI systems show beside it."""

from __future__ import annotations

import re
from pathlib import Path

from orinbench_client.ci.job import Case, Job, found
from orinbench_client.errors import BadInput

_HEADINGS = {0: "all gates met", 1: "gates not met", 3: "a run failed", 4: "the board refused", 5: "no board reached"}
_SIGNS = {True: "✅", False: "❌"}
# What would begin something of its own in a cell.
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#|!~])")


def append_summary(path: Path, job: Job) -> None:
    """Append a job to a file. Raises BadInput when it cannot be written."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(summary(job))
    except OSError as error:
        raise BadInput(f"{path}: the summary cannot be written: {error.strerror}") from None


def summary(job: Job) -> str:
    """Return a job as Markdown."""
    lines = [f"## orinbench: {_HEADINGS[job.exit_code]}", ""]
    for case in job.cases:
        lines += [*_head(case), "", *_table(case), ""]
    lines += [f"The gates of {_plain(name)} concern none of these runs.  " for name in job.unused]
    return "\n".join(lines) + "\n"


def _head(case: Case) -> list[str]:
    marks = "".join(f" — **{_plain(mark)}**" for mark in case.marks)
    lines = [f"### {_plain(case.model)} on {_plain(case.suite)}{marks}"]
    if case.finished is not None:
        facts = case.finished.run.facts
        lines += ["", f"Run {_plain(facts.run_id)}, hardware profile {_plain(facts.hardware.name)}."]
    if case.error is not None:
        lines += ["", f"Not judged: {_plain(str(case.error))}"]
    return lines


def _table(case: Case) -> list[str]:
    if case.error is not None:
        return [f"- {_plain(str(gate))}: not judged" for gate in case.gates]
    rows = [
        f"| {_SIGNS[verdict.met]} | {_plain(str(verdict.gate))} | {_plain(found(verdict))} |"
        for verdict in case.verdicts
    ]
    return ["| | gate | found |", "|---|---|---|", *rows]


def _plain(text: str) -> str:
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
