"""`orinbench report`: one page with everything a results folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orinbench_client.cli.common import JsonOption, TrustOption, print_json
from orinbench_client.cli.leaderboard import ResultsOption, SuiteOption

#: What the extra `report` brings.
_NEEDED = ("altair", "jinja2", "vl_convert")
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the page and its charts are written.")]


def report(
    results: ResultsOption,
    out: OutOption,
    suite: SuiteOption = None,
    trust: TrustOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make one page of boards, charts, runs and samples.

    The page is DIR/report.html and needs no network; every chart lies beside it in DIR/charts as SVG and PNG.

    \b
    Examples:
      orinbench report --results results --out report
      orinbench report --results results --suite fa-demo-v1 --out report
    """
    page = write_report(results, out, suite, trust)
    if as_json:
        print_json({"out": str(out), "page": str(page)})
    else:
        typer.echo(page)


def write_report(results: Path, out: Path, suite: str | None = None, trust: Path | None = None) -> Path:
    """Write the report of a results folder and return its page. Raises BadInput."""
    from orinbench_client.errors import BadInput

    if not can_report():
        raise BadInput("a report is drawn with libraries that are not installed: pip install 'orinbench[report]'")
    from orinbench_client.boards.output import write_files
    from orinbench_client.bundles.trust import TrustList, trust_file
    from orinbench_client.report.build import PAGE, SCHEMA, make_report

    write_files(out, make_report(results, suite, TrustList(trust or trust_file())), SCHEMA)
    return out / PAGE


def can_report() -> bool:
    """Tell whether the extra `report` is installed."""
    from importlib.util import find_spec

    return all(find_spec(name) for name in _NEEDED)
