"""Speech to text with a CTC model that holds its features in the graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orinbench_engines.audio import SAMPLE_RATE, Audio, decode
from orinbench_engines.contract import Adapter, GraphSession, Model, Options, Output, Sample, Stages
from orinbench_engines.failures import model_failure
from orinbench_engines.validation import first_problem

# One window of the features: a shorter recording is padded with silence, or the graph would have no frame.
MIN_FRAMES = 400


class CtcOptions(Options):
    """`vocabulary` names the vocabulary among the model's files; not needed where only one .json is there."""

    vocabulary: str | None = None


class Vocabulary(BaseModel):
    """The vocabulary file: the text of each class of the output, and which class is the blank."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    blank: Annotated[int, Field(ge=0)]
    tokens: Annotated[list[str], Field(min_length=2)]


class CtcAdapter(Adapter[GraphSession, CtcOptions]):
    """Greedy CTC: the best class of each frame, repeats collapsed, blanks dropped, the rest joined.

    The graph goes from `audio` [1, samples], float32 in [-1, 1] at 16 kHz, to `logits` [1, frames, classes].
    """

    options_schema = CtcOptions
    packages = ("soundfile",)
    needs = (GraphSession,)

    def open(self, model: Model, session: GraphSession) -> None:
        """Check the graph's interface against the vocabulary. Raises WorkerFailure (model)."""
        name = model.only(".json", self.options.vocabulary, "vocabulary")
        self._vocabulary = _read(name, model.files[name])
        self._session = session
        _check_interface(model.declaration.id, session, len(self._vocabulary.tokens))

    def infer(self, sample: Sample) -> Output:
        """Decode the audio, run the graph, decode the text. Raises WorkerFailure (input) for unfit audio."""
        stages = Stages()
        audio = decode(sample)
        stages.lap("decode_audio")
        logits = self._session.run({"audio": _padded(audio)})["logits"]
        stages.lap("inference")
        text = self._text(sample, logits[0])
        stages.lap("decode_text")
        return Output(text, stages=stages.laps, audio_seconds=len(audio) / SAMPLE_RATE)

    def _text(self, sample: Sample, logits: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> str:
        best = logits.argmax(axis=-1)
        # argmax takes NaN for the greatest, so that the sum over the best is NaN if anything is.
        if np.isnan(logits[np.arange(len(best)), best].sum()):
            raise model_failure("BAD_OUTPUT", f"sample {sample.sample_id}: the logits hold NaN")
        kept = best != self._vocabulary.blank
        kept[1:] &= best[1:] != best[:-1]
        return "".join(map(self._vocabulary.tokens.__getitem__, best[kept].tolist()))


def _padded(audio: Audio) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    if len(audio) < MIN_FRAMES:
        audio = np.pad(audio, (0, MIN_FRAMES - len(audio)))
    return audio[np.newaxis]


def _read(name: str, path: Path) -> Vocabulary:
    try:
        vocabulary = Vocabulary.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise model_failure("VOCABULARY_INVALID", f"{name}: {first_problem(error)}") from None
    classes = len(vocabulary.tokens)
    if vocabulary.blank >= classes:
        raise model_failure("VOCABULARY_INVALID", f"{name}: blank is {vocabulary.blank} of {classes} tokens")
    return vocabulary


def _check_interface(model_id: str, session: GraphSession, classes: int) -> None:
    shape = session.outputs.get("logits", ())
    if list(session.inputs) != ["audio"] or len(session.inputs["audio"]) != 2 or len(shape) != 3:
        raise model_failure(
            "GRAPH_INTERFACE",
            f"model {model_id}: its graph goes from {_shown(session.inputs)} to {_shown(session.outputs)}; "
            "adapter ctc needs one from audio [1, samples] to logits [1, frames, classes]",
        )
    if shape[2] not in (None, classes):
        raise model_failure(
            "GRAPH_INTERFACE",
            f"model {model_id}: its logits have {shape[2]} classes, its vocabulary {classes} tokens",
        )


def _shown(shapes: Mapping[str, tuple[int | None, ...]]) -> str:
    return ", ".join(f"{name} {[size or '?' for size in shape]}" for name, shape in shapes.items())
