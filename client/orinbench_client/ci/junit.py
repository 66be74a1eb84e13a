"""A job as JUnit XML, the form in which CI systems take test results: one test case a gate."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from orinbench_client.bundles.files import write_file
from orinbench_client.ci.gates import Gate
from orinbench_client.ci.job import Case, Job, found

# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: Path, job: Job) -> None:
    """Write a job as JUnit XML. Raises BadInput when the file cannot be written."""
    write_file(path, junit(job))


def junit(job: Job) -> bytes:
    """Return a job as JUnit XML: a test suite for each run, an ``error`` where there was no run to judge."""
    root = Element("testsuites", name="orinbench")
    seen: Counter[str] = Counter()
    for case in job.cases:
        name = f"{case.suite}.{case.model}"
        seen[name] += 1
        # What has the name of another would be shown in its place.
        _add_suite(root, case, name if seen[name] == 1 else f"{name} ({seen[name]})")
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    text: str = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _add_suite(root: Element, case: Case, name: str) -> None:
    failures = sum(not verdict.met for verdict in case.verdicts)
    errors = len(case.gates) if case.error is not None else 0
    counts = {"tests": str(len(case.gates)), "failures": str(failures), "errors": str(errors), "skipped": "0"}
    suite = SubElement(root, "testsuite", {"name": _text(name), **counts})
    _add_properties(suite, case)
    if case.error is not None:
        for gate in case.gates:
            _add_bad(_add_test(suite, name, gate), "error", type(case.error).__name__, str(case.error))
        return
    for verdict in case.verdicts:
        test = _add_test(suite, name, verdict.gate)
        if verdict.met:
            SubElement(test, "system-out").text = _text(found(verdict))
        else:
            _add_bad(test, "failure", "GateNotMet", found(verdict))


def _add_properties(suite: Element, case: Case) -> None:
    known = {"suite": case.suite, "model": case.model}
    if case.finished is not None:
        facts = case.finished.run.facts
        known |= {"run": facts.run_id, "hardware_profile": facts.hardware.name, "bundle": str(case.finished.path)}
    properties = SubElement(suite, "properties")
    for name, value in [*known.items(), *(("mark", mark) for mark in case.marks)]:
        SubElement(properties, "property", name=name, value=_text(value))


def _add_test(suite: Element, class_name: str, gate: Gate) -> Element:
    return SubElement(suite, "testcase", classname=_text(class_name), name=_text(str(gate)))


def _add_bad(test: Element, kind: str, type_: str, message: str) -> None:
    SubElement(test, kind, type=type_, message=_text(message)).text = _text(message)


def _text(value: str) -> str:
    return _FORBIDDEN.sub("\ufffd", value)
