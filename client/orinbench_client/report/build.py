"""The files of a report: the page, and its charts as files beside it."""

from __future__ import annotations

from pathlib import Path

from orinbench_profiles.digest import digest_bytes

from orinbench_client.boards.output import INDEX
from orinbench_client.boards.render import to_json
from orinbench_client.bundles.trust import TrustList
from orinbench_client.report.charts import board_charts
from orinbench_client.report.drawing import Drawing
from orinbench_client.report.gather import gather
from orinbench_client.report.page import render
from orinbench_client.report.timelines import draw_timeline

PAGE = "report.html"
SCHEMA = "orinbench-report-1"


def make_report(results: Path, suite: str | None, trusted: TrustList) -> dict[str, bytes]:
    """Return the files of a report, content by path relative to its folder. Raises BadInput."""
    report = gather(results, suite, trusted)
    several = len(report.boards) > 1
    boards = {
        board.anchor: board_charts(board.document, f"{board.anchor}-" if several else "") for board in report.boards
    }
    timelines = {
        run.anchor: draw_timeline(f"{run.anchor}-telemetry", run.run_id, run.timeline)
        for run in report.runs
        if run.timeline
    }
    files = {PAGE: render(report, boards, timelines).encode()}
    for drawing in [*(chart for charts in boards.values() for chart in charts), *timelines.values()]:
        files |= _files_of(drawing)
    index = {"schema": SCHEMA, "files": {name: digest_bytes(content) for name, content in files.items()}}
    return {**files, INDEX: to_json(index).encode()}


def _files_of(drawing: Drawing) -> dict[str, bytes]:
    return {f"charts/{drawing.name}.svg": drawing.svg.encode(), f"charts/{drawing.name}.png": drawing.png}
