"""Suites: what is run, and what the right answers are."""

from orinbench_client.suites.base import (
    Attachment,
    Sample,
    Suite,
    find_suite,
    input_files,
    inputs_manifest,
    open_suite,
    references,
    verify_suite,
)

__all__ = [
    "Attachment",
    "Sample",
    "Suite",
    "find_suite",
    "input_files",
    "inputs_manifest",
    "open_suite",
    "references",
    "verify_suite",
]
