"""The pages of the documentation that are made from the code, and the site of all of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from docs_pages import commands, configuration, decisions, declarations, records

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"


def generated() -> dict[Path, str]:
    """Return what the generated pages should hold, by their paths."""
    return {
        DOCS / "adr" / "index.md": decisions.page(DOCS / "adr"),
        REFERENCE / "commands.md": commands.page(),
        REFERENCE / "configuration.md": configuration.page(),
        REFERENCE / "declarations.md": declarations.page(),
        REFERENCE / "records.md": records.page(ROOT / "proto"),
    }


def main(arguments: Sequence[str]) -> int:
    """Write the pages and build the site; with --check only tell which pages are stale. Return the exit code."""
    if list(arguments) not in ([], ["--check"]):
        print("usage: scripts/docs [--check]", file=sys.stderr)
        return 2
    stale = {path: text for path, text in generated().items() if not path.is_file() or path.read_text() != text}
    if arguments:
        for path in stale:
            print(f"stale: {path.relative_to(ROOT)}: run scripts/docs and commit what it writes", file=sys.stderr)
        return 1 if stale else 0
    for path, text in stale.items():
        path.write_text(text)
        print(f"written: {path.relative_to(ROOT)}")
    return build(ROOT / "build" / "site")


def build(folder: Path) -> int:
    """Build the site into a folder; a link that leads nowhere fails it. Return mkdocs's exit code."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode
