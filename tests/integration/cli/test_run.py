"""The main job: submit, follow, leave, come back, cancel, against a real daemon."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from orinbench_client.bundles.native import read_native

from tests.integration.cli.program import Orinbench, bundle_of, null_model, program_in, samples_of
from tests.integration.harness import Daemon

ALL = [f"demo-{index:03}" for index in range(40)]
DEMO = ("run", "--suite", "fa-demo-v1", "--model")


@pytest.fixture
def program(daemon: Daemon, tmp_path: Path) -> Iterator[Orinbench]:
    """The program in a folder of its own."""
    with program_in(tmp_path, daemon) as program:
        yield program


def test_run_to_score(program: Orinbench, tmp_path: Path) -> None:
    """A run of the demo model ends with exit code 0, a verified bundle, a score, and one line of JSON."""
    outcome = json.loads(program.good(*DEMO, "fa-demo-small", "--json"))

    assert outcome["state"] == "succeeded"
    assert 0 < outcome["score"]["cer"] < 0.1
    low, high = outcome["score"]["cer_interval"]
    assert low < outcome["score"]["cer"] < high
    assert 0 < outcome["rtf"] < 1
    assert outcome["memory"]["method"] == "process-rss"
    assert outcome["memory"]["peak_bytes"] > 1 << 20
    run, content = read_native(tmp_path / outcome["bundle"])
    assert [sample.sample_id for sample in content.ordered()] == ALL
    assert run.plan.hardware_profile == "cpu-dev"
    assert not list((tmp_path / "results" / "fa-demo-v1").glob(".partial-*"))


def test_same_request_is_same_run(program: Orinbench) -> None:
    """The same request id twice is one run, and its bundle is not fetched again; other content is refused."""
    first, again = (json.loads(program.good(*DEMO, "fa-demo-tiny", "--request-id", "a", "--json")) for _ in range(2))

    assert first == again
    assert len(program.good("runs", "--json").splitlines()) == 1
    assert "another" in program.fails(4, *DEMO, "fa-demo-small", "--request-id", "a")


def test_a_part_of_a_suite_is_scored_and_not_ranked(program: Orinbench) -> None:
    """A run of the first samples is scored over those, says that it is incomplete, and no board ranks it."""
    outcome = json.loads(program.good(*DEMO, "fa-demo-tiny", "--limit", "3", "--json"))

    (score,) = (Path(program.folder, outcome["bundle"]) / "scores").glob("*.json")
    assert json.loads(score.read_text())["samples"] == 3
    assert outcome["score"]["cer"] > 0
    assert "INCOMPLETE" in outcome["violations"]
    program.good("leaderboard", "--results", "results", "--out", "boards")
    board = (program.folder / "boards" / "leaderboard.md").read_text()
    assert "the submitter asked for the first 3 samples only" in board
    assert "No run is ranked." in board


def test_killed_client_comes_back(program: Orinbench, tmp_path: Path) -> None:
    """A client killed in the middle is taken up by `watch` from what it kept: every sample once, digest proven."""
    started = program.start(*DEMO, null_model(tmp_path, 250))
    started.until("running")
    run = program.good("runs", "--json")
    name = json.loads(run)["name"].removeprefix("runs/")
    partial = tmp_path / "results" / "fa-demo-v1" / f".partial-{name}" / "records.bin"
    started.press(signal.SIGKILL)
    started.end()
    kept = partial.stat().st_size
    assert kept > 0

    outcome = json.loads(program.good("watch", name, "--json"))

    assert outcome["state"] == "succeeded"
    assert samples_of(tmp_path, name) == ALL
    assert not partial.exists()
    assert outcome["score"]["cer"] > 0.5


def test_killed_daemon_goes_on(program: Orinbench, daemon: Daemon, tmp_path: Path) -> None:
    """A daemon killed in the middle is found again by the same client; the run ends in a second segment."""
    started = program.start(*DEMO, null_model(tmp_path, 250), "--json")
    started.until("running")
    daemon.kill()
    started.until("link lost")
    daemon.start()
    code, out, errors = started.end()

    assert code == 0, errors
    outcome = json.loads(out)
    assert samples_of(tmp_path, outcome["run"]) == ALL
    assert [segment["number"] for segment in bundle_of(tmp_path, outcome["run"])["segments"]] == [1, 2]
    assert "RESUMED" in outcome["violations"]


def test_two_clients_one_run(program: Orinbench, tmp_path: Path) -> None:
    """Two clients follow one run into two folders and keep the same records; one folder takes one client."""
    name = program.good(*DEMO, null_model(tmp_path, 250), "--detach")
    first = program.start("watch", name)
    first.until("running")
    assert "another process writes it" in program.fails(2, "watch", name)
    second = program.start("watch", name, "--results", "other")

    assert [first.end()[0], second.end()[0]] == [0, 0]
    records = [tmp_path / results / "fa-demo-v1" / name / "records.bin" for results in ("results", "other")]
    assert records[0].read_bytes() == records[1].read_bytes()


def test_two_runs_queue(program: Orinbench, tmp_path: Path) -> None:
    """Of two runs submitted at once the second waits, says so, and both complete."""
    first = program.good(*DEMO, null_model(tmp_path, 20), "--detach")
    second = program.start(*DEMO, "fa-demo-tiny")
    second.until("ahead")

    assert second.end()[0] == 0
    assert json.loads(program.good("watch", first, "--json"))["state"] == "succeeded"


def test_interrupt_leaves_run(program: Orinbench, tmp_path: Path) -> None:
    """Ctrl-C leaves the run to itself and says how to take it up again; it then completes."""
    started = program.start(*DEMO, null_model(tmp_path, 250))
    started.until("running")
    started.press()
    said = started.until("orinbench watch ")
    code, out, _ = started.end()

    assert (code, out) == (130, "")
    _, *again = shlex.split(said)
    # From any other terminal: the board is in it.
    del program.environment["ORINBENCH_HOST"]
    assert json.loads(program.good(*again, "--json"))["state"] == "succeeded"


def test_interrupt_twice_cancels(program: Orinbench, tmp_path: Path) -> None:
    """Ctrl-C twice cancels the run; its bundle is kept and says so."""
    started = program.start(*DEMO, null_model(tmp_path, 1000))
    started.until("running")
    started.press()
    started.until("Ctrl-C again")
    started.press()
    code, _, errors = started.end()

    assert code == 3
    assert errors.splitlines()[-1].startswith("orinbench: run slow-")
    assert "cancelled" in errors.splitlines()[-1]
    (run,) = [path.name for path in (tmp_path / "results" / "fa-demo-v1").iterdir()]
    assert bundle_of(tmp_path, run)["state"] == "RUN_STATE_CANCELLED"


def test_cancel_queued_and_running(program: Orinbench, tmp_path: Path) -> None:
    """A running and a queued run are cancelled by name; again is no error; `runs` tells their states."""
    model = null_model(tmp_path, 1000)
    running, queued = (program.good(*DEMO, model, "--detach") for _ in range(2))
    program.start("watch", running).until("running")
    for name in (queued, running, running):
        assert name in program.good("cancel", name, "--reason", "enough")
    assert "cancelled" in program.fails(3, "watch", running)

    states = {line.split()[0]: line.split()[1] for line in program.good("runs").splitlines()[1:]}
    assert states == {running: "cancelled", queued: "cancelled"}


def test_unknown_suite_stays_unscored(program: Orinbench, daemon: Daemon, tmp_path: Path) -> None:
    """A run of a suite that is not here in that version is kept whole, unscored, and that is said."""
    name = program.good(*DEMO, "fa-demo-tiny", "--detach")
    changed = tmp_path / "changed"
    original = Path(__file__).parents[3] / "profiles" / "orinbench_profiles"
    (changed / "audio").parent.mkdir()
    (changed / "audio").symlink_to(original / "demo" / "fa-demo-v1" / "audio")
    manifest = (original / "demo" / "fa-demo-v1" / "manifest.jsonl").read_text()
    (changed / "manifest.jsonl").write_text(manifest)
    text = (original / "suites" / "fa-demo-v1.toml").read_text()
    text = text.replace('kind = "packaged"\npath = "demo/fa-demo-v1"', 'kind = "folder"')
    (changed / "suite.toml").write_text(text.replace("A demonstration", "Another"))

    done = program.call("watch", name, "--suite", str(changed), "--json")

    assert done.returncode == 0, done.stderr
    assert "the bundle stays unscored" in done.stderr
    assert "score" not in json.loads(done.stdout)
    assert samples_of(tmp_path, name) == ALL
