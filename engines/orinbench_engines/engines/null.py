"""The engine that runs nothing: for measuring everything around an engine."""

from __future__ import annotations

import time
from typing import Annotated

from orinbench.v1.record_pb2 import MEMORY_METHOD_NONE, MemoryReading, ModelFacts
from pydantic import Field

from orinbench_engines.contract import AnswerSession, Engine, Model, Options, Output, Sample


class NullOptions(Options):
    """`delay_ms` is how long every sample takes, `text` what is answered."""

    delay_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    text: str = ""


class _NullSession(AnswerSession):
    def __init__(self, options: NullOptions) -> None:
        self._delay_s = options.delay_ms / 1000
        self._text = options.text

    def answer(self, sample: Sample) -> Output:
        del sample
        if self._delay_s:
            time.sleep(self._delay_s)
        return Output(self._text)


class NullEngine(Engine[NullOptions]):
    """Answers every sample with the same text after the same time."""

    options_schema = NullOptions

    def load(self, model: Model) -> tuple[AnswerSession, ModelFacts]:
        """Load nothing."""
        del model
        return _NullSession(self.options), ModelFacts(devices=["none"], batch_size=1)

    def memory(self) -> MemoryReading:
        """Return that there is nothing to measure."""
        return MemoryReading(method=MEMORY_METHOD_NONE)
