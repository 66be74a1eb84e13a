"""Tables of the pages that say what there is name all of it."""

from __future__ import annotations

import re
from importlib.metadata import entry_points

import pytest
from docs_pages.records import descriptors
from orinbench_profiles import list_declarations

from tests.integration.docs.pages import ROOT, pages

#: Their libraries are not in every environment: of these the names alone are compared.
_HEAVY = {"torch", "tensorrt"}


def rows(path: str, name: str) -> list[str]:
    """Return the rows of a page's tables whose first cell has a name."""
    lines = (ROOT / path).read_text().splitlines()
    return [line for line in lines if line.startswith("|") and f"`{name}`" in line.split("|")[1]]


@pytest.mark.parametrize("kind", ["engines", "adapters"])
def test_every_engine_and_adapter_is_there_with_its_options(kind: str) -> None:
    """Each that we offer has a row, with every option it takes."""
    ours = [point for point in entry_points(group=f"orinbench.{kind}") if point.value.startswith("orinbench_engines.")]
    assert len(ours) >= 5
    for point in ours:
        found = rows("docs/engines.md", point.name)
        assert found, point.name
        if kind == "engines" and point.name in _HEAVY:
            continue
        for option in point.load().options_schema.model_fields:
            assert any(f"`{option}`" in row for row in found), (point.name, option)


def test_the_profiles_of_boards_are_those_there_are() -> None:
    """The table of modules names every profile of a Jetson, and no other."""
    page = (ROOT / "docs/jetson.md").read_text()
    profiles = {name for name in list_declarations("hardware") if "orin" in name}

    assert {name for name in profiles if f"`{name}`" in page} == profiles
    installer = (ROOT / "scripts/install-jetson").read_text()
    assert {name for name in profiles if f"echo {name} ;;" in installer} == profiles


def test_fields_of_the_api_that_pages_name_are_there() -> None:
    """Each `Message.field` on a page is a field of that message."""
    pool = {message.name: message for file in descriptors(ROOT / "proto").file for message in file.message_type}
    named = {
        (message, field)
        for page in pages()
        for message, field in re.findall(r"`([A-Z]\w+)\.([a-z_]+)\b", page.read_text())
        if message in pool
    }

    assert len(named) >= 10
    for message, field in named:
        assert field in {known.name for known in pool[message].field}, f"{message}.{field}"
