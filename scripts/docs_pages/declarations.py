"""The page on declarations, made from the models that read them."""

from __future__ import annotations

from orinbench_profiles import schema
from pydantic import BaseModel

from docs_pages.models import summary, table

_SECTIONS: dict[str, type[BaseModel]] = {
    "A model": schema.ModelDeclaration,
    "`[[files]]` of a model": schema.ModelFile,
    "A suite": schema.SuiteDeclaration,
    '`[source]`: `kind = "packaged"`': schema.PackagedSource,
    '`[source]`: `kind = "folder"`': schema.FolderSource,
    '`[source]`: `kind = "huggingface"`': schema.HubSource,
    '`[source]`: `kind = "github"`': schema.GithubSource,
    '`[source]`: `kind = "own-copy"`': schema.OwnCopySource,
    "A hardware profile": schema.HardwareProfile,
}


def page() -> str:
    """Return the page."""
    parts = [
        "# Declarations",
        "<!-- Made by scripts/docs from profiles/orinbench_profiles/schema.py: change it there. -->",
        "A model, a suite or a hardware profile is a TOML file. A key that nobody knows is an error. Examples to start "
        "from: [models and suites](../models.md), and the files in `profiles/orinbench_profiles`.",
    ]
    for title, model in _SECTIONS.items():
        parts += [f"## {title}\n\n{summary(model)}", table(model)]
    return "\n\n".join(parts) + "\n"
