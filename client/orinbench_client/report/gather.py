"""Gathers a report from the bundles of a results folder. Figures are those of boards and scores, never made anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from orinbench_client.boards.build import build_board
from orinbench_client.boards.document import Document
from orinbench_client.boards.figures import Figures, Measured
from orinbench_client.boards.graded import build_graded
from orinbench_client.boards.graded_tables import graded_tables
from orinbench_client.boards.output import folder_name
from orinbench_client.boards.selection import Group, Unranked, group_runs
from orinbench_client.boards.tables import SIGNATURES, UNRANKED, Row, Table, board_tables
from orinbench_client.bundles.model import RunFacts, ScoredRun
from orinbench_client.bundles.results import find_bundles, load_run, open_bundle
from orinbench_client.bundles.trust import TrustList
from orinbench_client.report.facts import BoardView, Report, RunView
from orinbench_client.report.runs import view_run
from orinbench_client.report.samples import References

_Key = tuple[str, str]


def gather(results: Path, suite: str | None, trusted: TrustList) -> Report:
    """Return the report of all bundles in a results folder, or of one suite's. Raises BadInput."""
    paths = find_bundles(results, suite)
    runs = [trusted.judge(load_run(path), demanded=False) for path in paths]
    groups = group_runs(runs)
    against: dict[_Key, list[Unranked]] = {}
    for group in groups:
        for entry in group.unranked:
            against.setdefault(_key(entry.run), []).append(entry)
    answers = References()
    figures = {_key(run.facts): made for group in groups for run, made in _figures(group)}
    views = {
        _key(run.facts): view_run(
            run, open_bundle(path), figures.get(_key(run.facts)), against.get(_key(run.facts), []), answers
        )
        for run, path in zip(runs, paths, strict=True)
    }
    return Report([_view_board(group, views) for group in groups], list(views.values()))


def _figures(group: Group) -> Iterator[tuple[ScoredRun, Measured]]:
    """Yield the ranked runs, each with what makes their figures: one draw of samples serves them all."""
    made = Measured(group.runs, []) if group.graded else Figures(group.runs)
    yield from ((run, made) for run in group.runs)


def _key(facts: RunFacts) -> _Key:
    return facts.suite.name, facts.run_id


def _view_board(group: Group, views: Mapping[_Key, RunView]) -> BoardView:
    document = build_graded(group) if group.graded else build_board(group)
    apart = {SIGNATURES[-1].heading, UNRANKED[-1].heading}
    tables = [
        table
        for table in (graded_tables(document) if group.graded else board_tables(document))
        # Signatures stand beside every model, and who is not ranked in a list of their own.
        if not apart & set(table.columns)
    ]
    runs = _runs_by_name(document, group.graded)
    return BoardView(
        anchor=f"board-{folder_name(group)}",
        document=document,
        tables=tables,
        lines=[list(_runs_behind(table, document["suite"]["id"], runs, views)) for table in tables],
        unranked=[(views[_key(entry.run)], entry.axes, entry.cause) for entry in group.unranked],
    )


def _runs_by_name(document: Document, graded: bool) -> dict[tuple[str, str | None], str]:
    """Return the run behind a model's name in a board; in one of graded runs also by its variant."""
    if not graded:
        return {(run["model_id"], None): run["run_id"] for run in document["runs"]}
    return {
        (run["model"], variant["suite_digest"]): run["run_id"]
        for variant in document["variants"]
        for run in variant["runs"]
    }


def _runs_behind(
    table: Table, suite: str, runs: Mapping[tuple[str, str | None], str], views: Mapping[_Key, RunView]
) -> Iterator[RunView | None]:
    for row in table.rows:
        run_id = row.get("run_id") or runs.get((_model(row), row.get("suite_digest")))
        yield views.get((suite, run_id)) if run_id else None


def _model(row: Row) -> str:
    return str(row.get("model_id") or row.get("model"))
