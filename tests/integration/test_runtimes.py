"""Runtimes: workers in other environments than the daemon's, and environments in which none can start."""

from __future__ import annotations

import sys
from pathlib import Path

from orinbench.v1 import board_pb2, record_pb2, run_pb2

from tests.integration.harness import Wire, body, check_history, connect, finished_of, running
from tests.integration.venvs import NEEDED, install, make_venv


def states(wire: Wire) -> dict[str, board_pb2.RuntimeState]:
    """Return what the board says of its runtimes, once it has looked at all of them."""
    while True:
        found = wire.board.GetBoard(board_pb2.GetBoardRequest()).board.runtime_states
        if all(state.problem or state.python_version for state in found):
            return {state.name: state for state in found}


def run(wire: Wire, runtime: str) -> list[record_pb2.Record]:
    """Run three samples in a runtime; return the records."""
    return list(wire.watch(wire.create(wire.plan(3, runtime=runtime)).name))


def configured(**pythons: Path) -> dict[str, dict[str, str]]:
    """The configuration of runtimes besides our own environment's."""
    return {"default": {"python": sys.executable}, **{name: {"python": str(p)} for name, p in pythons.items()}}


def test_a_worker_runs_in_an_environment_without_orinbench(folder: Path) -> None:
    """Only protobuf and pydantic are there: the worker is the daemon's own release, the packages are that runtime's."""
    with running(folder, runtimes=configured(lean=make_venv(folder / "lean"))) as daemon, connect(daemon) as wire:
        known = states(wire)["lean"]
        records = run(wire, "lean")

    check_history(records, 3)
    (environment,) = (body(r).state.environment for r in records if body(r).state.HasField("environment"))
    assert environment.runtime == "lean"
    assert environment.python_version == f"CPython {known.python_version}"
    assert {"orinbench", "protobuf", "pydantic"} <= set(environment.packages)
    assert environment.orinbench_version == environment.packages["orinbench"]


def test_an_interpreter_behind_links_in_hidden_folders_works(folder: Path) -> None:
    """A chain of symbolic links through a home, as version managers make it, leads into the sandbox too."""
    home = folder / "home"
    python = make_venv(home / "envs" / "3.x")
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to(python.resolve())
    python.unlink()
    python.symlink_to("../../../bin/python")
    (home / "current").symlink_to("envs/3.x")
    linked = home / "current" / "bin" / "python"

    with (
        running(folder, environment={"HOME": str(home)}, runtimes=configured(linked=linked)) as daemon,
        connect(daemon) as wire,
    ):
        assert states(wire)["linked"].problem == ""
        check_history(run(wire, "linked"), 3)


def test_a_runtime_that_lacks_a_package_says_so_and_works_once_it_is_there(folder: Path) -> None:
    """The run fails as infrastructure naming package, key and remedy; after an installation the same run goes on."""
    python = make_venv(folder / "half", [name for name in NEEDED if name != "protobuf"])
    with running(folder, runtimes=configured(half=python)) as daemon, connect(daemon) as wire:
        problem = states(wire)["half"].problem
        created = wire.create(wire.plan(3, runtime="half"))
        failure = finished_of(list(wire.watch(created.name))).failure
        install(folder / "half", "protobuf")
        resumed = wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=created.name)).run
        finished = finished_of(list(wire.watch(resumed.name)))
        healed = states(wire)["half"]

    assert (failure.failure_class, failure.reason) == (record_pb2.FAILURE_CLASS_INFRASTRUCTURE, "RUNTIME_BROKEN")
    assert failure.message == problem
    for named in ("google", "[runtimes.half]", "scripts/make-runtime half", str(python)):
        assert named in problem
    assert finished.state == record_pb2.RUN_STATE_SUCCEEDED
    assert (healed.problem, bool(healed.python_version)) == ("", True)


def _old_python(path: Path) -> None:
    # What the survey's program prints on one: there is none here to print it.
    path.write_text("""#!/bin/sh
echo '{"python": "3.8.10", "problem": "it is older than Python 3.10", "paths": []}'
""")
    path.chmod(0o755)


def test_a_runtime_in_which_no_worker_starts_is_one_clear_error(folder: Path) -> None:
    """Before any run the board says of each what is wrong with it; the runtime that works goes on working."""
    (folder / "text").write_text("python")
    (folder / "true").symlink_to("/bin/true")
    _old_python(folder / "old")
    words = {
        "missing": "No such file or directory",
        "text": "Permission denied",
        "true": "is no Python that works",
        "old": "it is older than Python 3.10",
    }
    # A relative path is taken from the folder of the configuration.
    bad = {name: Path(name) for name in words}
    with running(folder, runtimes=configured(**bad)) as daemon, connect(daemon) as wire:
        known = states(wire)
        check_history(run(wire, "default"), 3)

    assert known.pop("default").problem == ""
    assert set(known) == set(words)
    for name, state in known.items():
        assert words[name] in state.problem
        assert f"{folder / name}" in state.problem
        assert "\n" not in state.problem
