"""A native run as its records tell it: a board signs their digest, and not all that run.json says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from orinbench.v1.run_pb2 import Run
from orinbench.v1.telemetry_pb2 import Telemetry

from orinbench_client.bundles.model import RunFacts
from orinbench_client.bundles.native import NativeContent

#: What the verdict leaves out and records tell: see docs/security.md.
_FIELDS = ("segments", "environment", "failure")


class Recorded(NamedTuple):
    """A run with its telemetry. `unsigned` are the fields of the run that stand in run.json and in no record."""

    run: Run
    telemetry: Sequence[Telemetry]
    unsigned: frozenset[str]

    def remark(self, field: str, facts: RunFacts) -> str:
        """Return what stands behind the heading of a field: that it is not signed, where the rest of the run is."""
        return " (not signed)" if facts.key_id and field in self.unsigned else ""


def recorded(run: Run, content: NativeContent) -> Recorded:
    """Return a run with segments, environment and failure as its records have them, else as run.json has them."""
    told = Run()
    for state in content.states:
        if state.HasField("segment") and state.segment.number > len(told.segments):
            told.segments.append(state.segment)
        if state.HasField("environment"):
            told.environment.CopyFrom(state.environment)
        told.ClearField("failure")
        if state.HasField("failure"):
            told.failure.CopyFrom(state.failure)
    known = {field.name for field, _ in told.ListFields()}
    only_run_json = {field.name for field, _ in run.ListFields()} & {*_FIELDS} - known
    whole = Run()
    whole.CopyFrom(run)
    for name in known:
        whole.ClearField(name)
    whole.MergeFrom(told)
    return Recorded(whole, content.telemetry, frozenset(only_run_json))
