"""Text in, text out: causal language models with a chat template, from safetensors or as an ONNX graph."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from orinbench_engines.chat import Conversation, read_conversation, require_text, split_reply
from orinbench_engines.contract import Adapter, GraphSession, Model, Options, Output, Sample, Stages, TorchSession
from orinbench_engines.failures import model_failure


class ChatOptions(Options):
    """`max_new_tokens` bounds a reply where the suite does not. `template` goes to the chat template.

    For instance `template = { enable_thinking = false }`.
    """

    max_new_tokens: Annotated[int, Field(ge=1)] = 512
    template: dict[str, bool | int | str] = Field(default_factory=dict)


class ChatAdapter(Adapter[TorchSession | GraphSession, ChatOptions]):
    """Fills the checkpoint's chat template, generates, decodes the new tokens without special ones."""

    options_schema = ChatOptions
    packages = ("tokenizers", "transformers", "jinja2")
    needs = (TorchSession, GraphSession)

    def open(self, model: Model, session: TorchSession | GraphSession) -> None:
        """Load model and tokenizer. Raises WorkerFailure (model) where there is no chat template."""
        self._generator = _on_torch(session) if isinstance(session, TorchSession) else _on_graph(model, session)
        self._tokenizer = self._generator.tokenizer
        require_template(model, self._tokenizer)

    def infer(self, sample: Sample) -> Output:
        """Read the conversation, fill the template, generate, decode. Raises WorkerFailure (input)."""
        stages = Stages()
        conversation = read_conversation(sample)
        require_text(sample, conversation)
        encoded = self._encode(conversation)
        stages.lap("features")
        limit = token_limit(sample, self.options.max_new_tokens)
        reply = self._generator.generate(encoded, conversation.decoding, limit, stages)
        stages.lap("inference")
        text = self._tokenizer.decode(reply.tokens, skip_special_tokens=True)
        stages.lap("decode_text")
        return Output(
            text,
            structured=split_reply(text, reply.cut),
            stages=stages.laps,
            prompt_tokens=reply.prompt_tokens,
            output_tokens=len(reply.tokens),
            first_token_ns=reply.first_token_ns,
        )

    def _encode(self, conversation: Conversation) -> list[int]:
        prompt = self._tokenizer.apply_chat_template(
            conversation.turns(text_only=True), tokenize=False, add_generation_prompt=True, **self.options.template
        )
        # The template has written the special tokens already.
        encoded: list[int] = self._tokenizer(prompt, add_special_tokens=False)["input_ids"]
        return encoded


def require_template(model: Model, tokenizer: Any) -> None:
    """Demand a chat template. Raises WorkerFailure (model, CHAT_TEMPLATE)."""
    if not getattr(tokenizer, "chat_template", None):
        raise model_failure(
            "CHAT_TEMPLATE",
            f"model {model.declaration.id}: no chat template is among its files: declare chat_template.jinja, or a "
            "tokenizer_config.json that holds one",
        )


def token_limit(sample: Sample, option: int) -> int:
    """Return how many tokens a reply may have: what the suite says, else what the model's options say."""
    return sample.max_tokens or option


def _on_torch(session: TorchSession) -> Any:
    from orinbench_engines.generation import TorchGenerator

    return TorchGenerator(session)


def _on_graph(model: Model, session: GraphSession) -> Any:
    from orinbench_engines.decoder_graph import GraphGenerator

    return GraphGenerator(model, session)
