"""The engine that gives back recorded predictions: to score or to demonstrate without the model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

from orinbench.v1.record_pb2 import MEMORY_METHOD_NONE, MemoryReading, ModelFacts
from orinbench_profiles.schema import Declaration
from pydantic import Field, ValidationError

from orinbench_engines.contract import AnswerSession, Engine, Model, Options, Output, Sample
from orinbench_engines.failures import WorkerFailure, model_failure
from orinbench_engines.validation import first_problem


class ReplayOptions(Options):
    """`predictions` names the predictions among the model's files; not needed where only one .jsonl is there."""

    predictions: str | None = None


class Prediction(Declaration):
    """One line of the predictions. With `window_ns` the answer takes that long again."""

    sample_id: str
    text: str
    structured: Any = None
    window_ns: Annotated[int, Field(ge=0)] = 0


class _ReplaySession(AnswerSession):
    def __init__(self, predictions: dict[str, Prediction]) -> None:
        self._predictions = predictions

    def answer(self, sample: Sample) -> Output:
        prediction = self._predictions.get(sample.sample_id)
        if prediction is None:
            raise model_failure("PREDICTION_MISSING", f"no prediction is recorded for sample {sample.sample_id}")
        if prediction.window_ns:
            time.sleep(prediction.window_ns / 1e9)
        return Output(prediction.text, prediction.structured)


class ReplayEngine(Engine[ReplayOptions]):
    """Answers from a file of predictions, by sample id."""

    options_schema = ReplayOptions

    def load(self, model: Model) -> tuple[AnswerSession, ModelFacts]:
        """Read the predictions. Raises WorkerFailure (model): no such file, a bad line, a sample twice."""
        name = model.only(".jsonl", self.options.predictions, "predictions")
        path = model.files[name]
        facts = ModelFacts(devices=["none"], batch_size=1, checkpoint_bytes=path.stat().st_size)
        return _ReplaySession(_read(name, path)), facts

    def memory(self) -> MemoryReading:
        """Return that there is nothing to measure: no model runs."""
        return MemoryReading(method=MEMORY_METHOD_NONE)


def _read(name: str, path: Path) -> dict[str, Prediction]:
    predictions: dict[str, Prediction] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            prediction = _parse(name, number, line)
            if prediction.sample_id in predictions:
                raise _unreadable(name, number, f"sample {prediction.sample_id} has a line already")
            predictions[prediction.sample_id] = prediction
    return predictions


def _parse(name: str, number: int, line: bytes) -> Prediction:
    try:
        return Prediction.model_validate_json(line)
    except ValidationError as error:
        raise _unreadable(name, number, first_problem(error)) from None


def _unreadable(name: str, number: int, problem: str) -> WorkerFailure:
    return model_failure("CHECKPOINT_UNREADABLE", f"{name}, line {number}: {problem}")
