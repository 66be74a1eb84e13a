"""The commands that look at a board, against a real daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.cli.program import Orinbench, Terminal, null_model, program_in
from tests.integration.harness import Daemon, running


@pytest.fixture
def program(shared: Daemon, tmp_path: Path) -> Iterator[Orinbench]:
    """The program in a folder of its own."""
    with program_in(tmp_path, shared) as program:
        yield program


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal of the test's own."""
    with closing(Terminal()) as terminal:
        yield terminal


def test_board(program: Orinbench) -> None:
    """`board` tells identity, profile, state and queue, and the same as JSON."""
    text = program.good("board")
    content = json.loads(program.good("board", "--json"))

    assert content["hardware_profile"] == "cpu-dev"
    assert content["api_revision"] >= 1
    watched = "unknown (the profile cpu-dev watches no GPU)"
    for words in ("idle", "cpu-dev (not official), the board matches", watched):
        assert words in text


def test_check(program: Orinbench) -> None:
    """`check` lists the preflight checks and ends with 0 when they pass."""
    assert "disk_free" in program.good("check")
    assert json.loads(program.good("check", "--json"))["passed"] is True


def test_check_that_fails(daemon: Daemon, tmp_path: Path) -> None:
    """A board that does not pass ends `check` with 1, and the table says what to do."""
    daemon.stop()
    profile = tmp_path / "greedy.toml"
    base = Path(__file__).parents[3] / "profiles" / "orinbench_profiles" / "hardware" / "cpu-dev.toml"
    text = base.read_text().replace('id = "cpu-dev"', 'id = "greedy"')
    profile.write_text(text.replace("free_disk_gib = 0.25", "free_disk_gib = 1e9"))
    daemon.config.write_text(daemon.config.read_text() + f'profile = "{profile}"\n')
    daemon.start()

    done = Orinbench(tmp_path, daemon).call("check")

    assert done.returncode == 1, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("disk_free")]
    assert "FAILED" in line


def test_top_once(program: Orinbench) -> None:
    """`top --once` prints one frame: what this machine gives, and dashes for what it does not; the same as JSON."""
    text = program.good("top", "--once")
    content = json.loads(program.good("top", "--once", "--json"))

    assert "cpu-dev" in text
    (power,) = [line for line in text.splitlines() if line.startswith("power")]
    assert power.split() == ["power", "–", "module", "fan", "–"]
    assert content["telemetry"]["cpu_load_pct"] >= 0
    assert "module_power_w" not in content["telemetry"]
    assert (content["board"]["hardware_profile"], content["queue"], "run" in content) == ("cpu-dev", [], False)


def test_top_on_a_terminal(program: Orinbench, terminal: Terminal) -> None:
    """On a terminal `top` draws frame after frame until Ctrl-C, which is no error."""
    started = program.draw(terminal, "top", "--interval", "0.1")
    terminal.until(b"cpu-dev", 3)
    started.press()

    assert started.end() == (0, "", "")


def test_top_takes_a_lost_link_up_again(folder: Path, tmp_path: Path, terminal: Terminal) -> None:
    """A daemon that goes away is told above the last reading, and one that comes back is shown again."""
    with running(folder) as daemon, program_in(tmp_path, daemon) as program:
        started = program.draw(terminal, "top", "--interval", "0.1")
        terminal.until(b"cpu-dev")
        daemon.kill()
        terminal.until(b"link lost, trying again")
        daemon.start()
        terminal.until(b"1 watching", 2)
        started.press()

        assert started.end() == (0, "", "")


def test_push_sends_once(program: Orinbench) -> None:
    """`push` makes the board have suite and model; a second call sends nothing and says the same."""
    push = ("push", "--suite", "fa-demo-v1", "--model", "fa-demo-small")
    said = [program.good(*push) for _ in range(2)]
    suite, model = map(json.loads, program.good(*push, "--json").splitlines())

    assert said == ["suite fa-demo-v1: the board has it\nmodel fa-demo-small: the board has it"] * 2
    assert (suite["kind"], suite["id"], suite["samples"]) == ("suite", "fa-demo-v1", 40)
    assert (model["kind"], model["id"]) == ("model", "fa-demo-small")
    assert model["bytes"] == sum(file["bytes"] for file in model["files"])


def test_runs_by_state(program: Orinbench, tmp_path: Path) -> None:
    """`runs` filters by state, counts, and prints JSON lines."""
    name = program.good("run", "-s", "fa-demo-v1", "-m", null_model(tmp_path, 0), "--limit", "1", "--detach")
    program.good("watch", name)

    found = [json.loads(line) for line in program.good("runs", "--state", "succeeded", "--json").splitlines()]
    assert f"runs/{name}" in [run["name"] for run in found]
    assert program.good("runs", "--state", "paused") == "no runs"


def test_live_view_on_a_terminal(program: Orinbench, terminal: Terminal, tmp_path: Path) -> None:
    """On a terminal a run is drawn in place, and what it prints at the end is not."""
    call = ("run", "-s", "fa-demo-v1", "-m", null_model(tmp_path, 20), "--json")
    started = program.draw(terminal, *call, reports=True)
    terminal.until(b"running")
    code, out, _ = started.end()

    assert (code, json.loads(out)["state"]) == (0, "succeeded")
