"""Makes record bodies: serialised once, here, and never touched again."""

from __future__ import annotations

import struct
import time

from google.protobuf.timestamp_pb2 import Timestamp
from orinbench.v1 import record_pb2 as pb

# What the digest of a run takes in before each body: seq and the body's length.
FRAME_HEAD = struct.Struct(">QI")


def now() -> Timestamp:
    """Return the wall clock as a label."""
    stamp = Timestamp()
    stamp.FromNanoseconds(time.time_ns())
    return stamp


def state_body(record: pb.StateRecord) -> bytes:
    """Serialise a state record."""
    return pb.RecordBody(time=now(), state=record).SerializeToString()


def violation_body(violation: pb.Violation) -> bytes:
    """Serialise a violation record."""
    return pb.RecordBody(time=now(), violation=pb.ViolationRecord(violation=violation)).SerializeToString()


def energy_body(energy: pb.EnergyRecord) -> bytes:
    """Serialise an energy record."""
    return pb.RecordBody(time=now(), energy=energy).SerializeToString()


def telemetry_body(record: pb.TelemetryRecord) -> bytes:
    """Serialise a telemetry record."""
    return pb.RecordBody(time=now(), telemetry=record).SerializeToString()


def log_body(level: pb.LogLevel, origin: str, message: str) -> bytes:
    """Serialise a line for people."""
    line = pb.LogRecord(level=level, origin=origin, message=message)
    return pb.RecordBody(time=now(), log=line).SerializeToString()


def finished_body(record: pb.FinishedRecord) -> bytes:
    """Serialise the verdict."""
    return pb.RecordBody(time=now(), finished=record).SerializeToString()


def progress_body(record: pb.ProgressRecord) -> bytes:
    """Serialise a bookmark."""
    return pb.RecordBody(time=now(), progress=record).SerializeToString()
