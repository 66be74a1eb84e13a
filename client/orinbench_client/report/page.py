"""The page: templates, style sheet and script put together with the facts. It asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orinbench_client.boards.tables import Table
from orinbench_client.report.drawing import Drawing
from orinbench_client.report.facts import Report, RunView, Samples

_NUMBER = re.compile(r"-?[\d.]+(e[-+]?\d+)?( to -?[\d.]+(e[-+]?\d+)?)?\Z")


def render(report: Report, board_charts: Mapping[str, Sequence[Drawing]], timelines: Mapping[str, Drawing]) -> str:
    """Return the page. Charts are by the anchor of their board or run."""
    templates = files("orinbench_client.report") / "templates"
    script = (templates / "page.js").read_text(encoding="utf-8")
    environment = Environment(
        loader=PackageLoader("orinbench_client.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(numeric=_numeric, packed=_packed, found_by=_found_by)
    return environment.get_template("page.html").render(
        report=report,
        board_charts=board_charts,
        timelines=timelines,
        # Files of ours, not of a user.
        style=Markup((templates / "page.css").read_text(encoding="utf-8")),  # noqa: S704
        script=Markup(script),  # noqa: S704
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        inline=lambda drawing: Markup(drawing.inline),  # noqa: S704
    )


def _numeric(table: Table) -> list[bool]:
    """Return which columns hold numbers or intervals alone."""
    columns = zip(*table.cells, strict=True)
    return [all(_NUMBER.match(cell) for cell in column if cell) for column in columns]


def _packed(samples: Samples) -> str:
    """Return the samples for the script to unpack when they are looked at: a quarter of the size, and no markup."""
    content = json.dumps(samples.rows, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(content.encode(), 9)).decode()


def _found_by(run: RunView | None) -> str:
    """Return the words by which the filter finds a line, beside what stands in it."""
    return "" if run is None else " ".join([run.run_id, run.origin, *(mark.word for mark in run.marks)])
