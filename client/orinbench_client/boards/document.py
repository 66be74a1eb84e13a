"""What the documents of all boards have in common: whose they are, who is in them, and who is not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from orinbench_client.boards.selection import Group
from orinbench_client.bundles.model import Labelled, RunFacts
from orinbench_client.statistics import CONFIDENCE, REPLICATES, SEED

DEVELOPMENT_HEADING = "development profile, not comparable"
Document = dict[str, Any]


def head(group: Group) -> Document:
    """Return what stands above every board."""
    signatures = [
        {"model_id": run.facts.model.name, "run_id": run.facts.run_id, **standing(run.facts)}
        for run in group.runs
        if run.facts.standing is not None
    ]
    return {
        "heading": DEVELOPMENT_HEADING if group.development else None,
        "suite": labelled(group.suite),
        "hardware": labelled(group.hardware),
        "execution_contract": labelled(group.contract),
        "uncertainty": {
            "method": "utterance-level percentile bootstrap",
            "confidence_level": CONFIDENCE,
            "replicates": REPLICATES,
            "seed": SEED,
        },
        **({"signatures": signatures} if signatures else {}),
        "unranked": [
            {
                "model_id": entry.run.model.name,
                "run_id": entry.run.run_id,
                "axes": list(entry.axes),
                "cause": entry.cause,
                **standing(entry.run),
            }
            for entry in group.unranked
        ],
    }


def standing(facts: RunFacts) -> Document:
    """Return whose signature a run bears and what it is worth; nothing where boards do not sign."""
    if facts.standing is None:
        return {}
    return {"signature": facts.standing, "signed_by": facts.signer or facts.key_id or None}


def labelled(label: Labelled) -> dict[str, str]:
    """Return a label as it stands in a document."""
    return {"id": label.name, "digest": label.digest}


class ModelNames:
    """How models are called in a board: by id, with part of the digest where it holds several versions of one."""

    def __init__(self, group: Group) -> None:
        models = {run.facts.model for run in group.runs}
        self._versions = Counter(model.name for model in models)

    def of(self, facts: RunFacts) -> str:
        """Return the name of a run's model."""
        model = facts.model
        return model.name if self._versions[model.name] == 1 else f"{model.name}@{model.digest[7:15]}"
