"""Peak memory of a run: the greatest of what its segments measured."""

from __future__ import annotations

from orinbench.v1 import record_pb2 as pb

_PEAKS = [field.name for field in pb.MemoryReading.DESCRIPTOR.fields if field.name != "method"]


def keep_peaks(kept: pb.MemoryReading, reading: pb.MemoryReading) -> None:
    """Raise `kept` to a further reading of the same run; what that does not tell stays as it is."""
    if reading.method:
        kept.method = reading.method
    for name in _PEAKS:
        if reading.HasField(name):
            value = getattr(reading, name)
            setattr(kept, name, max(value, getattr(kept, name)) if kept.HasField(name) else value)
