"""The rules for names find what they are there to find."""

from __future__ import annotations

import pytest

from tests.integration.metrics.naming import faults_of_text


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("# HELP orinbench_a_ms Time.\n# TYPE orinbench_a_ms gauge\norinbench_a_ms 1\n", "not a base unit"),
        ("# HELP orinbench_A_seconds Time.\n# TYPE orinbench_A_seconds gauge\norinbench_A_seconds 1\n", "lower case"),
        ("# TYPE orinbench_a_seconds gauge\norinbench_a_seconds 1\n", "no help"),
        ("# HELP orinbench_a_seconds Time.\norinbench_a_seconds 1\n", "no type"),
        ("# HELP orinbench_a Time.\n# TYPE orinbench_a gauge\norinbench_a 1\n", "no unit"),
        ("# HELP orinbench_a_total Time.\n# TYPE orinbench_a_total gauge\norinbench_a_total 1\n", "a suffix that only"),
        ("# HELP orinbench_a Time.\n# TYPE orinbench_a counter\norinbench_a 1\n", "a counter without _total"),
        (
            '# HELP orinbench_a_bytes Size.\n# TYPE orinbench_a_bytes gauge\norinbench_a_bytes{le="1"} 1\n',
            "le stands where no bucket is",
        ),
        (
            '# HELP orinbench_a_bytes Size.\n# TYPE orinbench_a_bytes gauge\norinbench_a_bytes{run="x"} 1\n',
            "a label of which there is no end",
        ),
        (
            "# HELP orinbench_a_bytes A.\n# TYPE orinbench_a_bytes gauge\norinbench_a_bytes 1\norinbench_a_bytes 2\n",
            "a series is there twice",
        ),
    ],
)
def test_a_fault_is_found(text: str, fault: str) -> None:
    """Each rule refuses what breaks it."""
    assert any(fault in found for found in faults_of_text(text))
