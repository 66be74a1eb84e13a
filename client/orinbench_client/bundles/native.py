"""Our own bundles: written from the records of a run, checked against the digest of its verdict, read back.

The board's part (``run.json records.bin samples.jsonl telemetry.jsonl environment.json manifest.json``) is written
once and never changed. ``records.bin`` is the truth; the readable files beside it are made from it.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import DecodeError, Message
from orinbench.v1.record_pb2 import (
    RUN_STATE_FAILED,
    RUN_STATE_QUEUED,
    FinishedRecord,
    Record,
    RecordBody,
    SampleRecord,
    StateRecord,
)
from orinbench.v1.run_pb2 import Run
from orinbench.v1.telemetry_pb2 import Telemetry
from orinbench_profiles.digest import canonical_json

from orinbench_client.bundles.files import new_folder, read_json, verify_manifest, write_manifest
from orinbench_client.bundles.records import Frame, RecordDigest, RecordLog, pack, read_frames
from orinbench_client.errors import BadInput

RECORDS = "records.bin"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")


class PartialRun:
    """A run that is being followed: ``results/<suite>/.partial-<run>/records.bin``.

    Opening it again after a kill goes on where the file ends: ask for records after `last_seq`; `replay` gives what
    is there already, `finished` tells that nothing more will come. Only one process can have it open; a second one, and
    names that are no folder's, raise BadInput.
    """

    def __init__(self, results: Path, suite_id: str, run_id: str) -> None:
        for name in (suite_id, run_id):
            if not _NAME.match(name):
                raise BadInput(f"{name!r}: no name for a folder: what the board sent is not to be trusted with paths")
        self.destination = results / suite_id / run_id
        self._folder = _partial_of(self.destination)
        self._log = RecordLog(self._folder / RECORDS)
        self.finished = False
        for body in self.replay():
            self.finished = body.WhichOneof("body") == "finished"

    @property
    def last_seq(self) -> int:
        """Seq of the last record that is safe on the disk."""
        return self._log.last_seq

    def replay(self) -> Iterator[RecordBody]:
        """Yield the records that are there, decoded, in order."""
        for frame in read_frames(self._log.path):
            yield decode(frame)

    def whole(self, run: Run) -> bool:
        """Tell whether nothing more is to come of a run: it has ended, and all of it is here or in its bundle."""
        return (self.finished and self.last_seq >= run.last_seq) or _is_bundle_of(self.destination, run)

    def append(self, records: Iterable[Record]) -> None:
        """Keep a page of records; bookmarks (seq 0) are passed over. On the disk when this returns."""
        frames = [Frame(record.seq, record.body) for record in records if record.seq]
        self._log.append(frames)
        if frames:
            self.finished = decode(frames[-1]).WhichOneof("body") == "finished"

    def finish(self, run: Run) -> Path:
        """Make the bundle of the ended run, remove the partial file, and return the bundle's folder.

        A bundle of the same run from before it was resumed gives way. Raises BadInput when the records do not have the
        digest of the verdict; the partial file then stays.
        """
        self._log.close()
        if make_way(self.destination, run):
            write_native(self.destination, run, read_frames(self._log.path))
        shutil.rmtree(self._folder)
        return self.destination

    def close(self) -> None:
        """Let go of the file and keep it for the next time."""
        self._log.close()


def make_way(destination: Path, run: Run) -> bool:
    """Tell whether the bundle of a run is still to be written; one from before the run was resumed is taken away.

    It is gone for good when the partial run is discarded.
    """
    if _is_bundle_of(destination, run):
        return False
    if destination.exists():
        superseded = _partial_of(destination) / "superseded"
        # In one step: a folder that is half removed would be taken for a damaged bundle.
        shutil.rmtree(superseded, ignore_errors=True)
        superseded.parent.mkdir(exist_ok=True)
        destination.rename(superseded)
    return True


def fetched(results: Path, run: Run) -> Path | None:
    """Return the bundle of a run if all of it was fetched before and put away, so that nothing need be written."""
    bundle = results / run.plan.suite_id / run.name.removeprefix("runs/")
    return bundle if not _partial_of(bundle).exists() and _is_bundle_of(bundle, run) else None


def discard_partial(results: Path, suite_id: str, run_id: str) -> None:
    """Remove what was fetched of a run that nobody will follow to its end."""
    shutil.rmtree(_partial_of(results / suite_id / run_id), ignore_errors=True)


def _partial_of(bundle: Path) -> Path:
    return bundle.with_name(f".partial-{bundle.name}")


def _is_bundle_of(folder: Path, run: Run) -> bool:
    # A bundle from before the run was resumed has another digest.
    return folder.exists() and read_run(folder).record_digest == run.record_digest


def decode(frame: Frame) -> RecordBody:
    """Return the content of a record. Raises BadInput when its bytes are none."""
    try:
        return RecordBody.FromString(frame.body)
    except DecodeError:
        raise BadInput(f"record {frame.seq}: its bytes are not a record of orinbench.v1") from None


def write_native(destination: Path, run: Run, frames: Iterable[Frame]) -> None:
    """Write the bundle of an ended run, whole or not at all.

    `frames` are all records, `finished` last. Raises BadInput when they are not those of the verdict, or when
    `destination` is there.
    """
    with new_folder(destination) as folder:
        content = _write_records(folder, frames)
        _check_verdict(run, content)
        content.write(folder)
        (folder / "run.json").write_bytes(canonical_json(_to_dict(run)))
        write_manifest(folder)


class NativeContent:
    """What the records of a run hold, gathered in order."""

    def __init__(self) -> None:
        self.digest = RecordDigest()
        self.samples: dict[int, SampleRecord] = {}
        self.energy_j: dict[int, float] = {}
        self.finished: FinishedRecord | None = None
        self.telemetry: list[Telemetry] = []
        self.states: list[StateRecord] = []
        self._verdict: Frame | None = None

    def take(self, frame: Frame) -> None:
        """Take in the next record.

        Raises BadInput for a sample that came before, and for a record after `finished`, unless it says that the failed
        run was resumed: the verdict before it is then a record like any other.
        """
        body = decode(frame)
        if self._verdict is not None:
            if self.finished is None or self.finished.state != RUN_STATE_FAILED or body.state.state != RUN_STATE_QUEUED:
                raise BadInput(f"record {frame.seq}: comes after `finished`")
            self.digest.add(self._verdict)
            self._verdict = self.finished = None
        kind = body.WhichOneof("body")
        if kind == "finished":
            self.finished, self._verdict = body.finished, frame
            return
        self.digest.add(frame)
        if kind == "sample":
            if body.sample.index in self.samples:
                raise BadInput(f"record {frame.seq}: sample {body.sample.sample_id} was there before")
            self.samples[body.sample.index] = body.sample
        elif kind == "energy" and body.energy.HasField("energy_j") and math.isfinite(body.energy.energy_j):
            self.energy_j[body.energy.index] = body.energy.energy_j
        elif kind == "telemetry":
            self.telemetry.append(body.telemetry.telemetry)
        elif kind == "state":
            self.states.append(body.state)

    def ordered(self) -> list[SampleRecord]:
        """Return the samples in the order of the suite."""
        return [self.samples[index] for index in sorted(self.samples)]

    def write(self, folder: Path) -> None:
        """Write the readable files."""
        lines = (canonical_json(_sample_line(sample, self.energy_j.get(sample.index))) for sample in self.ordered())
        (folder / "samples.jsonl").write_bytes(b"".join(lines))
        telemetry = (canonical_json(_to_dict(reading)) for reading in self.telemetry)
        (folder / "telemetry.jsonl").write_bytes(b"".join(telemetry))
        segments = [_to_dict(state) for state in self.states if state.HasField("model_facts")]
        (folder / "environment.json").write_bytes(canonical_json({"segments": segments}))


def _write_records(folder: Path, frames: Iterable[Frame]) -> NativeContent:
    content = NativeContent()
    with (folder / RECORDS).open("wb") as file:
        for frame in frames:
            content.take(frame)
            file.write(pack(frame))
    return content


def _check_verdict(run: Run, content: NativeContent) -> None:
    finished, digest = content.finished, content.digest
    if finished is None:
        raise BadInput(f"{run.name}: its records do not end with `finished`: follow it to its end first")
    for source, count, value in (
        ("the last record", finished.record_count, finished.record_digest),
        ("the run", run.record_count, run.record_digest),
    ):
        if (count, value) != (digest.count, digest.value):
            raise BadInput(
                f"{run.name}: {digest.count} records with digest {digest.value}, but {source} says"
                f" {count} with {value or 'none'}: records were lost or changed"
            )
    if finished.accepted_samples != len(content.samples):
        raise BadInput(f"{run.name}: {len(content.samples)} samples, the verdict says {finished.accepted_samples}")


def read_native(folder: Path) -> tuple[Run, NativeContent]:
    """Read a bundle and check its manifest, its records and its verdict. Raises BadInput."""
    verify_manifest(folder)
    run = read_run(folder)
    content = NativeContent()
    for frame in read_frames(folder / RECORDS):
        content.take(frame)
    _check_verdict(run, content)
    return run, content


def read_run(folder: Path) -> Run:
    """Return the run of a native bundle. Raises BadInput."""
    path = folder / "run.json"
    try:
        return ParseDict(read_json(path), Run(), ignore_unknown_fields=True)
    except ParseError as error:
        raise BadInput(f"{path}: not a run of orinbench.v1: {error}") from None


def _to_dict(message: Message) -> dict[str, Any]:
    return MessageToDict(message, preserving_proto_field_name=True)


def _sample_line(sample: SampleRecord, energy_j: float | None) -> dict[str, object]:
    optional = ("prompt_tokens", "output_tokens")
    return {
        "index": sample.index,
        "sample_id": sample.sample_id,
        "segment": sample.segment,
        "text": sample.text,
        "structured": _structured(sample.structured_json),
        "window_s": sample.window_ns / 1e9,
        "stages_s": {stage.name: stage.duration_ns / 1e9 for stage in sample.stages},
        "audio_seconds": audio_seconds(sample),
        "energy_j": energy_j,
        "first_token_s": sample.first_token_ns / 1e9 if sample.HasField("first_token_ns") else None,
        **{name: getattr(sample, name) if sample.HasField(name) else None for name in optional},
    }


def audio_seconds(sample: SampleRecord) -> float | None:
    """Return the length of a sample's audio; None where there is none, or it is no length of a recording."""
    known = sample.HasField("audio_seconds") and 1e-6 <= sample.audio_seconds <= 1e6
    return sample.audio_seconds if known else None


def answer_of(sample: SampleRecord) -> str | None:
    """Return the answer that the adapter of a thinking model told apart from its thoughts; None where it did not."""
    structured = _structured(sample.structured_json)
    answer = structured.get("answer_text") if isinstance(structured, dict) else None
    return answer if isinstance(answer, str) else None


def _structured(text: str) -> object:
    if not text:
        return None
    try:
        value = json.loads(text)
        canonical_json(value)
    except ValueError:
        return text
    return value
