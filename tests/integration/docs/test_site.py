"""The site of all pages can be built, hangs together and needs nothing from elsewhere; its references are fresh."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_pages import generated
from docs_pages.models import Undocumented, table
from orinbenchd import config
from pydantic import BaseModel

from tests.integration.docs.pages import ROOT, pages

_LINK = re.compile(r"\]\(([^)#:]+)[^)]*\)")


def build(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a copy of the project into a folder, without a network to fall back on."""
    no_proxy = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    return subprocess.run(command, cwd=source, env=no_proxy, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The pages and what the site is made by, in a folder to change them in."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    return tmp_path


def test_the_site_needs_nothing_from_elsewhere(copy: Path) -> None:
    """It is built strictly, every page is in the navigation, and no page loads anything over a network."""
    done = build(copy, copy / "site")
    assert done.returncode == 0, done.stderr

    built = list((copy / "site").rglob("*.html"))
    assert len(built) > len(list((copy / "docs").rglob("*.md")))  # and a page of the theme's own
    for page in built:
        loaded = [*tags(page.read_text(), "script", "src"), *tags(page.read_text(), "link", "href")]
        loaded += tags(page.read_text(), "img", "src")
        assert loaded
        assert not [url for url in loaded if "//" in url]
    for style in (copy / "site").rglob("*.css"):
        assert not re.search(r"(@import|url\(['\"]?(https?:)?//)", style.read_text())


def tags(page: str, tag: str, attribute: str) -> Iterator[str]:
    """Yield an attribute of every tag of a kind."""
    yield from re.findall(rf"<{tag}\b[^>]*?\b{attribute}=\"([^\"]+)\"", page)


@pytest.mark.parametrize("link", ["nothing.md", "security.md#nothing", "#nothing"])
def test_a_dead_link_fails_the_site(copy: Path, link: str) -> None:
    """A page that is not there, an anchor that is not on another page, one that is not on the same page."""
    with (copy / "docs/cli.md").open("a") as page:
        page.write(f"\n[dead]({link})\n")

    done = build(copy, copy / "site")
    assert (done.returncode, done.stderr.count("WARNING")) == (1, 1), done.stderr
    assert "cli.md' contains a link" in done.stderr


def test_a_page_outside_the_navigation_fails_the_site(copy: Path) -> None:
    """Nobody can add a page that no reader finds."""
    (copy / "docs/hidden.md").write_text("# Hidden\n")

    done = build(copy, copy / "site")
    assert (done.returncode, done.stderr.count("WARNING")) == (1, 1), done.stderr
    assert "hidden.md" in done.stderr


def test_links_from_outside_the_site_lead_somewhere() -> None:
    """What README and CONTRIBUTING link to is there."""
    for page in pages()[:2]:
        for target in _LINK.findall(page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_references_are_fresh() -> None:
    """The pages made from the code are those that scripts/docs makes of it now."""
    for path, text in generated().items():
        assert path.read_text() == text, f"{path} is stale: run scripts/docs"


def test_every_key_and_message_is_in_the_references() -> None:
    """Each key of the configuration has a row, each field of the API one with its comment."""
    text = {path.stem: content for path, content in generated().items()}

    for section in (config.Config, config.Limits, config.Deadlines, config.Retention, config.Tls, config.Runtime):
        for key in section.model_fields:
            assert f"\n| `{key}` |" in text["configuration"]
    assert "| `limits` |" in text["configuration"]
    assert "| 1 | `seq` | uint64 | 1, 2, 3 … without a gap." in text["records"]
    assert "map of string to [RailReading](#railreading)" in text["records"]
    assert "| `WatchRun` | [WatchRunRequest](#watchrunrequest) | stream of [WatchRunResponse]" in text["records"]


def test_a_key_without_a_meaning_is_refused() -> None:
    """No key gets into the reference without a word on what it does."""

    class Half(BaseModel):
        said: int = 1
        """Said."""
        unsaid: int = 2

    with pytest.raises(Undocumented, match=r"Half\.unsaid"):
        table(Half)
