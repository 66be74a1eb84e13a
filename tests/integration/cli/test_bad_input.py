"""Whatever is wrong is one clear line and the exit code of its kind; the daemon takes the next run."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.contract.client.peer import Context, Peer, refuse, serving
from tests.integration.cli.program import Orinbench, null_model, program_in
from tests.integration.harness import Daemon, make_tokens, running, to_toml
from tests.unit.client.recordings import row, write_suite, write_wav

PROFILES = Path(__file__).parents[3] / "profiles" / "orinbench_profiles"
DEMO = ("run", "--suite", "fa-demo-v1", "--model", "fa-demo-tiny")


@pytest.fixture
def program(shared: Daemon, tmp_path: Path) -> Iterator[Orinbench]:
    """The program in a folder of its own."""
    with program_in(tmp_path, shared) as program:
        yield program


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """A folder with one whole recording of a tenth of a second."""
    folder = tmp_path / "mine"
    folder.mkdir()
    write_wav(folder / "a.wav")
    return folder


def run_suite(program: Orinbench, folder: Path, code: int, model: str = "fa-demo-tiny") -> str:
    """Run a model over a folder's suite; return its line of complaint."""
    return program.fails(code, "run", "--suite", str(folder), "--model", model)


def model_of(folder: Path, graph: bytes, **changes: Any) -> str:
    """Write a copy of the tiny model with another graph and a declaration that fits it; return its path."""
    vocabulary = (PROFILES / "demo" / "models" / "fa-demo-tiny.vocab.json").read_bytes()
    files = []
    for name, data in (("g.onnx", graph), ("v.json", vocabulary)):
        (folder / name).write_bytes(data)
        files.append({"path": name, "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "bytes": len(data)})
    values = {
        "id": "mine",
        "title": "Mine",
        "license": "CC0-1.0",
        "engine": "onnxruntime",
        "adapter": "ctc",
        "dtype": "float32",
        "source": {"kind": "folder"},
        "files": files,
        **changes,
    }
    (folder / "mine.toml").write_text(to_toml(values))
    return str(folder / "mine.toml")


def test_unknown_names(program: Orinbench) -> None:
    """A suite or a model that is not there is named, with what was perhaps meant."""
    suite = program.fails(2, "run", "--suite", "fa-demo-v9", "--model", "fa-demo-tiny")
    model = program.fails(2, "run", "--suite", "fa-demo-v1", "--model", "fa-demo-tin")

    assert "no suite is called 'fa-demo-v9': did you mean 'fa-demo-v1'?" in suite
    assert "no model is called 'fa-demo-tin': did you mean 'fa-demo-tiny'?" in model


@pytest.mark.parametrize("call", [DEMO, ("board",), ("watch", "a"), ("runs",), ("check",), ("top", "--once")])
def test_host_down(tmp_path: Path, call: tuple[str, ...]) -> None:
    """Where nobody listens the line names the address and asks the right question."""
    program = Orinbench(tmp_path, str(tmp_path / "none.sock"))

    line = program.fails(5, *call)

    assert f"unix:{tmp_path}/none.sock: No such file or directory: is orinbenchd running there?" in line


def test_port_of_nobody(tmp_path: Path) -> None:
    """A TCP port nobody listens at is unreachable too."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        line = Orinbench(tmp_path, address).fails(5, "board")

    assert f"cannot reach a board at {address}" in line
    assert "refused" in line


def test_not_a_board(tmp_path: Path) -> None:
    """Something that listens but speaks no gRPC is unreachable within the deadline, not a hang."""
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / "m.sock"))
        mute.listen()
        line = Orinbench(tmp_path, str(tmp_path / "m.sock")).fails(5, "board")

    assert "cannot reach a board" in line


def test_changed_recording(program: Orinbench, recordings: Path) -> None:
    """A recording that is not the one of its digest is named, with both digests."""
    write_suite(recordings, [json.dumps(row(recordings, "a"))], 1)
    (recordings / "a.wav").write_bytes((recordings / "a.wav").read_bytes()[:-2] + b"\1\1")

    assert "a.wav: its digest is sha256:" in run_suite(program, recordings, 2)


def test_changed_model(program: Orinbench, tmp_path: Path) -> None:
    """A model file that is not the one of its digest is named, with both digests."""
    path = model_of(tmp_path, b"first")
    (tmp_path / "g.onnx").write_bytes(b"other")

    line = program.fails(2, "run", "--suite", "fa-demo-v1", "--model", path)

    assert "g.onnx: 5 bytes with digest sha256:" in line


@pytest.mark.parametrize(("rate", "channels"), [(8_000, 1), (44_100, 1), (16_000, 2)])
def test_wrong_format(program: Orinbench, recordings: Path, rate: int, channels: int) -> None:
    """A recording of another rate or with two channels never reaches the board."""
    write_wav(recordings / "a.wav", rate=rate, channels=channels)
    write_suite(recordings, [json.dumps(row(recordings, "a"))], 1)

    assert "inputs are 16000 Hz mono 16 bit" in run_suite(program, recordings, 2)


def test_damaged_wav(program: Orinbench, recordings: Path) -> None:
    """A WAV file that is cut, or is none, is named before anything is sent."""
    (recordings / "a.wav").write_bytes((recordings / "a.wav").read_bytes()[:50])
    write_suite(recordings, [json.dumps(row(recordings, "a"))], 1)
    assert "a.wav: not a whole PCM WAV file" in run_suite(program, recordings, 2)

    (recordings / "a.wav").write_bytes(b"nonsense")
    write_suite(recordings, [json.dumps(row(recordings, "a"))], 1)
    assert "a.wav: not a whole PCM WAV file" in run_suite(program, recordings, 2)


def test_damaged_flac(program: Orinbench, tmp_path: Path) -> None:
    """A FLAC file with a good header and bad content fails the run as bad input; the line names the sample."""
    folder = tmp_path / "mine"
    folder.mkdir()
    whole = (PROFILES / "demo" / "fa-demo-v1" / "audio" / "demo-000.flac").read_bytes()
    data = whole[:8000] + bytes(len(whole) - 8000)
    (folder / "a.flac").write_bytes(data)
    first = (PROFILES / "demo" / "fa-demo-v1" / "manifest.jsonl").read_text().splitlines()[0]
    line = {**json.loads(first), "sample_id": "a", "audio": "a.flac", "audio_sha256": hashlib.sha256(data).hexdigest()}
    write_suite(folder, [json.dumps(line)], 1)

    said = run_suite(program, folder, 3)

    assert "did not succeed: input: " in said


def test_empty_suite(program: Orinbench, recordings: Path) -> None:
    """A suite without samples is refused, whatever it declares."""
    write_suite(recordings, [], 1)
    assert "the suite is empty" in run_suite(program, recordings, 2)

    write_suite(recordings, [], 0)
    assert "samples: Input should be greater than or equal to 1" in run_suite(program, recordings, 2)


def test_damaged_graph(program: Orinbench, tmp_path: Path) -> None:
    """A graph that is no ONNX fails the run by the model's fault, and the next run works."""
    line = program.fails(3, "run", "--suite", "fa-demo-v1", "--model", model_of(tmp_path, b"no graph"))
    assert "did not succeed: model: " in line

    assert '"state": "succeeded"' in program.good(*DEMO, "--json")


def test_unknown_option_of_model(program: Orinbench, tmp_path: Path) -> None:
    """An option the adapter does not know fails the run by the model's fault, by name."""
    graph = (PROFILES / "demo" / "models" / "fa-demo-tiny.onnx").read_bytes()
    path = model_of(tmp_path, graph, options={"beem": 3})

    assert "beem" in program.fails(3, "run", "--suite", "fa-demo-v1", "--model", path)


def test_unknown_runtime(program: Orinbench, tmp_path: Path) -> None:
    """A runtime the board does not have is refused by the board, which names those it has."""
    path = tmp_path / "slow.toml"
    text = Path(null_model(tmp_path, 0)).read_text()
    path.write_text(text.replace('engine = "null"', 'engine = "null"\nruntime = "nemo"'))

    line = program.fails(4, "run", "--suite", "fa-demo-v1", "--model", str(path))

    assert "nemo" in line
    assert "default" in line


def test_other_profile(program: Orinbench) -> None:
    """A board of another hardware profile is refused before anything is sent."""
    line = program.fails(4, *DEMO, "--profile", "agx-orin-64gb-maxn")

    assert "is measured under the profile cpu-dev, not agx-orin-64gb-maxn" in line


@pytest.mark.parametrize("command", ["watch", "cancel", "resume"])
def test_unknown_run(program: Orinbench, command: str) -> None:
    """A run the board does not know is refused by its name."""
    assert "nothing-such" in program.fails(4, command, "nothing-such")


def test_resume_of_success(program: Orinbench) -> None:
    """A run that succeeded cannot go on, and the line says why."""
    name = json.loads(program.good(*DEMO, "--json"))["run"]

    assert "succeeded" in program.fails(4, "resume", name).lower()


def test_results_cannot_be_kept(program: Orinbench, tmp_path: Path) -> None:
    """No run is begun whose results could not be kept."""
    (tmp_path / "file").write_text("")
    before = program.good("runs", "--json")

    assert "file: cannot be made" in program.fails(2, *DEMO, "--results", "file")
    assert before == program.good("runs", "--json")


def test_bad_config_file(program: Orinbench, tmp_path: Path) -> None:
    """A typo in the client's config file is named with its file."""
    (tmp_path / "orinbench").mkdir()
    (tmp_path / "orinbench" / "config.toml").write_text('hots = "x"\n')

    assert "config.toml: hots: only the keys host, token, token_file, ca" in program.fails(2, "board")


def test_refusal_in_words_of_the_board(tmp_path: Path) -> None:
    """What a board refuses reaches the user in the board's own words, whatever lines it has."""
    peer = Peer()

    async def wedged(context: Context) -> None:
        await refuse(context, grpc.StatusCode.UNAVAILABLE, "the GPU does not answer:\npower-cycle it", "BOARD_WEDGED")

    peer.before = [wedged]

    async def main() -> str:
        async with serving(peer, tmp_path / "s"):
            return await asyncio.to_thread(Orinbench(tmp_path, str(tmp_path / "s")).fails, 4, "board")

    assert asyncio.run(main()) == "orinbench: the GPU does not answer: power-cycle it"


def test_tcp_door(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A TCP door takes the right token from a file, a variable or the config, and refuses none and a wrong one."""
    folder = tmp_path_factory.mktemp("d")
    token = make_tokens(folder)["watch"]
    with running(folder, tcp="127.0.0.1:0") as daemon:
        program = Orinbench(tmp_path, f"127.0.0.1:{daemon.ready['tcp_port']}")
        assert "token" in program.fails(4, "board")
        (tmp_path / "wrong").write_text("guess")
        assert "token" in program.fails(4, "board", "--token-file", "wrong")
        (tmp_path / "right").write_text(f"{token}\n")
        assert "boards/" in program.good("board", "--token-file", "right")
        assert "submit" in program.fails(4, *DEMO, "--token-file", "right")


def test_awkward_words(program: Orinbench) -> None:
    """Names nobody would give are refused like any other, without a trace of our insides."""
    for name in ("", " ", "../x", "a/b", "x" * 5000, "سلام", "a\nb", "-1", "\u202eabc"):
        program.fails(4, "cancel", "--", name)


def test_unreadable_files(program: Orinbench, tmp_path: Path) -> None:
    """A declaration, a folder or a token file that cannot be read is named."""
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    assert "bad.toml: not valid TOML" in program.fails(2, "validate", "bad.toml")
    shutil.copytree(PROFILES / "demo" / "models", tmp_path / "folder")
    assert "suite.toml: cannot be read" in program.fails(2, "prepare", "--suite", "folder")
    assert "token file none: cannot be read" in program.fails(2, "board", "--host", "[::1]:1", "--token-file", "none")
