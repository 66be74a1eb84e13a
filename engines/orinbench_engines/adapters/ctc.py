"""Speech to text with a CTC model: a graph with its features in it or before it, or a checkpoint on torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from orinbench_engines.audio import SAMPLE_RATE, Audio, decode
from orinbench_engines.contract import Adapter, GraphSession, Model, Options, Output, Sample, Stages, TorchSession
from orinbench_engines.failures import WorkerFailure, model_failure
from orinbench_engines.features import read_rule
from orinbench_engines.vocabulary import ListedVocabulary, TokenizerVocabulary, Vocabulary

# One window of the features: a shorter recording is padded with silence, or the model would have no frame.
MIN_FRAMES = 400


class CtcOptions(Options):
    """`vocabulary` names a graph's vocabulary among the model's files; not needed where only one file can be it."""

    vocabulary: str | None = None


class CtcAdapter(Adapter[GraphSession | TorchSession, CtcOptions]):
    """Greedy CTC: the best class of each frame, repeats collapsed, blanks dropped, the rest joined.

    A graph goes from `audio` [1, samples], in [-1, 1] at 16 kHz, with a vocabulary of our own form; or
    from `input_values` [1, samples], and `attention_mask` if it wants one, with the preprocessor_config.json and
    the vocab.json of the checkpoint it was exported from. Either goes to `logits` [1, frames, classes]. Inputs are
    brought to the types of the graph.
    """

    options_schema = CtcOptions
    packages = ("soundfile",)
    needs = (GraphSession, TorchSession)

    def open(self, model: Model, session: GraphSession | TorchSession) -> None:
        """Check graph, features and vocabulary against each other, or load the checkpoint. Raises WorkerFailure."""
        self._way: _Way
        if isinstance(session, TorchSession):
            self._way = _Torch(session)
        else:
            self._way = _Graph(model, session, self.options.vocabulary)

    def infer(self, sample: Sample) -> Output:
        """Decode the audio, run the model, decode the text. Raises WorkerFailure (input) for unfit audio."""
        stages = Stages()
        audio = decode(sample)
        stages.lap("decode_audio")
        with self._way.computing():
            best = self._way.best(_padded(audio), stages)
        if best is None:
            raise model_failure("BAD_OUTPUT", f"sample {sample.sample_id}: the logits hold NaN")
        stages.lap("inference")
        text = self._way.text(best)
        stages.lap("decode_text")
        return Output(text, stages=stages.laps, audio_seconds=len(audio) / SAMPLE_RATE)


class _Way(ABC):
    """One of the ways from audio to text."""

    def computing(self) -> AbstractContextManager[None]:
        """What must hold around `best`."""
        return nullcontext()

    @abstractmethod
    def best(self, audio: Audio, stages: Stages) -> Any:
        """Return the best class of each frame, None where the logits hold NaN; end the stages before inference."""

    @abstractmethod
    def text(self, best: Any) -> str:
        """Return the text of the best classes."""


class _Graph(_Way):
    """A graph that takes the audio itself, or what a checkpoint's preprocessor makes of it."""

    def __init__(self, model: Model, session: GraphSession, vocabulary: str | None) -> None:
        self._session = session
        self._rule = read_rule(model) if "input_values" in session.inputs else None
        self._vocabulary: Vocabulary
        if self._rule:
            self._vocabulary = TokenizerVocabulary(model, model.only("vocab.json", vocabulary, "vocabulary"))
            inputs = {"input_values", "attention_mask"} & session.inputs.keys()
        else:
            self._vocabulary = ListedVocabulary(model, model.only(".json", vocabulary, "vocabulary"))
            inputs = {"audio"}
        _check_interface(model.declaration.id, session, inputs, self._vocabulary.classes)

    def best(self, audio: Audio, stages: Stages) -> Any:
        """Make the features if they are not in the graph, run the graph."""
        inputs = {"audio": audio[np.newaxis]}
        if self._rule:
            features = self._rule(audio)
            inputs = {name: features[name] for name in self._session.inputs}
            stages.lap("features")
        logits = self._session.run(self._session.typed(inputs))["logits"][0]
        best = logits.argmax(axis=-1)
        # argmax takes NaN for the greatest.
        return None if np.isnan(logits[np.arange(len(best)), best]).any() else best

    def text(self, best: Any) -> str:
        """Return the text."""
        return self._vocabulary.text(best)


class _Torch(_Way):
    """A checkpoint of transformers. Greedy, special tokens kept, no clean-up: PESTE's rule."""

    def __init__(self, session: TorchSession) -> None:
        self._session = session
        self._processor = session.processor()
        # Hides parts of the input in training; many checkpoints come without it.
        self._model = session.pretrained("AutoModelForCTC", unused=("masked_spec_embed",))

    def computing(self) -> AbstractContextManager[None]:
        """Inference mode."""
        return self._session.computing()

    def best(self, audio: Audio, stages: Stages) -> Any:
        """Make the features, run the model."""
        features = self._processor(audio, sampling_rate=SAMPLE_RATE, return_tensors="pt")
        stages.lap("features")
        inputs = self._session.move(features)
        stages.lap("transfer")
        values, classes = self._model(**inputs).logits[0].max(dim=-1)
        return None if values.isnan().any() else classes.cpu()

    def text(self, best: Any) -> str:
        """Return the text as the checkpoint's tokenizer has it."""
        tokenizer = self._processor.tokenizer
        return str(
            tokenizer.decode(best, group_tokens=True, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        )


def _padded(audio: Audio) -> Audio:
    return audio if len(audio) >= MIN_FRAMES else np.pad(audio, (0, MIN_FRAMES - len(audio)))


def _check_interface(model_id: str, session: GraphSession, inputs: set[str], classes: range) -> None:
    shape = session.outputs.get("logits", ())
    if set(session.inputs) != inputs or any(len(size) != 2 for size in session.inputs.values()) or len(shape) != 3:
        raise _unfit(
            f"model {model_id}: its graph goes from {_shown(session.inputs)} to {_shown(session.outputs)}; adapter ctc "
            "needs one from audio [1, samples], or input_values [1, samples] with or without attention_mask, to "
            "logits [1, frames, classes]"
        )
    if shape[2] is not None and shape[2] not in classes:
        raise _unfit(f"model {model_id}: its logits have {shape[2]} classes, its vocabulary {classes[-1]} tokens")


def _unfit(message: str) -> WorkerFailure:
    return model_failure("GRAPH_INTERFACE", message)


def _shown(shapes: Mapping[str, tuple[int | None, ...]]) -> str:
    return ", ".join(f"{name} {[size or '?' for size in shape]}" for name, shape in shapes.items())
