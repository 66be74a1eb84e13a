"""How models and suites reach a board, as a user does it: describe, validate, push, prepare, run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from orinbench.v1 import artifact_pb2 as pb
from orinbench_profiles import digest_file

from tests.integration.cli.program import Orinbench, bundle_of, program_in
from tests.integration.harness import Daemon, connect, to_toml
from tests.integration.hub import REVISION, TOKEN, Hub, Repository, serving
from tests.unit.client.fleurs import ARCHIVE, TEXTS, recording, repository, write_copy, write_suite

DEMO = Path(__file__).parents[3] / "profiles" / "orinbench_profiles" / "demo" / "models"
RECORDINGS = [recording(number) for number in range(len(TEXTS))]
SMALL = {name: (DEMO / name).read_bytes() for name in ("fa-demo-small.onnx", "fa-demo-small.vocab.json")}


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """A hub with a model, the same behind a gate, and a suite."""
    with serving() as started:
        for name, gated in (("me/small", False), ("me/gated", True)):
            started.repositories[name] = Repository(SMALL, gated=gated, large=(".onnx",))
        started.repositories["me/fleurs"] = Repository(repository(RECORDINGS))
        yield started


@pytest.fixture(scope="module")
def board(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that knows the hub."""
    daemon = Daemon(tmp_path_factory.mktemp("d"))
    daemon.start(HF_ENDPOINT=hub.url, HF_TOKEN="")
    yield daemon
    daemon.close()


@pytest.fixture
def program(board: Daemon, hub: Hub, tmp_path: Path) -> Iterator[Orinbench]:
    """The program with data and cache folders of its own."""
    with program_in(tmp_path, board) as program:
        program.environment |= {
            "XDG_DATA_HOME": str(tmp_path / "data"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "HF_ENDPOINT": hub.url,
            "HF_TOKEN": "",
        }
        yield program


def on_hub(folder: Path, name: str) -> str:
    """Write the declaration of the demo model on the hub; return its path."""
    source = {"kind": "huggingface", "repository": f"me/{name}", "revision": REVISION, "include": ["*.onnx", "*.json"]}
    values = {"id": name, "title": "S", "license": "Apache-2.0", "engine": "onnxruntime", "adapter": "ctc"}
    path = folder / f"{name}.toml"
    path.write_text(to_toml({**values, "dtype": "float32", "source": source}))
    return str(path)


def test_suite_and_model_from_a_hub_run_and_score(program: Orinbench, hub: Hub, tmp_path: Path) -> None:
    """The suite is fetched here over a link that breaks, the model by the board; the run's record names the source,
    and the bundle is scored."""
    suite, model = str(write_suite(tmp_path / "suite", RECORDINGS)), on_hub(tmp_path, "small")
    assert f"orinbench prepare --suite {suite}" in program.fails(2, "run", "-s", suite, "-m", model)
    hub.cut[ARCHIVE] = 1000
    assert "suite small-fleurs is ready: 3 samples" in program.good("prepare", "--suite", suite)
    assert not list((tmp_path / "cache" / "orinbench").iterdir())
    found = json.loads(program.good("run", "-s", suite, "-m", model, "--json"))
    assert found["state"] == "succeeded"
    assert found["score"]["cer"] >= 0
    assert "SOURCE_REVISION_UNKNOWN" not in found["violations"]
    facts = bundle_of(tmp_path, found["run"], "small-fleurs")["model_facts"]
    assert (facts["source_repository"], facts["source_revision"]) == ("me/small", REVISION)
    for text in TEXTS:
        assert not any(text.encode() in path.read_bytes() for path in (tmp_path / "data").rglob("*.wav"))


def test_a_copy_of_the_repository_needs_no_hub(program: Orinbench, tmp_path: Path) -> None:
    """--source reads a copy; without one and without the hub the error names both ways."""
    suite = str(write_suite(tmp_path / "suite", RECORDINGS))
    program.environment["HF_ENDPOINT"] = "http://127.0.0.1:9"
    line = program.fails(2, "prepare", "--suite", suite)
    assert "http://127.0.0.1:9 cannot be reached" in line
    assert "--source DIR" in line
    copy = write_copy(tmp_path / "copy", repository(RECORDINGS))
    assert "is ready" in program.good("prepare", "--suite", suite, "--source", str(copy))


def test_preparing_a_gated_model(program: Orinbench, tmp_path: Path) -> None:
    """Without a token the refusal says what is missing; with one the board has the files, by digest."""
    model = on_hub(tmp_path, "gated")
    assert "me/gated is gated" in program.fails(4, "prepare", "--model", model)
    program.environment["HF_TOKEN"] = TOKEN
    lines = program.good("prepare", "--model", model).splitlines()
    assert [line.split()[::2] for line in lines[:-1]] == [[digest_file(DEMO / name), name] for name in sorted(SMALL)]
    assert lines[-1].startswith("model gated is ready: 2.8 MB, digest sha256:")


def test_a_checkpoint_of_ones_own(program: Orinbench, tmp_path: Path) -> None:
    """A folder is described, the declaration is checked here and proven on the board, which says what it lacks."""
    folder = tmp_path / "My Model"
    folder.mkdir()
    for name, data in SMALL.items():
        (folder / name).write_bytes(data)
    (folder / "README.md").write_text("a card")
    assert f"orinbench models describe {folder}" in program.fails(2, "push", "--model", str(folder))
    ask = ("models", "describe", str(folder), "--engine", "onnxruntime", "--adapter", "ctc")
    assert "name it with --dtype" in program.fails(2, *ask)
    done = program.call(*ask, "--dtype", "float32", "--license", "Apache-2.0")
    assert done.stderr == "left out: README.md\n"
    declaration = tmp_path / "mine.toml"
    declaration.write_text(done.stdout)

    assert "model my-model is valid: 2 files, 2.8 MB" in program.good("validate", str(declaration))
    host = program.environment["ORINBENCH_HOST"]
    proof = program.good("validate", str(declaration), "--host", host)
    assert "model my-model runs: loaded in" in proof
    assert "peak memory: resident" in proof
    assert "sample demo-000, twice the same: \u2068" in proof
    assert "SOURCE_REVISION_UNKNOWN: the declaration names no repository and revision" in proof

    (folder / "fa-demo-small.onnx").write_bytes(b"no graph")
    assert "the declaration says 2773925 bytes" in program.fails(2, "validate", str(declaration))


def test_a_model_that_does_not_run(program: Orinbench, tmp_path: Path) -> None:
    """The proof ends with the reason the board gave, and exit code 3."""
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "a.onnx").write_bytes(b"no graph")
    shutil.copy(DEMO / "fa-demo-small.vocab.json", tmp_path / "only")
    ask = ("models", "describe", str(tmp_path / "only"), "--engine", "onnxruntime", "--adapter", "ctc")
    (tmp_path / "bad.toml").write_text(program.good(*ask, "--dtype", "float32"))
    line = program.fails(3, "validate", str(tmp_path / "bad.toml"), "--host", program.environment["ORINBENCH_HOST"])
    assert "model only does not run there" in line


def test_a_killed_push_goes_on_where_it_stopped(program: Orinbench, board: Daemon, tmp_path: Path) -> None:
    """After SIGKILL in the middle of a file the same command goes on from what the board kept, and checks the whole."""
    folder = tmp_path / "big"
    folder.mkdir()
    with (folder / "model.bin").open("wb") as file:
        file.truncate(60_000_000)
    ask = ("models", "describe", str(folder), "--engine", "null", "--adapter", "none", "--dtype", "none")
    (tmp_path / "big.toml").write_text(program.good(*ask))
    digest = digest_file(folder / "model.bin")
    push = ("push", "--model", str(tmp_path / "big.toml"))

    started = program.start(*push)
    with connect(board) as wire:
        asked = pb.HasArtifactsRequest(digests=[digest])
        while not wire.artifacts.HasArtifacts(asked).missing[0].received_bytes:
            assert started.process.poll() is None
        started.process.kill()
        started.process.wait()
        part = board.folder / "data" / "uploads" / f"{digest[7:]}.part"
    # Were the file sent anew, this would do no harm.
    with part.open("r+b") as file:
        file.write(b"!")
    assert f"not {digest}" in program.fails(4, *push)
    assert "model big: the board has it" in program.good(*push)
