"""Suites: what is run, and what the right answers are."""

from orinbench_client.suites.base import (
    Attachment,
    OnPrepare,
    Prepared,
    Sample,
    Suite,
    find_suite,
    input_files,
    inputs_manifest,
    open_suite,
    open_variant,
    prepare_suite,
    references,
    verify_suite,
)

__all__ = [
    "Attachment",
    "OnPrepare",
    "Prepared",
    "Sample",
    "Suite",
    "find_suite",
    "input_files",
    "inputs_manifest",
    "open_suite",
    "open_variant",
    "prepare_suite",
    "references",
    "verify_suite",
]
