"""What `push`, `prepare` and `validate` say of a suite or a model."""

from __future__ import annotations

from typing import Any

from orinbench_client.sdk import Model
from orinbench_client.suites import Suite, input_files


def suite_facts(suite: Suite) -> dict[str, Any]:
    """Return the JSON of a suite whose data are here and verified."""
    return {
        "kind": "suite",
        "id": suite.declaration.id,
        "digest": suite.digest,
        "samples": len(suite.samples),
        "bytes": sum(file.size_bytes for file in input_files(suite.samples)),
    }


def model_facts(model: Model) -> dict[str, Any]:
    """Return the JSON of a model. Without `files` when only a board that fetches them will know them."""
    facts: dict[str, Any] = {"kind": "model", "id": model.declaration.id, "digest": model.digest}
    if not model.declaration.unresolved:
        files = model.declaration.files
        facts["files"] = [{"path": file.path, "digest": file.digest, "bytes": file.bytes} for file in files]
        facts["bytes"] = sum(file.bytes for file in files)
    return facts
