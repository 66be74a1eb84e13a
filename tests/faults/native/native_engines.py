"""An engine that dies or hangs in native code, found by its entry point as any third party's is."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

from orinbench.v1.record_pb2 import MEMORY_METHOD_NONE, MemoryReading, ModelFacts
from orinbench_engines.contract import AnswerSession, Engine, Model, Options, Output, Sample

_CHUNK = 32 << 20


class NativeOptions(Options):
    """`fault` is a key of FAULTS, committed at the sample of index `at`."""

    fault: str
    at: int


class NativeSession(AnswerSession):
    """Answers, until it is time."""

    def __init__(self, options: NativeOptions) -> None:
        self._options = options

    def answer(self, sample: Sample) -> Output:
        """Answer, or commit the fault."""
        if sample.index == self._options.at:
            FAULTS[self._options.fault]()
        return Output(sample.sample_id)


class NativeEngine(Engine[NativeOptions]):
    """Loads nothing."""

    options_schema = NativeOptions

    def load(self, model: Model) -> tuple[NativeSession, ModelFacts]:
        """Load nothing."""
        return NativeSession(self.options), ModelFacts(devices=["none"], batch_size=1)

    def memory(self) -> MemoryReading:
        """Nothing is measured."""
        return MemoryReading(method=MEMORY_METHOD_NONE)


def _allocate() -> None:
    held = []
    while True:
        held.append(b"x" * _CHUNK)  # written to, so that it is real memory


def _hold_the_lock() -> None:
    # PyDLL keeps the interpreter's lock: no other thread of the worker runs any more.
    ctypes.PyDLL(None).pause()


FAULTS: dict[str, Callable[[], object]] = {
    "allocate": _allocate,
    "null": lambda: ctypes.string_at(0),
    "abort": lambda: ctypes.CDLL(None).abort(),
    "hold the lock": _hold_the_lock,
    "exit": lambda: os._exit(0),
}
