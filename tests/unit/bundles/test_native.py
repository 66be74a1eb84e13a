"""Our own bundles: from records to files and back, over kills and damage."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench.v1.record_pb2 import RECORD_KIND_PROGRESS, Record, RecordBody, SampleRecord
from orinbench_client.bundles.native import PartialRun, read_native, write_native
from orinbench_client.bundles.native_facts import facts_of
from orinbench_client.bundles.records import Frame, RecordLog, pack, read_frames
from orinbench_client.bundles.results import open_bundle
from orinbench_client.errors import BadInput
from orinbench_client.scoring.score import require_complete

from tests.unit.bundles.native_run import PEAK, SAMPLES, NativeRun

WRITER = """
import sys
from pathlib import Path
from orinbench_client.bundles.records import Frame, RecordLog
log = RecordLog(Path(sys.argv[1]))
while True:
    log.append([Frame(log.last_seq + 1, b"x" * 1000)])
    print(log.last_seq, flush=True)
"""


@pytest.fixture
def run() -> NativeRun:
    """A successful run."""
    return NativeRun()


def write(run: NativeRun, results: Path) -> Path:
    """Write a run's bundle where it belongs."""
    path = results / run.suite_id / run.run_id
    write_native(path, run.run(), run.frames())
    return path


def test_bundle_holds_the_records(run: NativeRun, tmp_path: Path) -> None:
    """records.bin holds every body verbatim; the readable files say the same; reading gives the run back."""
    path = write(run, tmp_path)
    back, content = read_native(path)
    lines = [json.loads(line) for line in (path / "samples.jsonl").read_text().splitlines()]

    assert run.frames() == list(read_frames(path / "records.bin"))
    assert run.run() == back
    assert [line["sample_id"] for line in lines] == list(run.references)
    assert lines[2]["window_s"] == 0.102
    assert lines[2]["stages_s"] == {"inference": 0.051}
    assert lines[2]["audio_seconds"] == 12.0
    assert lines[2]["energy_j"] == 4.0
    assert lines[2]["structured"] is None
    assert len((path / "telemetry.jsonl").read_text().splitlines()) == SAMPLES
    assert json.loads((path / "environment.json").read_text())["segments"][0]["model_facts"]["engine"] == "null"
    assert set(content.energy_j.values()) == {2.0, 3.0, 4.0, 5.0, 6.0, 7.0}


def test_facts(run: NativeRun, tmp_path: Path) -> None:
    """The facts boards read are those of the run; what is not known stays unknown."""
    facts = facts_of(*read_native(write(run, tmp_path)))

    assert facts.origin == "orinbench"
    assert facts.state == "succeeded"
    assert facts.memory is not None
    assert (facts.memory.method, facts.memory.peak_bytes) == ("torch-reserved", PEAK)
    assert facts.timing is not None
    assert facts.timing.total_window_ns == 615_000_000
    assert facts.timing.total_audio_ns == 75_000_000_000
    assert facts.energy_uj is not None
    assert facts.energy_uj.sum() == 27_000_000
    assert facts.facts.checkpoint_bytes is None


def test_text_run_has_no_audio(tmp_path: Path) -> None:
    """Without audio or energy there are windows, no audio length, and no energy: not zero."""
    facts = facts_of(*read_native(write(NativeRun(audio=False, energy=False), tmp_path)))

    assert facts.timing is not None
    assert facts.timing.total_audio_ns is None
    assert facts.energy_uj is None


def test_failed_run_is_kept(tmp_path: Path) -> None:
    """A failed run makes a bundle too, with its class and words, and has no score."""
    bundle = open_bundle(write(NativeRun(failed=True), tmp_path))

    assert bundle.facts.state == "failed"
    assert bundle.facts.failure == "hung: no progress for 60 s"


def test_sample_that_counts_twice(tmp_path: Path) -> None:
    """A run with two results of a sample, under indexes of their own, is kept with the cause, and has no score."""

    class Stuffed(NativeRun):
        def _sample(self, index: int, sample_id: str, text: str) -> SampleRecord:
            return super()._sample(index, next(iter(self.references)) if index == 1 else sample_id, text)

    bundle = open_bundle(write(Stuffed(), tmp_path))
    twice = f"sample {bundle.samples[0].sample_id} has 2 results"

    assert twice in bundle.facts.causes[0]
    with pytest.raises(BadInput, match=re.escape(twice)):
        require_complete(bundle.samples, {})


def test_what_is_no_name_is_a_cause(tmp_path: Path) -> None:
    """A model, a suite and digests that no declaration could have keep a run from boards, which would show them."""
    run = NativeRun(model_id="![px](https://a.example)", hardware="`)\n<img src=x>")
    (model, hardware) = open_bundle(write(run, tmp_path)).facts.causes

    assert model == "'![px](https://a.example)' is no name of a model"
    assert hardware == r"'`)\n<img src=x>' is no digest of a hardware profile"


def test_follower_goes_on_after_each_page(run: NativeRun, tmp_path: Path) -> None:
    """A follower that stops after any page opens the partial file again where it ended; nothing is there twice."""
    records = run.records()
    for start in range(0, len(records), 3):
        partial = PartialRun(tmp_path, run.suite_id, run.run_id)
        assert partial.last_seq == start
        assert not partial.finished
        # The daemon may send again what was sent, and bookmarks in between.
        partial.append([*records[:1], Record(kind=RECORD_KIND_PROGRESS), *records[start : start + 3]])
        partial.close()
    partial = PartialRun(tmp_path, run.suite_id, run.run_id)

    assert partial.finished
    assert [body.WhichOneof("body") for body in partial.replay()][-1] == "finished"
    path = partial.finish(run.run())
    assert run.frames() == list(read_frames(path / "records.bin"))
    assert [entry.name for entry in path.parent.iterdir()] == [run.run_id]


@given(st.data())
def test_any_cut_is_mended(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Wherever a kill cuts the file, opening it keeps the whole records and drops the torn one."""
    path = tmp_path_factory.mktemp("log") / "records.bin"
    frames = [Frame(seq, bytes([seq]) * seq) for seq in range(1, 6)]
    whole = b"".join(map(pack, frames))
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    RecordLog(path).close()
    mended = list(read_frames(path))
    log = RecordLog(path)
    kept = log.last_seq
    log.append(frames)
    log.close()

    assert mended == frames[:kept]
    assert kept == max((seq for seq in range(6) if len(b"".join(map(pack, frames[:seq]))) <= cut), default=0)
    assert frames == list(read_frames(path))


def test_killed_writer(tmp_path: Path) -> None:
    """A process killed while it writes leaves a file that the next one continues; what it called safe is there."""
    path = tmp_path / "records.bin"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout is not None
        said = [int(writer.stdout.readline()) for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
    log = RecordLog(path)
    log.append([Frame(log.last_seq + 1, b"y")])
    log.close()

    assert log.last_seq > said[-1]
    assert [frame.seq for frame in read_frames(path)] == list(range(1, log.last_seq + 1))


def test_one_writer_at_a_time(run: NativeRun, tmp_path: Path) -> None:
    """A second follower into the same folder is refused while the first is there, and welcome afterwards."""
    first = PartialRun(tmp_path, run.suite_id, run.run_id)
    with pytest.raises(BadInput, match="another process writes it"):
        PartialRun(tmp_path, run.suite_id, run.run_id)
    first.close()
    PartialRun(tmp_path, run.suite_id, run.run_id).close()


def test_gap_in_the_stream(tmp_path: Path) -> None:
    """A record that does not follow the last one is refused, not written."""
    log = RecordLog(tmp_path / "records.bin")
    with pytest.raises(BadInput, match="record 3 follows 1"):
        log.append([Frame(1, b"a"), Frame(3, b"c")])
    log.close()

    assert list(read_frames(tmp_path / "records.bin")) == [Frame(1, b"a")]


def lose_a_record(frames: list[Frame]) -> list[Frame]:
    return [Frame(seq, frame.body) for seq, frame in enumerate([*frames[:2], *frames[3:]], start=1)]


def change_a_record(frames: list[Frame]) -> list[Frame]:
    body = RecordBody.FromString(frames[1].body)
    body.sample.text += "!"
    return [frames[0], Frame(2, body.SerializeToString()), *frames[2:]]


def claim_another_count(frames: list[Frame]) -> list[Frame]:
    body = RecordBody.FromString(frames[-1].body)
    body.finished.accepted_samples += 1
    return [*frames[:-1], Frame(len(frames), body.SerializeToString())]


def repeat_a_sample(frames: list[Frame]) -> list[Frame]:
    return [Frame(seq, frame.body) for seq, frame in enumerate([*frames[:2], frames[1], *frames[2:]], start=1)]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda frames: frames[:-1], "do not end with `finished`"),
        (lambda frames: [], "do not end with `finished`"),
        (lose_a_record, "records were lost or changed"),
        (change_a_record, "records were lost or changed"),
        (repeat_a_sample, "was there before"),
        (claim_another_count, "6 samples, the verdict says 7"),
        (lambda frames: [*frames, Frame(len(frames) + 1, b"")], "comes after `finished`"),
        (lambda frames: [Frame(1, b"\xff\xff"), *frames[1:]], "not a record of orinbench.v1"),
    ],
)
def test_wrong_records_make_no_bundle(change: object, expected: str, run: NativeRun, tmp_path: Path) -> None:
    """Records that are not those of the verdict are refused, and nothing is left behind."""
    with pytest.raises(BadInput, match=expected):
        write_native(tmp_path / "suite" / "run", run.run(), change(run.frames()))  # type: ignore[operator]

    assert list((tmp_path / "suite").iterdir()) == []


def test_run_that_says_another_digest(run: NativeRun, tmp_path: Path) -> None:
    """A final Run whose digest is not that of the records is refused; the partial file stays for another try."""
    partial = PartialRun(tmp_path, run.suite_id, run.run_id)
    partial.append(run.records())
    ended = run.run()
    ended.record_digest = "sha256:" + "0" * 64
    with pytest.raises(BadInput, match="but the run says"):
        partial.finish(ended)

    assert PartialRun(tmp_path, run.suite_id, run.run_id).finish(run.run()).is_dir()


@pytest.mark.parametrize("name", ["records.bin", "samples.jsonl", "run.json", "telemetry.jsonl"])
def test_changed_bundle_is_refused(name: str, run: NativeRun, tmp_path: Path) -> None:
    """A file of the board's part that was changed is noticed on reading."""
    path = write(run, tmp_path)
    (path / name).write_bytes((path / name).read_bytes() + b" ")

    with pytest.raises(BadInput, match="changed since the bundle was written"):
        open_bundle(path)


def test_records_outweigh_a_forged_manifest(run: NativeRun, tmp_path: Path) -> None:
    """Whoever changes records and writes the manifest anew is still caught by the digest of the verdict."""
    from orinbench_client.bundles.files import write_manifest

    path = write(run, tmp_path)
    frames = change_a_record(run.frames())
    (path / "records.bin").write_bytes(b"".join(map(pack, frames)))
    (path / "manifest.json").unlink()
    write_manifest(path)

    with pytest.raises(BadInput, match="records were lost or changed"):
        open_bundle(path)


def test_a_bundle_is_never_written_over(run: NativeRun, tmp_path: Path) -> None:
    """A folder that is there stops the writer; the one there stays as it is."""
    path = write(run, tmp_path)
    with pytest.raises(BadInput, match="is there already"):
        write(run, tmp_path)

    assert open_bundle(path).facts.run_id == run.run_id


@pytest.mark.parametrize("name", ["../x", "", ".hidden", "a/b", "a" * 201])
def test_names_of_a_board_are_no_paths(name: str, tmp_path: Path) -> None:
    """A daemon that names a run like a path makes no folder anywhere."""
    with pytest.raises(BadInput, match="no name for a folder"):
        PartialRun(tmp_path / "results", "suite", name)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "axis"),
    [
        ({"window_ms": 0}, "speed"),
        ({"window_ms": 10**9}, "speed"),
        ({"joules": -1.0}, "energy"),
        ({"joules": 1e300}, "energy"),
    ],
)
def test_broken_readings_void_their_axis(changes: dict[str, float], axis: str, tmp_path: Path) -> None:
    """A window of nothing or of days, an energy below zero or beyond all measure: not ranked by, never counted."""
    facts = facts_of(*read_native(write(NativeRun(**changes), tmp_path)))  # type: ignore[arg-type]

    assert axis in facts.unread
    assert (facts.timing if axis == "speed" else facts.energy_uj) is None
