"""The folder of boards: everything is made in memory, then written or compared with what is there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orinbench_profiles.digest import canonical_json, digest_bytes

from orinbench_client.boards.build import build_board
from orinbench_client.boards.document import Document
from orinbench_client.boards.graded import build_graded
from orinbench_client.boards.render import index_markdown, summary_markdown, to_csv, to_json, to_markdown
from orinbench_client.boards.selection import Group, group_runs
from orinbench_client.boards.summary import summarise, summary_table
from orinbench_client.boards.svg import board_charts
from orinbench_client.bundles.files import read_json, stays_inside, write_file
from orinbench_client.bundles.model import ScoredRun
from orinbench_client.errors import BadInput

INDEX = "index.json"
SCHEMA = "orinbench-leaderboards-1"


def make_files(runs: Sequence[ScoredRun], charts: bool = True) -> dict[str, bytes]:
    """Return every file of the boards of `runs`, content by path relative to the output folder.

    One board lies in the folder itself; of several each has a folder of its own, and summary.* has a row a model with
    what each of them says. index.json lists boards and files.
    """
    groups = group_runs(runs)
    several = len(groups) > 1
    files: dict[str, bytes] = {}
    boards, documents = [], []
    for group in groups:
        folder = folder_name(group) if several else "."
        document = build_graded(group) if group.graded else build_board(group)
        prefix = f"{folder}/" if several else ""
        files |= {prefix + name: content.encode() for name, content in _render(document, charts).items()}
        boards.append(_entry(folder, group, document))
        documents.append(document)
    if several:
        summary = summarise(documents)
        files["leaderboards.md"] = index_markdown(boards).encode()
        files["summary.json"] = to_json(summary).encode()
        files["summary.md"] = summary_markdown(summary_table(summary)).encode()
    index = {"schema": SCHEMA, "boards": boards, "files": {name: digest_bytes(data) for name, data in files.items()}}
    files[INDEX] = to_json(index).encode()
    return files


def _render(document: Document, charts: bool) -> dict[str, str]:
    files = {
        "leaderboard.json": to_json(document),
        "leaderboard.csv": to_csv(document),
        "leaderboard.md": to_markdown(document),
    }
    return {**files, **(board_charts(document) if charts else {})}


def _entry(folder: str, group: Group, document: Document) -> dict[str, Any]:
    return {
        "folder": folder,
        "suite": document["suite"]["id"],
        "hardware": document["hardware"]["id"],
        "execution_contract": document["execution_contract"]["id"],
        "ranked": len(group.runs),
        "unranked": len(document["unranked"]),
    }


def folder_name(group: Group) -> str:
    """Return a folder name that says suite, hardware and contract, and tells any two groups apart."""
    key = [group.suite.digest, group.hardware.digest, group.contract.digest, group.scored_by]
    key += ["development"] if group.development else []
    words = f"{group.suite.name} {group.hardware.name} {group.contract.name}"
    slug = re.sub("[^a-z0-9]+", "-", words.lower()).strip("-")[:100].rstrip("-")
    return f"{slug}-{digest_bytes(canonical_json(key))[7:15]}"


def write_files(out: Path, files: dict[str, bytes], schema: str = SCHEMA) -> None:
    """Write the files, and remove those an earlier call wrote that are no longer among them.

    They are listed by the index among `files`, which is of `schema`. Raises BadInput, having written nothing, for an
    index of another kind, and for a name that leads out of `out`: names are made of what bundles say.
    """
    for name in files:
        if not stays_inside(name):
            raise BadInput(f"{out / name}: lies outside {out}: nothing was written; remove the run that names it so")
    stale = [name for name in _listed(out, schema) if name not in files]
    for name, content in files.items():
        write_file(out / name, content)
    for name in stale:
        (out / name).unlink(missing_ok=True)
        folder = (out / name).parent
        # A person may have removed the folder of a board by hand.
        if folder != out and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def differing(out: Path, files: dict[str, bytes]) -> list[str]:
    """Return the files in `out` that are missing, not the same, or no longer part of the boards."""
    changed = [name for name, content in files.items() if not _same(out / name, content)]
    return sorted({*changed, *(name for name in _listed(out, SCHEMA) if name not in files and (out / name).exists())})


def _same(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def _listed(out: Path, schema: str) -> list[str]:
    """Return the files that the index in `out` names; none where there is no index of ours."""
    if not (out / INDEX).is_file():
        return []
    index = read_json(out / INDEX)
    if not isinstance(index, dict) or index.get("schema") != schema or not isinstance(index.get("files"), dict):
        raise BadInput(f"{out / INDEX}: not an index of {schema}: give another output folder")
    return list(filter(stays_inside, index["files"]))
