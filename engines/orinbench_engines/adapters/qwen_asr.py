"""Speech to text with Qwen3-ASR, as its processor asks for it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from orinbench_engines.audio import SAMPLE_RATE, decode
from orinbench_engines.contract import Adapter, Model, Options, Output, Sample, Stages, TorchSession
from orinbench_engines.failures import model_failure


class QwenAsrOptions(Options):
    """The defaults are PESTE's. `language` is a code or a name that the processor knows: fa, Persian."""

    language: str = "fa"
    max_new_tokens: Annotated[int, Field(ge=1)] = 256


class QwenAsrAdapter(Adapter[TorchSession, QwenAsrOptions]):
    """Asks for a transcription in the declared language; the text is the transcription alone."""

    options_schema = QwenAsrOptions
    packages = ("soundfile",)
    needs = (TorchSession,)

    def open(self, model: Model, session: TorchSession) -> None:
        """Load processor and model. Raises WorkerFailure (model)."""
        self._session = session
        self._processor = session.processor()
        if not hasattr(self._processor, "apply_transcription_request"):
            raise model_failure(
                "RUNTIME_OUTDATED",
                f"model {model.declaration.id}: its processor {type(self._processor).__name__} takes no transcription "
                "requests; adapter qwen-asr needs a Qwen3-ASR checkpoint and transformers 5.13 or newer",
            )
        self._model = session.pretrained("AutoModelForMultimodalLM")

    def infer(self, sample: Sample) -> Output:
        """Decode the audio, compute, decode the text. Raises WorkerFailure (input) for unfit audio."""
        stages = Stages()
        audio = decode(sample)
        stages.lap("decode_audio")
        limit = min(self.options.max_new_tokens, sample.max_tokens or self.options.max_new_tokens)
        with self._session.computing():
            request = self._processor.apply_transcription_request(audio=audio, language=self.options.language)
            stages.lap("features")
            inputs = self._session.move(request)
            stages.lap("transfer")
            prompt = inputs["input_ids"].shape[1]
            tokens = self._model.generate(**inputs, max_new_tokens=limit)[0, prompt:].tolist()
            stages.lap("inference")
        text = self._processor.decode(tokens, return_format="transcription_only")
        stages.lap("decode_text")
        return Output(
            text,
            stages=stages.laps,
            audio_seconds=len(audio) / SAMPLE_RATE,
            prompt_tokens=prompt,
            output_tokens=len(tokens),
        )
