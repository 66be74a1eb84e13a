"""Speech to text with Whisper, in its short and its native long form."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from orinbench_engines.audio import SAMPLE_RATE, Audio, decode
from orinbench_engines.contract import Adapter, Model, Options, Output, Sample, Stages, TorchSession
from orinbench_engines.failures import WorkerFailure, model_failure

_THRESHOLDS = ("logprob_threshold", "no_speech_threshold")
_LANGUAGE_TOKEN = re.compile(r"<\|([a-z]{2,3})\|>")


class WhisperOptions(Options):
    """The defaults are PESTE's. `language` is a code as the checkpoint has it: fa, en."""

    language: str = "fa"
    task: Literal["transcribe", "translate"] = "transcribe"
    max_new_tokens: Annotated[int, Field(ge=1)] = 444


class WhisperAdapter(Adapter[TorchSession, WhisperOptions]):
    """Decodes as the checkpoint's own generation settings say, without timestamps in the text.

    Over 30 s the features are not cut: transformers walks through them segment by segment, which needs timestamps
    inside the decoder.
    """

    options_schema = WhisperOptions
    packages = ("soundfile",)
    needs = (TorchSession,)

    def open(self, model: Model, session: TorchSession) -> None:
        """Load model and processor, mend an old generation config. Raises WorkerFailure (model)."""
        self._session = session
        self._processor = session.processor()
        self._model = session.pretrained("AutoModelForSpeechSeq2Seq")
        config = self._model.generation_config
        _refuse_thresholds(model.declaration.id, config)
        if mended := _mend(config, self._processor.tokenizer):
            session.note(f"the generation config is an old one; added in memory: {', '.join(mended)}")
        # PESTE 1.0 cut such recordings: a record must say which of the two was done.
        session.note("recordings over 30 s: features uncut, decoded in transformers' native long form")
        self._prompt = self._language_and_task(model.declaration.id, config)

    def infer(self, sample: Sample) -> Output:
        """Decode the audio, compute, decode the text. Raises WorkerFailure (input) for unfit audio."""
        stages = Stages()
        audio = decode(sample)
        stages.lap("decode_audio")
        with self._session.computing():
            features = self._features(audio)
            stages.lap("features")
            inputs = self._session.move(features)
            stages.lap("transfer")
            tokens = self._model.generate(**inputs, **self._decoding(sample, audio))[0].tolist()
            stages.lap("inference")
        text = self._processor.decode(tokens, skip_special_tokens=True)
        stages.lap("decode_text")
        return Output(text, stages=stages.laps, audio_seconds=len(audio) / SAMPLE_RATE, output_tokens=len(tokens))

    def _features(self, audio: Audio) -> Any:
        long = {"truncation": False, "padding": "longest"} if self._is_long(audio) else {}
        return self._processor(
            audio, sampling_rate=SAMPLE_RATE, return_tensors="pt", return_attention_mask=True, **long
        )

    def _decoding(self, sample: Sample, audio: Audio) -> dict[str, Any]:
        tokens = min(self.options.max_new_tokens, sample.max_tokens or self.options.max_new_tokens)
        return {"max_new_tokens": tokens, "return_timestamps": self._is_long(audio), **self._prompt}

    def _is_long(self, audio: Audio) -> bool:
        return len(audio) > int(self._processor.feature_extractor.n_samples)

    def _language_and_task(self, model_id: str, config: Any) -> dict[str, str]:
        language, task = self.options.language, self.options.task
        if not getattr(config, "is_multilingual", True):
            if (language, task) != ("en", "transcribe"):
                raise _unfit(model_id, f"is for English alone; declared are language {language!r} and task {task!r}")
            return {}
        if f"<|{language}|>" not in config.lang_to_id:
            known = ", ".join(sorted(token.strip("<|>") for token in config.lang_to_id))
            raise _unfit(model_id, f"does not know language {language!r}; it knows: {known}")
        return {"language": language, "task": task}


def _mend(config: Any, tokenizer: Any) -> list[str]:
    """Give a generation config from before 2023 what generate() asks for; return the names of what was added."""
    vocabulary = tokenizer.get_vocab()
    tasks = {task: vocabulary[f"<|{task}|>"] for task in ("transcribe", "translate") if f"<|{task}|>" in vocabulary}
    languages = {token: number for token, number in vocabulary.items() if _LANGUAGE_TOKEN.fullmatch(token)}
    known = {
        "no_timestamps_token_id": vocabulary.get("<|notimestamps|>"),
        "lang_to_id": languages,
        "task_to_id": tasks,
        "is_multilingual": bool(languages and tasks),
    }
    missing = [name for name in known if not hasattr(config, name) and known[name] is not None]
    for name in missing:
        setattr(config, name, known[name])
    return missing


def _refuse_thresholds(model_id: str, config: Any) -> None:
    # From the config generate() reads that it should judge scores, and then keeps none: it ends in an IndexError.
    found = [name for name in _THRESHOLDS if getattr(config, name, None) is not None]
    if found:
        raise model_failure(
            "GENERATION_CONFIG",
            f"model {model_id}: its generation_config.json has {', '.join(found)}, which transformers cannot take from "
            "there: declare a generation_config.json without",
        )


def _unfit(model_id: str, problem: str) -> WorkerFailure:
    return model_failure("OPTION_INVALID", f"model {model_id}: this Whisper {problem}")
