"""Tables that bear any script, colours only where they are wanted, and what a shell completes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from orinbench_client.cli.terminal import isolate, paint, plain, table
from rich.cells import cell_len


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


# Vowel marks take no cell, nor does the joiner inside a word; Han and emoji take two.
WORDS = ["سَلام", "می‌خواهم", "گفت‌وگو", "漢字", "e\u0301", "plain"]


def test_columns_stand_under_each_other() -> None:
    """Whatever the script, the second column begins at the same cell of each line."""
    lines = table([("name", "n"), *((word, str(number)) for number, word in enumerate(WORDS))]).splitlines()

    assert {cell_len(line[: line.rindex(" ") + 1]) for line in lines} == {max(map(cell_len, WORDS)) + 2}
    assert max(map(cell_len, WORDS)) == len("می‌خواهم".replace("‌", ""))


def test_direction_stays_inside() -> None:
    """What runs from right to left is isolated; a foreign override or isolate does not reach the rest of the line."""
    assert isolate("سلام") == "\u2068سلام\u2069"
    assert isolate("salam") == "salam"
    (_, line) = table([("a", "b"), ("سلام\u2069\u202eabc", "1")]).splitlines()
    assert line == "\u2068سلامabc\u2069  1"


def test_controls_do_nothing() -> None:
    """A text from elsewhere can neither move the cursor nor colour what follows, nor break a line."""
    assert plain("a\x1b[31mb\nc\td\x7f") == "a\ufffd[31mb c d\ufffd"


def test_a_narrow_table_cuts_no_word() -> None:
    """Texts are wrapped between words, names stay whole so that they can be copied, and no line is too long."""
    rows = [("run", "remark"), ("fa-demo-small-20261130T112526Z-2f8e2c", "the model is پارسی and " * 5)]
    lines = table(rows, width=60).splitlines()

    assert max(map(cell_len, lines)) <= 60
    assert lines[1].startswith("fa-demo-small-20261130T112526Z-2f8e2c  ")
    assert all(line.startswith(" " * 39) for line in lines[2:])
    assert len(lines) > 3


@pytest.mark.parametrize(
    ("environment", "stream", "coloured"),
    [
        ({"TERM": "xterm"}, Screen(), True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, Screen(), False),
        ({"TERM": "dumb"}, Screen(), False),
        ({"TERM": "xterm"}, io.StringIO(), False),
    ],
)
def test_colours_where_they_are_wanted(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], stream: io.StringIO, coloured: bool
) -> None:
    """Colours need a terminal that has them and nobody who forbids them."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert ("\x1b" in paint("ok", "green", stream)) is coloured


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("orinbench mo", ["models"]),
        ("orinbench run --suite fa", ["fa-demo-v1"]),
        ("orinbench validate fa-demo-", ["fa-demo-small", "fa-demo-tiny", "fa-demo-v1"]),
        ("orinbench board --host l", ["lab"]),
    ],
)
def test_a_shell_completes(tmp_path: Path, line: str, completed: list[str]) -> None:
    """bash, asking as the script it is given asks, gets commands, declarations and named boards."""
    (tmp_path / "orinbench").mkdir()
    (tmp_path / "orinbench" / "config.toml").write_text('[hosts.lab]\naddress = "/a"\n')
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_ORINBENCH_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-m", "orinbench_client.cli.main"],
        env={**os.environ, **asked, "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == completed
