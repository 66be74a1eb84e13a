"""Awkward command lines, in awkward.toml: each gets one line, of its kind, and leaves nothing behind."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from orinbench_client.cli.main import main

from tests.integration.cli.program import PROGRAM, null_model
from tests.integration.harness import Daemon

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("awkward.toml").read_text())["case"]
WITHOUT_KEYS = 'id = "m"\ntitle = "M"\nlicense = "CC0-1.0"\nengine = "null"\n'
CONFIGS = {
    "junk": "host = \n",
    "typo": 'hots = "x"\n',
    "lacking": '[hosts.lab]\nca = "x"\n',
    "wrong": '[hosts.lab]\naddress = "nonsense"\n',
    "good": '[hosts.lab]\naddress = "/none/lab.sock"\n',
    "inline": 'hosts = { lab = { address = "/a" } }\n',
}


class Quiet(http.server.BaseHTTPRequestHandler):
    """A web server that tells nobody what it was asked."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with everything that is not what it should be."""
    folder = tmp_path_factory.mktemp("a")
    for name in ("empty", "folder.toml", "names", "weights", "junkbundle", "nestedbundle/suite/run", "junksuite"):
        (folder / name).mkdir(parents=True)
    junk = bytes(range(256)) * 8
    for name in ("junk.toml", "junkbundle/run.json", "nestedbundle/suite/run/run.json", "junksuite/suite.toml"):
        (folder / name).write_bytes(junk)
    (folder / "latin.toml").write_bytes('title = "é"\n'.encode("latin-1"))
    (folder / "empty.toml").write_bytes(b"")
    (folder / "notdir").write_text("a file\n")
    (folder / "keys.toml").write_text(WITHOUT_KEYS)
    null = Path(null_model(folder, 0)).read_text()
    (folder / "huge.toml").write_text(null.replace("warmup = 0", "warmup = 1e400"))
    (folder / "runtime.toml").write_text(null.replace('engine = "null"', 'engine = "null"\nruntime = "nemo"'))
    (folder / "names" / "weights.bin").write_bytes(junk)
    (folder / "weights" / "model.safetensors").write_bytes(junk)
    (folder / "loop").symlink_to("loop")
    (folder / "loop.toml").symlink_to("loop.toml")
    (folder / "endless.toml").symlink_to("/dev/zero")
    for name, text in CONFIGS.items():
        (folder / "config" / name / "orinbench").mkdir(parents=True)
        (folder / "config" / name / "orinbench" / "config.toml").write_text(text)
    (folder / "config" / "folder" / "orinbench" / "config.toml").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.path.relpath(folder / "dead.sock"))
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(os.path.relpath(folder / "mute.sock"))
        mute.listen()
        yield folder


@pytest.fixture(scope="module")
def words(shared: Daemon) -> Iterator[dict[str, str]]:
    """What the words in braces stand for: a board, a port of nobody, of somebody mute, of a web server; a long word."""
    server = http.server.HTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever).start()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()[1]
    with closing(socket.create_server(("127.0.0.1", 0))) as mute:
        yield {
            "board": f"unix:{shared.socket}",
            "closed": f"127.0.0.1:{closed}",
            "mute": f"127.0.0.1:{mute.getsockname()[1]}",
            "web": f"127.0.0.1:{server.server_port}",
            "long": "x" * 5000,
        }
    server.shutdown()
    server.server_close()


def arguments(case: dict[str, Any], words: dict[str, str]) -> list[str]:
    """Return the command line of a case."""
    found = []
    for argument in case["argv"]:
        for word, meant in words.items():
            argument = argument.replace(f"{{{word}}}", meant)
        found.append(argument)
    return found


def surroundings(case: dict[str, Any], place: Path) -> dict[str, str]:
    """Return the environment of a case: none of the developer's own variables or config."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ORINBENCH_")}
    return {**kept, "XDG_CONFIG_HOME": str(place / "none"), **case.get("env", {})}


@pytest.fixture(scope="module")
def slow(place: Path, words: dict[str, str]) -> Iterator[dict[int, subprocess.Popen[str]]]:
    """The cases that wait for a deadline, all at once while the others run."""
    started = {
        number: subprocess.Popen(
            [*PROGRAM, *arguments(case, words)],
            cwd=place,
            env=surroundings(case, place),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, case in enumerate(CASES)
        if case.get("slow")
    }
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


def listing(place: Path) -> set[Path]:
    """Return everything below a folder."""
    return set(place.rglob("*"))


def test_there_are_a_hundred() -> None:
    """The file is as long as it is said to be, and of every kind."""
    assert len(CASES) >= 100
    assert {case["code"] for case in CASES} == {2, 4, 5}


def is_slow(number: int) -> bool:
    """Tell whether a case waits for a deadline."""
    return bool(CASES[number].get("slow"))


# Those that wait come last.
ORDER: list[int] = sorted(range(len(CASES)), key=is_slow)


@pytest.mark.parametrize("number", ORDER)
def test_awkward(
    number: int,
    place: Path,
    words: dict[str, str],
    slow: dict[int, subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """One line that says what was wrong, the exit code of its kind, and nothing written anywhere."""
    case, before = CASES[number], listing(place)
    if number in slow:
        out, said = slow[number].communicate(timeout=60)
        code = slow[number].returncode
    else:
        monkeypatch.chdir(place)
        for name in os.environ.keys() - (given := surroundings(case, place)).keys():
            monkeypatch.delenv(name)
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        code = main(arguments(case, words))
        out, said = capfd.readouterr()

    # A slow upload says how it goes.
    said = "".join(line for line in said.splitlines(keepends=True) if not line.startswith("pushed "))
    assert (code, out) == (case["code"], ""), said
    assert said.startswith("orinbench: ")
    assert said.count("\n") == 1
    assert "unexpected" not in said.partition(":")[2][:12]
    assert case["says"] in said
    assert "\x1b" not in said
    assert len(said) < 1200
    assert listing(place) == before
