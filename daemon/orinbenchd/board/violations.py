"""Violations, and the axes each one voids."""

from __future__ import annotations

import time

from orinbench.v1.record_pb2 import Axis, Violation

ALL = (Axis.AXIS_ACCURACY, Axis.AXIS_MEMORY, Axis.AXIS_SPEED, Axis.AXIS_ENERGY)
_PACE = (Axis.AXIS_SPEED, Axis.AXIS_ENERGY)

VOIDS: dict[str, tuple[Axis, ...]] = {
    "PROFILE_MISMATCH": ALL,
    "DEVELOPMENT_PROFILE": ALL,
    "SIMULATED": ALL,
    "POWER_MODE_CHANGED": _PACE,
    "CLOCK_LIMITS_CHANGED": _PACE,
    "THROTTLED": _PACE,
    "COMPETITOR": _PACE,
    "TOO_HOT": _PACE,
    "TELEMETRY_COVERAGE": (Axis.AXIS_ENERGY,),
    "SOURCE_REVISION_UNKNOWN": ALL,
    "ISOLATION_LOW": ALL,
    "INCOMPLETE": ALL,
    "RESUMED": _PACE,
    "MEMORY_METHOD": (Axis.AXIS_MEMORY,),
}


def violation(reason: str, message: str) -> Violation:
    """Make a violation of a reason in `VOIDS`, seen now."""
    made = Violation(reason=reason, message=message, voids=VOIDS[reason])
    made.time.FromNanoseconds(time.time_ns())
    return made
