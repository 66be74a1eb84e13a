"""Audio and text in, text out: audio-language models of transformers (Qwen2-Audio, Qwen2.5-Omni, Gemma-3n)."""

from __future__ import annotations

from typing import Any

from orinbench_engines.adapters.chat import ChatOptions, require_template, token_limit
from orinbench_engines.audio import SAMPLE_RATE, Audio
from orinbench_engines.chat import Conversation, read_conversation, seconds, split_reply
from orinbench_engines.checkpoint import model_type
from orinbench_engines.contract import Adapter, Model, Output, Sample, Stages, TorchSession

# Of a model that also speaks only the part that writes is loaded; the others are opened by what their config says.
_WRITING_PART = {"qwen2_5_omni": "Qwen2_5OmniThinkerForConditionalGeneration"}
_ANY = "AutoModelForMultimodalLM"
# Its feature extractor cuts at 30 s and does not say so; Whisper's says how many samples it takes.
_GEMMA_SAMPLES = 480_000


class AudioChatAdapter(Adapter[TorchSession, ChatOptions]):
    """Fills the processor's chat template, adds the recordings in order, generates, decodes the new tokens.

    A conversation without audio is answered too: that is the text-only condition.
    """

    options_schema = ChatOptions
    packages = ("jinja2", "soundfile", "tokenizers")
    needs = (TorchSession,)

    def open(self, model: Model, session: TorchSession) -> None:
        """Load model and processor. Raises WorkerFailure (model)."""
        from orinbench_engines.generation import neutralised

        self._session = session
        self._processor = session.processor()
        require_template(model, self._processor)
        kind = model_type(model)
        extractor = self._processor.feature_extractor
        self._limit: int | None = _GEMMA_SAMPLES if kind == "gemma3n" else getattr(extractor, "n_samples", None)
        self._model = session.pretrained(_WRITING_PART.get(kind, _ANY))
        if sentence := neutralised(self._model):
            session.note(sentence)

    def infer(self, sample: Sample) -> Output:
        """Decode the audio, fill the template, compute, decode the text. Raises WorkerFailure (input)."""
        from orinbench_engines.generation import generate

        stages = Stages()
        conversation = read_conversation(sample)
        recordings = conversation.recordings(sample)
        stages.lap("decode_audio")
        with self._session.computing():
            batch = self._features(conversation, recordings)
            stages.lap("features")
            inputs = self._session.move(batch)
            stages.lap("transfer")
            limit = token_limit(sample, self.options.max_new_tokens)
            reply = generate(self._session, self._model, inputs, conversation.decoding, limit)
            stages.lap("inference")
        text = self._processor.decode(reply.tokens, skip_special_tokens=True)
        stages.lap("decode_text")
        return Output(
            text,
            structured={**split_reply(text, reply.cut), **self._cut(recordings)},
            stages=stages.laps,
            audio_seconds=seconds(recordings),
            prompt_tokens=reply.prompt_tokens,
            output_tokens=len(reply.tokens),
            first_token_ns=reply.first_token_ns,
        )

    def _cut(self, recordings: list[Audio]) -> dict[str, float]:
        """Say in the record where the model cannot hear the whole of a recording."""
        longest = max(map(len, recordings), default=0)
        if self._limit is None or longest <= self._limit:
            return {}
        return {"audio_cut_at_s": self._limit / SAMPLE_RATE}

    def _features(self, conversation: Conversation, recordings: list[Audio]) -> Any:
        prompt = self._processor.apply_chat_template(
            conversation.turns(text_only=False), tokenize=False, add_generation_prompt=True, **self.options.template
        )
        heard = {"audio": recordings, "sampling_rate": SAMPLE_RATE} if recordings else {}
        return self._processor(text=[prompt], return_tensors="pt", **heard)
