"""All suites on one page: a row for each model, and what every suite says of it. Nothing is averaged over suites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from orinbench_client.boards.document import Document
from orinbench_client.boards.tables import Table

SCHEMA = "orinbench-summary-1"
_PARTS = ("suite", "hardware", "execution_contract")


class _Entry(NamedTuple):
    """What one board says of one model: `says` are figures by name."""

    model: str
    suite: str
    says: dict[str, Any]


def summarise(documents: Sequence[Document]) -> Document:
    """Return the rows of all boards by model, hardware and execution, in the order of their names.

    What has the same id and another digest goes by its id with part of the digest.
    """
    names = {part: _names(document[part] for document in documents) for part in _PARTS}
    official = {document["hardware"]["digest"] for document in documents if not document["heading"]}
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    suites: list[str] = []
    for document in documents:
        suite, hardware, execution = (names[part][document[part]["digest"]] for part in _PARTS)
        if document["heading"] and document["hardware"]["digest"] in official:
            hardware += f", {document['heading']}"
        for entry in _entries(document, suite):
            suites += [] if entry.suite in suites else [entry.suite]
            rows.setdefault((entry.model, hardware, execution), {})[entry.suite] = entry.says
    models = [
        {"model": model, "hardware": hardware, "execution": execution, "suites": says}
        for (model, hardware, execution), says in sorted(rows.items())
    ]
    return {"schema": SCHEMA, "suites": suites, "models": models}


def _names(labels: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return what is told apart by digest, by it: the id, with part of the digest where several have the id."""
    ids = {label["digest"]: label["id"] for label in labels}
    versions = Counter(ids.values())
    return {digest: name if versions[name] == 1 else f"{name}@{digest[7:15]}" for digest, name in ids.items()}


def _entries(document: Document, label: str) -> Iterator[_Entry]:
    boards = document["boards"]
    accuracy = boards.get("accuracy", {}).get("rows", [])
    for row in accuracy:
        if "cer" in row:
            yield _Entry(row["model_id"], label, {"metric": "CER", "score": row["cer"], "ci": row["cer_ci"]})
    for variant in document.get("variants", []):
        words = f" ({', '.join(variant['chosen'].values())})" if variant["chosen"] else ""
        digest = variant["suite_digest"]
        scored = [row for row in accuracy if row.get("suite_digest") == digest and "score" in row]
        for row in scored:
            yield _Entry(row["model"], label + words, {name: row[name] for name in ("metric", "score", "ci")})
        if not scored:
            yield from _tasks(document, digest, label + words)


def _tasks(document: Document, suite_digest: str, label: str) -> Iterator[_Entry]:
    """Yield of each model how many tasks are above their floors, where a suite has no figure for all of them."""
    cells = [row for name in document["axes"] for row in document["boards"].get(name, [])]
    own = [row for row in cells if row["suite_digest"] == suite_digest]
    for model in dict.fromkeys(row["model"] for row in own):
        rows = [row for row in own if row["model"] == model]
        says = {
            "cells": len(rows),
            "above_floor": sum(row.get("above_floor", False) for row in rows),
            **{name: sum(row[name] for row in rows) for name in ("refused", "unparsable", "n")},
        }
        yield _Entry(model, label, says)


def summary_table(summary: Document) -> Table:
    """Return the summary as a table; a suite a model was not run on leaves its cell empty.

    The execution is shown where it is not the same of all rows.
    """
    models = summary["models"]
    shown = ["model", "hardware"] + (["execution"] if len({row["execution"] for row in models}) > 1 else [])
    cells = [
        [*(row[name] for name in shown), *(_words(row["suites"].get(suite)) for suite in summary["suites"])]
        for row in models
    ]
    return Table("All suites", [*map(str.capitalize, shown), *summary["suites"]], cells)


def _words(says: dict[str, Any] | None) -> str:
    if says is None:
        return ""
    if "score" in says:
        return f"{says['metric']} {says['score']:.4f} ({says['ci'][0]:.4f} to {says['ci'][1]:.4f})"
    unread = "".join(f", {says[state]} {state}" for state in ("refused", "unparsable") if says[state])
    return f"{says['above_floor']} of {says['cells']} tasks above their floor; {says['n']} replies{unread}"
