"""Reads JUnit XML only if it is as CI systems document it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lxml import etree

_SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).with_name("junit.xsd")))


def read_junit(data: bytes) -> dict[str, str | None]:
    """Return the test cases by name: None for one that passed, else ``failure: …`` or ``error: …``; the sums hold."""
    root: Any = etree.fromstring(data)
    _SCHEMA.assertValid(root)
    for element in (root, *root.iter("testsuite")):
        for attribute, path in (("tests", ".//testcase"), ("failures", ".//failure"), ("errors", ".//error")):
            assert int(element.get(attribute)) == len(element.findall(path))
    cases = {}
    for case in root.iter("testcase"):
        bad = [*case.findall("failure"), *case.findall("error")]
        cases[case.get("name")] = f"{bad[0].tag}: {bad[0].get('message')}" if bad else None
    return cases
