"""One validator a promise of docs/promises.md, over what clients recorded. Each raises AssertionError and says where.

They know the public protos alone: they judge a board by what it told its clients.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from orinbench.v1 import record_pb2 as pb

_ENDED = (pb.RUN_STATE_SUCCEEDED, pb.RUN_STATE_FAILED, pb.RUN_STATE_CANCELLED)
_NEXT = {
    None: {pb.RUN_STATE_QUEUED},
    pb.RUN_STATE_QUEUED: {pb.RUN_STATE_PREPARING, pb.RUN_STATE_CANCELLING},
    pb.RUN_STATE_PREPARING: {pb.RUN_STATE_RUNNING, pb.RUN_STATE_FINISHING},
    pb.RUN_STATE_RUNNING: {pb.RUN_STATE_PAUSED, pb.RUN_STATE_FINISHING},
    pb.RUN_STATE_PAUSED: {pb.RUN_STATE_RUNNING},
    pb.RUN_STATE_FINISHING: {pb.RUN_STATE_SUCCEEDED},
    pb.RUN_STATE_CANCELLING: {pb.RUN_STATE_CANCELLED},
    pb.RUN_STATE_SUCCEEDED: set(),
    pb.RUN_STATE_CANCELLED: set(),
    pb.RUN_STATE_FAILED: {pb.RUN_STATE_QUEUED},
}
# What an active run may always come to: its failure, its cancellation, the death of its daemon.
_ACTIVE = (pb.RUN_STATE_PREPARING, pb.RUN_STATE_RUNNING, pb.RUN_STATE_PAUSED, pb.RUN_STATE_FINISHING)
_ALWAYS = {pb.RUN_STATE_FAILED, pb.RUN_STATE_CANCELLING, pb.RUN_STATE_QUEUED}


@dataclass(frozen=True)
class Stream:
    """What one stream gave: the cursor it was asked to begin behind, and the records that came, bookmarks left out."""

    after_seq: int
    records: Sequence[pb.Record]


def body(record: pb.Record) -> pb.RecordBody:
    """Decode a record."""
    return pb.RecordBody.FromString(record.body)


def samples_of(records: Iterable[pb.Record]) -> list[pb.SampleRecord]:
    """Return the sample records."""
    return [body(record).sample for record in records if record.kind == pb.RECORD_KIND_SAMPLE]


def finished_of(records: Sequence[pb.Record]) -> pb.FinishedRecord:
    """Return the verdict, which must be the last record."""
    assert records[-1].kind == pb.RECORD_KIND_FINISHED, f"the last record is {body(records[-1])}"
    return body(records[-1]).finished


def durable(streams: Iterable[Stream], history: Sequence[pb.Record]) -> None:
    """Whatever any client has ever seen of a run is in its history, byte for byte."""
    for stream in streams:
        for record in stream.records:
            assert record.seq <= len(history), f"seq {record.seq} was seen and is lost: {body(record)}"
            kept = history[record.seq - 1]
            assert record == kept, f"seq {record.seq} was seen as {body(record)} and is now {body(kept)}"


def ordered(stream: Stream) -> None:
    """A stream gives every seq behind its cursor, in order, without a gap, and each body is of the kind it says."""
    found = [record.seq for record in stream.records]
    expected = list(range(stream.after_seq + 1, stream.after_seq + 1 + len(found)))
    assert found == expected, f"after {stream.after_seq} came {found[:20]}…"
    for record in stream.records:
        name = pb.RecordKind.Name(record.kind).removeprefix("RECORD_KIND_").lower()
        assert body(record).WhichOneof("body") == name, f"seq {record.seq} is called {name} and is {body(record)}"


def unique(history: Sequence[pb.Record]) -> None:
    """No sample has two accepted results, and none has two energies."""
    indices = [sample.index for sample in samples_of(history)]
    assert indices == list(range(len(indices))), f"samples came as {indices}"
    energies = [body(record).energy.index for record in history if record.kind == pb.RECORD_KIND_ENERGY]
    assert len(energies) == len(set(energies)), "a sample has two energies"


def resumable(streams: Sequence[Stream]) -> None:
    """Streams of one client, each asked for from where the last one stopped, make one history without a seam."""
    for before, after in pairwise(streams):
        reached = before.records[-1].seq if before.records else before.after_seq
        assert after.after_seq == reached, f"a stream stopped at {reached}, the next was asked from {after.after_seq}"
    ordered(Stream(streams[0].after_seq, [record for stream in streams for record in stream.records]))


def complete(history: Sequence[pb.Record], samples: int) -> None:
    """A history ends in a verdict that counts and hashes it; success means a result for every planned sample."""
    finished = finished_of(history)
    state = hashlib.sha256()
    for record in history[:-1]:
        state.update(record.seq.to_bytes(8, "big") + len(record.body).to_bytes(4, "big") + record.body)
    assert finished.record_digest == "sha256:" + state.hexdigest(), "the verdict is about other records"
    assert finished.record_count == len(history) - 1
    accepted = len(samples_of(history))
    assert (finished.accepted_samples, finished.planned_samples) == (accepted, samples)
    if finished.state == pb.RUN_STATE_SUCCEEDED:
        assert accepted == samples, f"succeeded with {accepted} of {samples} samples"


def honest(history: Sequence[pb.Record]) -> None:
    """States follow each other as they may, segments are visible, and an interrupted run says so."""
    state: pb.RunState | None = None
    segment = 0
    violations: list[pb.Violation] = []
    for record in history:
        content = body(record)
        if record.kind == pb.RECORD_KIND_STATE:
            entered = content.state
            allowed = _NEXT[state] | (_ALWAYS if state in _ACTIVE else set())
            assert entered.state in allowed, f"seq {record.seq}: {_name(entered.state)} after {_name(state)}"
            state = entered.state
            begins = state == pb.RUN_STATE_PREPARING
            segment += begins
            assert entered.segment.number == segment, f"seq {record.seq}: segment {entered.segment.number}"
            assert (state == pb.RUN_STATE_FAILED) == entered.HasField("failure")
        elif record.kind == pb.RECORD_KIND_SAMPLE:
            assert state in (pb.RUN_STATE_RUNNING, pb.RUN_STATE_PAUSED), f"seq {record.seq}: a sample in {_name(state)}"
            assert content.sample.segment == segment, f"seq {record.seq}: a sample of segment {content.sample.segment}"
        elif record.kind == pb.RECORD_KIND_VIOLATION:
            violations.append(content.violation.violation)
        elif record.kind == pb.RECORD_KIND_FINISHED:
            finished = content.finished
            assert state in _ENDED and finished.state == state
            assert list(finished.violations) == violations, "the verdict has other violations than the history"
            assert finished.HasField("failure") == (state == pb.RUN_STATE_FAILED)
    if state == pb.RUN_STATE_SUCCEEDED:
        _marks_interruption(segment, violations)


def _marks_interruption(segments: int, violations: Sequence[pb.Violation]) -> None:
    resumed = [violation for violation in violations if violation.reason == "RESUMED"]
    assert (segments > 1) == bool(resumed), f"{segments} segments, {len(resumed)} marks"
    for mark in resumed:
        assert list(mark.voids) == [pb.AXIS_SPEED, pb.AXIS_ENERGY]


def exclusive(histories: Iterable[Sequence[pb.Record]]) -> None:
    """Of all runs of a board, no two timed windows overlap: there is one worker at a time."""
    windows = [
        (sample.start_monotonic_ns, sample.start_monotonic_ns + sample.window_ns, sample.sample_id)
        for history in histories
        for sample in samples_of(history)
    ]
    for before, after in pairwise(sorted(windows)):
        assert before[1] <= after[0], f"the windows {before} and {after} overlap"


@dataclass(frozen=True)
class Size:
    """What a daemon holds: open file descriptors, threads, child processes, resident bytes."""

    files: int
    threads: int
    children: int
    rss: int


# Pools of threads and of connections to the journal are filled when they are first needed.
_POOLS = 5


def bounded(before: Size, after: Size, rss_growth: int = 48 << 20) -> None:
    """After many more runs, and clients that came and went, a daemon that is idle again holds what it held before.

    There must be more than six runs between: less than one file or thread a run is taken for a pool that was filled.
    """
    assert after.files - before.files <= _POOLS, f"{after.files - before.files} file descriptors leaked"
    assert after.threads - before.threads <= _POOLS, f"{after.threads - before.threads} threads leaked"
    assert after.children == before.children, f"{after.children - before.children} processes leaked"
    assert after.rss - before.rss <= rss_growth, f"resident memory rose by {after.rss - before.rss >> 20} MiB"


def whole(history: Sequence[pb.Record], samples: int) -> pb.FinishedRecord:
    """Hold one run's whole history against every promise that is about one run; return its verdict."""
    ordered(Stream(0, history))
    unique(history)
    complete(history, samples)
    honest(history)
    return finished_of(history)


def _name(state: pb.RunState | None) -> str:
    return "the beginning" if state is None else pb.RunState.Name(state)
