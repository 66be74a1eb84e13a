"""Where the committed demo data lie, and its manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orinbench_profiles

DEMO = Path(orinbench_profiles.__file__).parent / "demo"
SUITE = DEMO / "fa-demo-v1"
MODELS = {name: DEMO / "models" / f"{name}.onnx" for name in ("fa-demo-small", "fa-demo-tiny")}


def manifest() -> list[dict[str, Any]]:
    """The manifest's entries, in order."""
    return [json.loads(line) for line in (SUITE / "manifest.jsonl").read_bytes().splitlines()]
