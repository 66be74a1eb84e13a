"""The list of decisions, made from their headings."""

from __future__ import annotations

from pathlib import Path


def page(folder: Path) -> str:
    """Return the list of the decisions in a folder, by number."""
    links = [f"- [{_heading(path)}]({path.name})" for path in sorted(folder.glob("[0-9]*.md"))]
    head = "# Decisions\n\n<!-- Made by scripts/docs from the headings. -->\n\n"
    return head + "What somebody could question later, with its alternatives.\n\n" + "\n".join(links) + "\n"


def _heading(path: Path) -> str:
    return path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
