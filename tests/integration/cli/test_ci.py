"""`orinbench ci` with demo models on real daemons: every exit code, and what the job is told."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.program import Orinbench, null_model, program_in
from tests.integration.harness import Daemon, make_tokens, running
from tests.jetson_sim import events, rig
from tests.unit.bundles.native_run import NativeRun
from tests.unit.bundles.peste_directory import CommandLine
from tests.unit.ci.junit_file import read_junit
from tests.unit.report.bundles import write_run

SMALL = ("-s", "fa-demo-v1", "-m", "fa-demo-small")
JOB = {
    "GITHUB_REPOSITORY": "lab/models",
    "GITHUB_RUN_ID": "77",
    "GITHUB_RUN_ATTEMPT": "1",
    "GITHUB_JOB": "gates",
}


@pytest.fixture
def program(shared: Daemon, tmp_path: Path) -> Iterator[Orinbench]:
    """The program in a folder of its own, on the daemon of this module."""
    with program_in(tmp_path, shared) as program:
        yield program


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line in this process: for what asks no board."""
    return CommandLine(capsys)


@pytest.fixture(scope="module")
def bundles(shared: Daemon, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Finished bundles by model: two whole runs, and one of the first three samples."""
    folder = tmp_path_factory.mktemp("bundles")
    with program_in(folder, shared) as program:
        found = {
            model: json.loads(program.good("run", "-s", "fa-demo-v1", "-m", model, "--json"))["bundle"]
            for model in ("fa-demo-small", "fa-demo-tiny")
        }
        part = program.good("run", *SMALL, "--limit", "3", "--results", "part", "--json")
    return {name: str(folder / path) for name, path in {**found, "part": json.loads(part)["bundle"]}.items()}


def test_gates_met(program: Orinbench, tmp_path: Path) -> None:
    """A run that meets its gates ends with 0; JUnit, summary and JSON say so. The same attempt finds the same run."""
    (tmp_path / "gates.toml").write_text('gates = ["rtf < 1"]\n[suites.fa-demo-v1]\ngates = ["cer <= 0.065"]\n')
    program.environment |= {**JOB, "GITHUB_STEP_SUMMARY": str(tmp_path / "step.md")}
    call = ("ci", *SMALL, "--gates", "gates.toml", "--gate", "p90_ms <= 60000")

    job = json.loads(program.good(*call, "--junit", "gates.xml", "--summary", "own.md", "--json"))
    (again,) = json.loads(program.good(*call, "--json"))["cases"]

    (case,) = job["cases"]
    assert (job["exit_code"], again["run"]) == (0, case["run"])
    assert {gate["gate"] for gate in case["gates"]} == {"rtf < 1", "p90_ms <= 60000", "cer <= 0.065"}
    assert read_junit((tmp_path / "gates.xml").read_bytes()) == {gate["gate"]: None for gate in case["gates"]}
    assert (tmp_path / "step.md").read_text() == 2 * (tmp_path / "own.md").read_text()
    assert "all gates met" in (tmp_path / "own.md").read_text()


def test_a_gate_not_met(cli: CommandLine, bundles: dict[str, str], tmp_path: Path) -> None:
    """A figure past its bound and one that is absent each fail their gate, which ends with 1; the others are met."""
    gates = ("--gate", "cer <= 0.001", "--gate", "energy_j <= 9e9", "--gate", "wer <= 1")
    code, _, line = cli("ci", bundles["fa-demo-small"], *gates, "--junit", tmp_path / "gates.xml")

    assert (code, line) == (1, "orinbench: 2 of 3 gates not met: cer <= 0.001; energy_j <= 9000000000\n")
    found = read_junit((tmp_path / "gates.xml").read_bytes())
    assert found["wer <= 1"] is None
    assert (found["cer <= 0.001"] or "").startswith("failure: 0.0")
    assert (found["energy_j <= 9000000000"] or "").startswith("failure: absent: ")


def test_part_of_a_suite_meets_no_gate(cli: CommandLine, bundles: dict[str, str]) -> None:
    """A run of the first samples only fails a gate that any figure would meet, and says that it is incomplete."""
    code, out, _ = cli("ci", bundles["part"], "--gate", "rtf <= 1000")

    assert code == 1
    assert "the submitter asked for the first 3 samples only" in out


def test_a_regression(cli: CommandLine, bundles: dict[str, str]) -> None:
    """A clearly worse model than the baseline ends with 1, a better one with 0, whichever rate is asked for."""
    small, tiny = bundles["fa-demo-small"], bundles["fa-demo-tiny"]

    code, _, line = cli("ci", tiny, "--baseline", small)

    assert (code, line) == (1, "orinbench: 1 of 1 gates not met: regression\n")
    assert "ok    regression wer" in cli.ok("ci", small, "--baseline", tiny, "--gate", "regression wer")


def test_a_baseline_is_compared_with_whatever_other_suites_have(
    cli: CommandLine, bundles: dict[str, str], tmp_path: Path
) -> None:
    """A regression among another suite's gates does not stand in for that of the run whose baseline is given."""
    gates = tmp_path / "gates.toml"
    gates.write_text('[suites.other]\ngates = ["regression"]\n[suites.fa-demo-v1]\ngates = ["wer <= 1"]\n')

    code, out, _ = cli("ci", bundles["fa-demo-tiny"], "--gates", gates, "--baseline", bundles["fa-demo-small"])
    assert (code, "FAIL  regression" in out) == (1, True)

    old = write_run(tmp_path, NativeRun(suite_id="fa-demo-v1"))
    code, _, line = cli("ci", *SMALL, "--host", tmp_path / "none.sock", "--gates", gates, "--baseline", old)
    assert (code, "it is of another suite: fa-demo-v1 sha256:" in line) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{small}",), "no gate is for suite fa-demo-v1 with model fa-demo-small"),
        (("{small}", "--gate", "cerr <= 1"), "did you mean 'cer'"),
        (("{small}", "--gate", "regression"), "needs a baseline of that suite"),
        (("{small}", "--baseline", "{part}"), "is no baseline"),
        (("{small}", "--gate", "cer <= 1", "--junit", "no/folder.xml"), "its folder is not there"),
        (("{small}", "--gates", "none.toml"), "none.toml: cannot be read"),
        (("--gate", "cer <= 1"), "nothing to judge"),
        (("{small}", "-s", "fa-demo-v1", "-m", "fa-demo-small", "--gate", "cer <= 1"), "not some of each"),
        (("-s", "fa-demo-v1", "--gate", "cer <= 1"), "both --suite and --model"),
        ((*SMALL, "--gate", "cer <= 1", "--request-id", "a b"), "--request-id"),
        (("nowhere", "--gate", "cer <= 1"), "nowhere"),
    ],
)
def test_bad_input(cli: CommandLine, bundles: dict[str, str], arguments: tuple[str, ...], said: str) -> None:
    """What was given wrongly ends with 2 and one line that says what, before anything is asked of a board."""
    names = {"small": bundles["fa-demo-small"], "part": bundles["part"]}

    code, out, line = cli("ci", *(argument.format(**names) for argument in arguments))

    assert (code, out, line.count("\n")) == (2, "", 1)
    assert said in line


def test_a_baseline_of_another_board_is_refused_before_any_run(
    program: Orinbench, bundles: dict[str, str], tmp_path: Path
) -> None:
    """One of another profile than the board's is bad input, named, and no run is queued there, whosever turn it is."""
    profile = tmp_path / "other.toml"
    base = Path(__file__).parents[3] / "profiles" / "orinbench_profiles" / "hardware" / "cpu-dev.toml"
    profile.write_text(base.read_text().replace('id = "cpu-dev"', 'id = "other"'))
    (tmp_path / "b").mkdir()
    with running(tmp_path / "b", profile=str(profile)) as board, program_in(tmp_path, board) as elsewhere:
        fits = json.loads(elsewhere.good("run", *SMALL, "--json"))["bundle"]
        before = elsewhere.good("runs")
        baselines = ("--baseline", fits, "--baseline", bundles["fa-demo-tiny"])
        line = elsewhere.fails(2, "ci", *SMALL, "-m", "fa-demo-tiny", *baselines)
        after = elsewhere.good("runs")

    assert f"{bundles['fa-demo-tiny']}: is no baseline here: it is of another hardware profile: cpu-dev sha256:" in line
    assert ", not other sha256:" in line
    assert after == before


def test_a_baseline_of_another_suite_is_refused_without_a_board(cli: CommandLine, tmp_path: Path) -> None:
    """One of the same suite by name and another digest is bad input before a board is looked for."""
    old = write_run(tmp_path, NativeRun(suite_id="fa-demo-v1"))

    code, _, line = cli("ci", *SMALL, "--host", tmp_path / "none.sock", "--baseline", old)

    assert (code, "it is of another suite: fa-demo-v1 sha256:" in line) == (2, True)


def test_who_waits_too_long_and_who_takes_too_long(program: Orinbench, tmp_path: Path) -> None:
    """A run that does not begin in time is cancelled: 4, with who has the board. One over its time limit: 3."""
    slow, gate = ("-s", "fa-demo-v1", "-m", null_model(tmp_path, 1000)), ("--gate", "cer <= 1")
    name = program.good("run", *slow, "--detach")

    line = program.fails(4, "ci", *SMALL, *gate, "--queue-timeout", "1", "--junit", "late.xml")
    program.good("cancel", name)

    assert f"was cancelled: it had not begun after 1 s: runs/{name} of local has the board" in line
    assert read_junit((tmp_path / "late.xml").read_bytes()) == {
        "cer <= 1": f"error: {line.removeprefix('orinbench: ')}"
    }
    assert "was cancelled: over its time limit of 1 s" in program.fails(3, "ci", *slow, *gate, "--timeout", "1")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_job_that_is_ended_takes_its_run_along(program: Orinbench, tmp_path: Path, number: signal.Signals) -> None:
    """What a CI system sends to a cancelled job cancels the run on the board, and nothing else is begun there."""
    slow, before = null_model(tmp_path, 1000), program.good("runs", "--json").splitlines()
    started = program.start("ci", "-s", "fa-demo-v1", "-m", slow, "-m", "fa-demo-tiny", "--gate", "cer <= 1")
    started.until("running")
    started.press(number)
    code, out, _ = started.end()
    ended, *earlier = program.good("runs", "--json").splitlines()
    name = json.loads(ended)["name"].removeprefix("runs/")

    assert (code, out) == (128 + number, "")
    assert earlier == before
    assert "slow on fa-demo-v1: cancelled" in program.call("watch", name).stdout


def test_nobody_answers(tmp_path: Path) -> None:
    """Without a board every gate of every run is an error in JUnit, and the job ends with 5."""
    program = Orinbench(tmp_path, str(tmp_path / "none.sock"))
    line = program.fails(5, "ci", *SMALL, "-m", "fa-demo-tiny", "--gate", "cer <= 1", "--junit", "gone.xml")

    found = read_junit((tmp_path / "gone.xml").read_bytes())
    assert found == {"cer <= 1": f"error: {line.removeprefix('orinbench: ')}"}


def test_a_board_that_refuses(tmp_path: Path) -> None:
    """A Jetson whose GPU somebody holds refuses the run: 4, with who holds it."""
    held = partial(events.gpu_client, name="Xorg", pid=4711)
    with rig.running(tmp_path, "agx-orin-32gb", prepare=held) as board, program_in(tmp_path, board.host) as program:
        line = program.fails(4, "ci", *SMALL, "--gate", "cer <= 1")

    assert "Xorg (pid 4711" in line


def test_only_an_admin_goes_first(folder: Path, tmp_path: Path) -> None:
    """A submitter may put a run behind the others, not before them: that is refused with 4."""
    tokens = make_tokens(folder)
    with running(folder, tcp="127.0.0.1:0") as board:
        program = Orinbench(tmp_path, f"127.0.0.1:{board.ready['tcp_port']}")
        program.environment["ORINBENCH_TOKEN"] = tokens["submit"]
        ran: dict[str, Any] = json.loads(program.good("ci", *SMALL, "--gate", "cer <= 1", "--priority", "-3", "--json"))
        line = program.fails(4, "ci", *SMALL, "--gate", "cer <= 1", "--priority", "1")

    assert ran["exit_code"] == 0
    assert "only an admin may put a run before others" in line
