"""Deadlines by progress: how long a worker may go on in each phase without any."""

from __future__ import annotations

import statistics
from collections import deque

from orinbench.internal.v1 import worker_pb2

from orinbenchd.config import Deadlines

_KEPT = 256
_TIMES_MEDIAN = 50.0
# Slowest pace that is not called a hang before any sample has told the real one.
_PER_AUDIO_SECOND = 20.0
_PER_TOKEN_S = 2.0


class DeadlineKeeper:
    """Gives the seconds within which the next step must come: a phase, ready, a result."""

    def __init__(self, limits: Deadlines) -> None:
        self._limits = limits
        self._phase: worker_pb2.PhaseKind = worker_pb2.PHASE_KIND_UNSPECIFIED
        self._declared_s = 0.0
        self._windows: deque[float] = deque(maxlen=_KEPT)

    def enter(self, phase: worker_pb2.Phase) -> None:
        """Note a new phase and what the next sample may take."""
        self._phase = phase.kind
        self._declared_s = phase.audio_seconds * _PER_AUDIO_SECOND + phase.max_tokens * _PER_TOKEN_S

    def sample(self, window_s: float) -> None:
        """Note how long a sample took."""
        self._windows.append(window_s)

    def seconds(self) -> float:
        """Return the deadline of the next step."""
        limits = self._limits
        if self._phase == worker_pb2.PHASE_KIND_UNSPECIFIED:
            return limits.start_s
        if self._phase == worker_pb2.PHASE_KIND_LOADING:
            return limits.load_s
        if not self._windows:
            return limits.first_sample_s + self._declared_s
        usual_s = _TIMES_MEDIAN * statistics.median(self._windows)
        return max(limits.sample_floor_s, usual_s, self._declared_s)
