"""Who measured what: a real run, signed by its board; then every way to make it say something else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from nacl.signing import SigningKey
from orinbench.v1.record_pb2 import RecordBody, Verdict
from orinbench.v1.run_pb2 import Run
from orinbench_client.bundles.files import write_manifest
from orinbench_client.bundles.native import read_run
from orinbench_client.bundles.records import Frame, RecordDigest, pack, read_frames
from orinbench_client.cli.main import main
from orinbench_profiles.digest import canonical_json
from orinbenchd.signing import BoardKey

from tests.integration.cli.program import Orinbench
from tests.integration.harness import Daemon


class Board:
    """A results folder with one run of a trusted board, and its leaderboards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trust = folder / "trust.json"
        (self.bundle,) = (folder / "results" / "fa-demo-v1").iterdir()

    def make(self, *options: str) -> dict[str, Any]:
        """Make the leaderboard and return it."""
        out = self.folder / "boards"
        arguments = ["leaderboard", "--results", str(self.folder / "results"), "--out", str(out)]
        assert main([*arguments, "--trust", str(self.trust), *options]) == 0
        content: dict[str, Any] = json.loads((out / "leaderboard.json").read_text())
        return content

    def forge(self, change: Callable[[Run, list[RecordBody]], None]) -> None:
        """Change the run and its records, and make everything that can be counted anew fit again."""
        run = read_run(self.bundle)
        old = list(read_frames(self.bundle / "records.bin"))
        bodies = [RecordBody.FromString(frame.body) for frame in old]
        change(run, bodies)
        # What was not changed keeps its bytes: a map may be written in another order.
        same = [RecordBody.FromString(frame.body) == body for frame, body in zip(old, bodies, strict=True)]
        frames = [
            frame if kept else Frame(frame.seq, body.SerializeToString())
            for frame, body, kept in zip(old[:-1], bodies, same, strict=False)
        ]
        digest = RecordDigest()
        for frame in frames:
            digest.add(frame)
        finished = bodies[-1].finished
        finished.record_digest = run.record_digest = digest.value
        finished.signed_verdict, finished.signature = run.signed_verdict, run.signature
        frames.append(Frame(len(bodies), bodies[-1].SerializeToString()))
        (self.bundle / "records.bin").write_bytes(b"".join(map(pack, frames)))
        content = MessageToDict(run, preserving_proto_field_name=True)
        (self.bundle / "run.json").write_bytes(canonical_json(content))
        (self.bundle / "manifest.json").unlink()
        scores = self.bundle / "scores"
        kept = shutil.move(scores, self.folder / "scores")
        write_manifest(self.bundle)
        shutil.move(kept, scores)


def ranked(made: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a leaderboard."""
    rows: list[dict[str, Any]] = made["boards"]["accuracy"]["rows"]
    return rows


@pytest.fixture(scope="module")
def measured(shared: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of the demo, fetched, scored, and its board trusted."""
    folder = tmp_path_factory.mktemp("measured")
    program = Orinbench(folder, shared)
    outcome = json.loads(program.good("run", "--suite", "fa-demo-v1", "--model", "fa-demo-tiny", "--json"))
    key_id = json.loads(program.good("board", "--json"))["key_id"]
    assert outcome["signature"] == {"standing": "unknown", "key_id": key_id, "signer": ""}
    said = program.good("trust", "add", "lab", "--trust", "trust.json")
    assert said == f"lab is trusted by {key_id} (trust.json)"
    assert program.good("trust", "list", "--trust", "trust.json").splitlines()[1].split() == ["lab", key_id]
    return folder


@pytest.fixture
def board(measured: Path, tmp_path: Path) -> Board:
    """A copy to spoil."""
    shutil.copytree(measured, tmp_path / "copy")
    return Board(tmp_path / "copy")


def test_a_run_of_a_trusted_board_is_marked_and_ranked(board: Board) -> None:
    """Trusted by name with the list, unknown by its key without; an official board ranks the trusted alone."""
    made = board.make("--trusted-only")
    (row,) = made["signatures"]
    assert (row["signature"], row["signed_by"], len(ranked(made))) == ("trusted", "lab", 1)
    assert "trusted (lab)" in (board.folder / "boards" / "leaderboard.md").read_text()

    assert main(["trust", "remove", "lab", "--trust", str(board.trust)]) == 0
    made = board.make()
    (row,) = made["signatures"]
    assert (row["signature"], row["signed_by"][:7], len(ranked(made))) == ("unknown", "sha256:", 1)
    official = board.make("--trusted-only")
    assert ranked(official) == []
    (entry,) = official["unranked"]
    assert (entry["signature"], "not signed by a trusted board" in entry["cause"]) == ("unknown", True)


def no_violations(run: Run, bodies: list[RecordBody]) -> None:
    run.ClearField("violations")
    bodies[-1].finished.ClearField("violations")


def other_text(_: Run, bodies: list[RecordBody]) -> None:
    next(body for body in bodies if body.WhichOneof("body") == "sample").sample.text += "x"


def less_memory(run: Run, bodies: list[RecordBody]) -> None:
    for memory in (run.memory, bodies[-1].finished.memory):
        memory.peak_rss_bytes -= 1


def other_model(run: Run, _: list[RecordBody]) -> None:
    run.plan.model_id = "better"


def other_suite(run: Run, _: list[RecordBody]) -> None:
    run.plan.suite_digest = "sha256:" + "0" * 64


def other_end(run: Run, _: list[RecordBody]) -> None:
    run.end_time.seconds += 1


def other_board(run: Run, _: list[RecordBody]) -> None:
    run.board = "boards/faster"


def one_bit(run: Run, _: list[RecordBody]) -> None:
    run.signature = bytes([run.signature[0] ^ 1]) + run.signature[1:]


def flipped_verdict(run: Run, _: list[RecordBody]) -> None:
    verdict = Verdict.FromString(run.signed_verdict)
    verdict.ClearField("violations")
    run.ClearField("violations")
    run.signed_verdict = verdict.SerializeToString()


def named_key(run: Run, _: list[RecordBody]) -> None:
    """Sign with a key of one's own and name the trusted one."""
    own, trusted = BoardKey(SigningKey.generate()), Verdict.FromString(run.signed_verdict).board_key_id
    own.sign(run)
    verdict = Verdict.FromString(run.signed_verdict)
    verdict.board_key_id = trusted
    run.signed_verdict = verdict.SerializeToString()


FORGERIES = {
    "violations": no_violations,
    "record digest": other_text,
    "memory": less_memory,
    "model id": other_model,
    "suite digest": other_suite,
    "end time": other_end,
    "board": other_board,
    "was not made by the key": one_bit,
    "not made by the key it names": flipped_verdict,
    "it names": named_key,
}


@pytest.mark.parametrize("named", FORGERIES)
def test_whatever_is_changed_is_shown_as_invalid(named: str, board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    """With every digest made to fit again, the signature still does not hold: listed as invalid, ranked nowhere."""
    board.forge(FORGERIES[named])
    if named == "record digest":
        shutil.rmtree(board.bundle / "scores")

    made = board.make()
    (entry,) = made["unranked"]
    assert ranked(made) == []
    assert entry["signature"] == "invalid"
    assert entry["cause"].startswith("signature invalid: ")
    assert named in entry["cause"]
    assert "not ranked: signature invalid" in capsys.readouterr().err


def test_a_key_of_ones_own_is_never_trusted(board: Board) -> None:
    """Whoever forges a run and signs it with another key gets a row that says so, and none on an official board."""

    def forge(run: Run, bodies: list[RecordBody]) -> None:
        no_violations(run, bodies)
        BoardKey(SigningKey.generate()).sign(run)

    board.forge(forge)
    (row,) = board.make()["signatures"]
    assert row["signature"] == "unknown"
    assert ranked(board.make("--trusted-only")) == []


def test_a_signature_taken_away_is_no_trusted_one(board: Board) -> None:
    """Without a signature a run is of nobody."""

    def strip(run: Run, _: list[RecordBody]) -> None:
        run.signed_verdict = run.signature = b""

    board.forge(strip)
    (row,) = board.make()["signatures"]
    assert (row["signature"], row["signed_by"]) == ("unknown", None)


@pytest.mark.parametrize("name", ["records.bin", "run.json", "samples.jsonl", "environment.json", "telemetry.jsonl"])
def test_one_byte_is_noticed(name: str, board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of the bundle with one byte changed stops the leaderboard and is named: exit code 2, nothing written."""
    data = bytearray((board.bundle / name).read_bytes())
    data[len(data) // 2] ^= 1
    (board.bundle / name).write_bytes(data)

    out = board.folder / "boards"
    assert main(["leaderboard", "--results", str(board.folder / "results"), "--out", str(out)]) == 2
    assert name in capsys.readouterr().err
    assert not out.exists()


def test_wrong_trust_is_one_line(board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    """A name or key that is taken, a key that is none, a damaged list: exit code 2, and the list stays as it is."""
    before = board.trust.read_bytes()
    key = json.loads(before)["boards"][0]["key"]
    other = str(BoardKey(SigningKey.generate()))
    (board.folder / "broken.json").write_text(before.decode().replace(key, "ed25519:AAAA"))
    for arguments, wanted in (
        (["add", "lab", "--key", other], "is trusted by another key"),
        (["add", "again", "--key", key], "is trusted already, as lab"),
        (["add", "x", "--key", "ed25519:AAAA"], "no public key of a board"),
        (["add", "x", "--key", "none.pub"], "none.pub: cannot be read"),
        (["add", "../x", "--key", other], "name"),
        (["remove", "x"], "trusts no 'x' (there are: lab)"),
    ):
        assert main(["trust", *arguments, "--trust", str(board.trust)]) == 2
        line = capsys.readouterr().err
        assert wanted in line
        assert line.count("\n") == 1
    assert main(["trust", "list", "--trust", str(board.folder / "broken.json")]) == 2
    assert board.trust.read_bytes() == before


def test_the_key_a_board_shows_can_be_trusted_from_a_file(
    shared: Daemon, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `orinbenchd key` prints is what `trust add --key` reads; the private key is the daemon's alone."""
    from orinbenchd.cli import main as orinbenchd

    with pytest.raises(SystemExit):
        orinbenchd(["--config", str(shared.config), "key"])
    shown = capsys.readouterr()
    (tmp_path / "lab.pub").write_text(shown.out)
    trust = str(tmp_path / "trust.json")
    assert main(["trust", "add", "lab", "--key", str(tmp_path / "lab.pub"), "--trust", trust]) == 0
    fingerprint = capsys.readouterr().out.split()[4]
    assert fingerprint in shown.err
    private = shared.folder / "data" / "board.key"
    assert private.stat().st_mode & 0o777 == 0o600
    assert private.read_text().strip() not in shared.log + shown.out + shown.err
