"""The dashboard that comes with the documentation can be imported, and nothing in it lies over another."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

PAGE = json.loads((Path(__file__).parents[3] / "docs" / "grafana" / "orinbench.json").read_text())
PANELS: list[dict[str, Any]] = PAGE["panels"]
CHARTS = [panel for panel in PANELS if panel["type"] != "row"]
#: Of Grafana's units, those of what we measure.
UNITS = {"watt", "celsius", "hertz", "bytes", "percentunit", "short", "none", "s"}


def test_it_belongs_to_no_installation() -> None:
    """It names no data source of its own: a variable does, and every panel and query asks that one for its board."""
    variables = {variable["name"]: variable for variable in PAGE["templating"]["list"]}

    assert PAGE["schemaVersion"] >= 36
    assert "id" not in PAGE
    assert (variables["datasource"]["type"], variables["datasource"]["query"]) == ("datasource", "prometheus")
    source = {"type": "prometheus", "uid": "${datasource}"}
    for holder in (variables["instance"], *CHARTS, *(target for panel in CHARTS for target in panel["targets"])):
        assert holder["datasource"] == source
    for panel in CHARTS:
        for target in panel["targets"]:
            asked = re.findall(r"(?:orinbench|process)_[a-z0-9_]+(\{[^}]*\})?", target["expr"])
            assert asked
            assert set(asked) == {'{instance=~"$instance"}'}


def test_every_panel_says_what_it_shows() -> None:
    """Ids are unique; each chart has a title, a description, a unit that Grafana knows, and a legend for each query."""
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert [panel["title"] for panel in PANELS if panel["type"] == "row"] == ["Board", "Run", "Queue", "Daemon"]
    for panel in CHARTS:
        assert panel["type"] in ("timeseries", "stat")
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        assert all(target["legendFormat"] for target in panel["targets"])
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_no_panel_lies_over_another() -> None:
    """All of them are within Grafana's 24 columns, and no two share a place."""
    places = []
    for panel in PANELS:
        x, y, w, h = (panel["gridPos"][key] for key in "xywh")
        assert 0 <= x < x + w <= 24
        places.append({(column, line) for column in range(x, x + w) for line in range(y, y + h)})
    assert not any(one & other for one, other in combinations(places, 2))
