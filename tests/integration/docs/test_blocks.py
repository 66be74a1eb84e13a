"""Every block of every page does what its page says, here and now, or says why it cannot be tried here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.docs import declarations
from tests.integration.docs.commands import commands, problem, writes_to_the_system
from tests.integration.docs.pages import ROOT, SHELL, Block, PageError, blocks_of, pages
from tests.integration.docs.workplace import matches, workplace
from tests.integration.harness import Daemon, running

NAMES = [str(path.relative_to(ROOT)) for path in pages()]
WITH_BLOCKS = [name for name in NAMES if blocks_of((ROOT / name).read_text())]
_CODE = re.compile(r"(?<!`)`((?:\.venv/bin/)?(?:orinbenchd? |scripts/|\.ci/)[^`]*)`(?!`)")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """The board that readers have at hand, one for all pages."""
    with running(tmp_path_factory.mktemp("d")) as started:
        yield started


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_blocks_do_what_the_page_says(name: str, folder: Path, board: Daemon) -> None:
    """From top to bottom in one folder every command ends as the page says and every file can be read."""
    with workplace(folder, f"unix:{board.socket}") as place:
        for block in blocks_of((ROOT / name).read_text()):
            if block.kind in declarations._READERS:
                declarations.check(block, folder)
            place.do(block)


@pytest.mark.parametrize("name", NAMES)
def test_commands_are_ones_that_there_are(name: str) -> None:
    """Every call of our programs, run here or not, in a block or in prose, has commands and options that exist."""
    text = (ROOT / name).read_text()
    wrong = [
        f"{name}:{block.line}: {' '.join(words)}: {said}"
        for block in blocks_of(text)
        if block.kind == SHELL
        for words in commands(block.text)
        if (said := problem(words) or _reckless(block, words))
    ]
    for code in (" ".join(found.split()) for found in _CODE.findall(text)):
        if not set("[…|*") & set(code):
            wrong += [f"{name}: {code}: {said}" for words in commands(code) if (said := problem(words, complete=False))]
    assert not wrong, "\n".join(wrong)


def _reckless(block: Block, words: list[str]) -> str | None:
    return "it would use this machine's own folders" if block.runs and writes_to_the_system(words) else None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```\ntrue\n", "no end"),
        ("```ruby\n```\n", "no kind of block"),
        ("<!-- docs: not run: too slow -->\n```\n```\n", "no reason"),
        ("<!-- docs: covered by tests/nothing.py -->\n```\n```\n", "there is no"),
        ("<!-- docs: sometimes -->\n```\n```\n", "nobody knows"),
    ],
)
def test_a_mark_that_means_nothing_is_refused(text: str, fault: str) -> None:
    """A page can take no block out of the tests by saying something that nobody understands."""
    with pytest.raises(PageError, match=fault):
        blocks_of(text)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("orinbench run --suite a --modell b", "No such option"),
        ("orinbench runn", "No such command"),
        ("sudo -u orinbench orinbenchd tokens list", "invalid choice"),
        ("X=1 scripts/nothing --all", "there is no"),
        ("cat x | scripts/test --all-of-it", "knows no"),
        ("orinbench watch", "Missing argument"),
    ],
)
def test_a_wrong_command_is_found(line: str, fault: str) -> None:
    """What is held against the programs is refused where they would refuse it."""
    (said,) = filter(None, map(problem, commands(line)))
    assert fault in said


@pytest.mark.parametrize(("block", "code"), [("false", 1), ("exit 3", 3), ("true | false", 1)])
def test_a_command_that_fails_fails_its_page(folder: Path, block: str, code: int) -> None:
    """Another end than the one the page states is an error; the stated one is none. Exports go on, files are there."""
    with workplace(folder, "unix:none") as place:
        place.do(Block(1, SHELL, "export WORD=here"))
        place.do(Block(2, "text", "content", {"file": "a/b"}))
        place.do(Block(3, SHELL, 'echo "$WORD: $(cat a/b)"'))
        place.do(Block(4, "output", "here: …ent"))
        place.do(Block(5, SHELL, block, {"exit": str(code)}))
        with pytest.raises(AssertionError, match=f"line 6 ended with {code}"):
            place.do(Block(6, SHELL, block))


def test_output_that_was_not_printed_is_found() -> None:
    """Lines that are shown must have been printed, in that order."""
    assert matches("one …\nthree", "zero\none two\nthree\nfour")
    assert not matches("three\none", "one\nthree")
