"""Suites: what is run, and what the right answers are."""

from orinbench_client.suites.base import (
    Sample,
    Suite,
    find_suite,
    inputs_manifest,
    open_suite,
    open_variant,
    references,
    verify_suite,
)

__all__ = [
    "Sample",
    "Suite",
    "find_suite",
    "inputs_manifest",
    "open_suite",
    "open_variant",
    "references",
    "verify_suite",
]
