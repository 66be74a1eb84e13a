"""What stands between audio and a graph that wants features: rules of a preprocessor_config.json, in NumPy."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from orinbench_engines.audio import SAMPLE_RATE, Audio
from orinbench_engines.checkpoint import PREPROCESSOR, require
from orinbench_engines.contract import Model
from orinbench_engines.failures import WorkerFailure, model_failure
from orinbench_engines.validation import first_problem

# Keeps silence from being divided by 0; the figure is part of the rule.
_EPSILON = 1e-7


class Waveform(BaseModel):
    """The rule of Wav2Vec2FeatureExtractor: the samples themselves, brought to mean 0 and variance 1 if told so."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    feature_extractor_type: str = "Wav2Vec2FeatureExtractor"
    sampling_rate: int = SAMPLE_RATE
    feature_size: int = 1
    do_normalize: bool = True

    def __call__(self, audio: Audio) -> dict[str, np.ndarray[Any, Any]]:
        """Return input_values [1, samples], float32, and attention_mask [1, samples], int64, all 1."""
        values = audio
        if self.do_normalize:
            values = (audio - audio.mean()) / np.sqrt(audio.var() + _EPSILON)
        return {"input_values": values[np.newaxis], "attention_mask": np.ones((1, len(values)), np.int64)}


def read_rule(model: Model) -> Waveform:
    """Read preprocessor_config.json, or what newer checkpoints have in its place. Raises WorkerFailure (model)."""
    require(model, "preprocessor", PREPROCESSOR)
    name = next(name for name in PREPROCESSOR if name in model.files)
    try:
        value = json.loads(model.files[name].read_bytes())
        rule = Waveform.model_validate(value.get("feature_extractor", value) if isinstance(value, dict) else value)
    except ValidationError as error:
        raise _unfit(name, first_problem(error)) from None
    except ValueError as error:
        raise _unfit(name, f"not JSON: {error}") from None
    if rule.feature_extractor_type != "Wav2Vec2FeatureExtractor" or rule.feature_size != 1:
        found = f"{rule.feature_extractor_type} with {rule.feature_size} features"
        raise _unfit(name, f"outside torch only Wav2Vec2FeatureExtractor with 1 feature is known, not {found}")
    if rule.sampling_rate != SAMPLE_RATE:
        raise _unfit(name, f"the model wants {rule.sampling_rate} Hz, audio comes at {SAMPLE_RATE} Hz")
    return rule


def _unfit(name: str, problem: str) -> WorkerFailure:
    return model_failure("PREPROCESSOR_INVALID", f"{name}: {problem}")
