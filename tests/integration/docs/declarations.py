"""Holds TOML, YAML, JSON and Python of the pages against what reads them in life."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import yaml
from orinbench_client.ci.gates import load_gates
from orinbench_profiles.schema import ModelDeclaration, SuiteDeclaration
from orinbenchd.config import load_config

from tests.integration.docs.pages import Block

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def check(block: Block, folder: Path) -> None:
    """Raise what the block's own reader raises if it cannot be read; `folder` is one to write in."""
    _READERS[block.kind](block.text)
    for kind, validate in VALIDATORS.items():
        if kind in block.marks:
            path = folder / f"{kind}.toml"
            path.write_text(block.text)
            validate(path)


def _jsonl(text: str) -> None:
    for line in text.splitlines():
        json.loads(line)


def _config(path: Path) -> None:
    load_config(path)


def _model(path: Path) -> None:
    # A digest that a page cannot show stands there as "sha256:…".
    text = path.read_text().replace("sha256:…", "sha256:" + "0" * 64)
    ModelDeclaration.model_validate(tomllib.loads(text))


def _suite(path: Path) -> None:
    SuiteDeclaration.model_validate(tomllib.loads(path.read_text()))


def _gates(path: Path) -> None:
    load_gates(path, [])


_READERS: dict[str, Callable[[str], object]] = {
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "json": json.loads,
    "jsonl": _jsonl,
    "python": lambda text: compile(text, "page", "exec"),
    "text": str,
}
VALIDATORS: dict[str, Callable[[Path], None]] = {
    "config": _config,
    "model": _model,
    "suite": _suite,
    "gates": _gates,
}
