"""What the security page promises is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from orinbenchd.config import Limits
from orinbenchd.doors.roles import ORDER, ROLES

PAGE = (Path(__file__).parents[3] / "docs" / "security.md").read_text()


def test_the_table_of_roles_is_that_of_the_code() -> None:
    """Every method stands on the page with the role the daemon demands, and no other does."""
    rows = re.findall(r"^\| (\w+Service/\w+) \| (\w+) \|$", PAGE, re.MULTILINE)

    assert {f"/orinbench.v1.{method}": role for method, role in rows} == ROLES
    assert len(rows) == len(ROLES)
    assert sorted(rows, key=lambda row: ORDER.index(row[1])) == rows


def test_the_limits_are_those_of_the_configuration() -> None:
    """Every limit that can be set and is named on the page is there with its default."""
    for row in re.findall(r"^\| (.*) \| (.*) \| (`limits.*) \|$", PAGE, re.MULTILINE):
        names = re.findall(r"limits\.(\w+)", row[2])
        for name, shown in zip(names, row[1].split(";"), strict=False):
            assert f"{getattr(Limits(), name):g}" in shown, name
    assert (
        {"connections", "streams", "queue_length"}
        <= set(re.findall(r"limits\.(\w+)", PAGE))
        <= set(Limits.model_fields)
    )
