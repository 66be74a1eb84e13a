"""What the page on CI says is so: its metrics are those of the code, its workflows can be read, its gates too."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from orinbench_client.ci.gates import load_gates
from orinbench_client.ci.metrics import METRICS
from orinbench_client.cli.ci import ci

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGE = (Path(__file__).parents[3] / "docs" / "ci.md").read_text()
OBSERVABILITY = (Path(__file__).parents[3] / "docs" / "observability.md").read_text()


def blocks(page: str, kind: str) -> list[str]:
    """Return the blocks of one language."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def options(command: str) -> set[str]:
    """Return the long options of a call of `orinbench ci`; a word that it does not know is an error of the page."""
    words = shlex.split(command)
    assert words[:2] == ["orinbench", "ci"]
    return {word for word in words if word.startswith("--")}


def known() -> set[str]:
    """Return the long options there are."""
    app = typer.Typer()
    app.command()(ci)
    return {name for option in typer.main.get_command(app).params for name in option.opts}


def test_the_table_of_metrics_is_that_of_the_code() -> None:
    """Every metric a gate may name is in the table with its unit, axis and meaning, and no other is."""
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (\w+) \| ([^|]+) \|$", PAGE, re.MULTILINE)

    assert {name: rest for name, *rest in rows} == {
        name: [metric.unit, metric.axis, metric.meaning] for name, metric in METRICS.items()
    }
    assert len(rows) == len(METRICS)


def test_the_workflows_can_be_read() -> None:
    """Both are YAML of the systems' form, and call `orinbench ci` with options that it has, its address and gates."""
    github, gitlab = (yaml.safe_load(block) for block in blocks(PAGE, "yaml"))

    steps: list[dict[str, Any]] = github["jobs"]["gates"]["steps"]
    assert "self-hosted" in github["jobs"]["gates"]["runs-on"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    (step,) = (step for step in steps if step.get("name") == "Gates")
    (line,) = (line for line in gitlab["gates"]["script"] if line.startswith("orinbench"))
    for command, variables in ((step["run"], step["env"]), (line, gitlab["gates"]["variables"])):
        assert {"--suite", "--model", "--gates", "--junit"} <= options(command) <= known()
        assert variables["ORINBENCH_HOST"].startswith("tls://")
    assert gitlab["gates"]["artifacts"]["reports"]["junit"] == "gates.xml"


def test_the_examples_are_gates(tmp_path: Path) -> None:
    """The file of gates on the page is one, and the calls on it have options that there are."""
    (content,) = blocks(PAGE, "toml")
    (tmp_path / "gates.toml").write_text(content)

    gates = load_gates(tmp_path / "gates.toml", [])

    assert gates.unused([("fa-demo-v1", "fa-demo-small")]) == []
    assert len(gates.of("fa-demo-v1", "fa-demo-small")) == 4
    for line in blocks(PAGE, "")[0].splitlines():
        assert options(line) <= known() | {"-s", "-m"}


@pytest.mark.parametrize("page", [PAGE, OBSERVABILITY])
def test_links_lead_somewhere(page: str) -> None:
    """Every page that is named is there."""
    docs = Path(__file__).parents[3] / "docs"
    for target in re.findall(r"\]\(([^)#:]+)", page):
        assert (docs / target).is_file()
    assert yaml.safe_load(blocks(OBSERVABILITY, "yaml")[0])["scrape_configs"]
    assert all("metrics" in tomllib.loads(block) for block in blocks(OBSERVABILITY, "toml"))
