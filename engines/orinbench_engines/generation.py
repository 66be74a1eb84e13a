"""Text generation on a torch session: one reply, with its counts and the time of its first token."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic_ns
from typing import Any

import torch
from transformers import StoppingCriteria

from orinbench_engines.chat import Decoding, Reply, Sampling
from orinbench_engines.contract import Stages, TorchSession

# What a checkpoint may ask for beside the choice of the next token; greedy decoding is the plain maximum.
_NEUTRAL = {"repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "num_beams": 1}
_DRAWING = ("temperature", "top_p", "top_k")


class TorchGenerator:
    """A causal language model and its tokenizer."""

    def __init__(self, session: TorchSession) -> None:
        self._session = session
        self.tokenizer = session.processor("AutoTokenizer")
        self._model = session.pretrained("AutoModelForCausalLM")
        if sentence := neutralised(self._model):
            session.note(sentence)

    def generate(self, prompt: list[int], decoding: Decoding, max_tokens: int, stages: Stages) -> Reply:
        """Generate one reply to the tokens of a prompt; the stage `transfer` ends in between."""
        with self._session.computing():
            tokens = torch.tensor([prompt])
            inputs = self._session.move({"input_ids": tokens, "attention_mask": torch.ones_like(tokens)})
            stages.lap("transfer")
            return generate(self._session, self._model, inputs, decoding, max_tokens)


def generate(
    session: TorchSession, model: Any, inputs: Mapping[str, Any], decoding: Decoding, max_tokens: int
) -> Reply:
    """Generate one reply to `inputs`, which hold `input_ids` (1, prompt) on the device. Returns when all is done."""
    prompt = int(inputs["input_ids"].shape[1])
    if isinstance(decoding, Sampling):
        # The session seeds for every sample; a variant names its own seed.
        torch.manual_seed(decoding.seed)
    first = _FirstToken(session)
    tokens = model.generate(
        **inputs, **_choice(decoding), **_NEUTRAL, max_new_tokens=max_tokens, stopping_criteria=[first]
    )[0, prompt:].tolist()
    return Reply(tokens, prompt, first.after_ns, _is_cut(model, tokens, max_tokens))


def neutralised(model: Any) -> str | None:
    """Return a sentence about what the checkpoint's own generation settings ask for and do not get; None if nothing."""
    config = model.generation_config
    asked = [
        f"{name} {value}"
        for name, neutral in _NEUTRAL.items()
        if (value := getattr(config, name, None)) not in (None, neutral)
    ]
    return f"its generation settings ask for {', '.join(asked)}, which the suite does not use" if asked else None


def _choice(decoding: Decoding) -> dict[str, Any]:
    if isinstance(decoding, Sampling):
        return {"do_sample": True, "temperature": decoding.temperature, "top_p": decoding.top_p, "top_k": 0}
    return {"do_sample": False, **dict.fromkeys(_DRAWING)}


def _is_cut(model: Any, tokens: list[int], max_tokens: int) -> bool:
    ends = model.generation_config.eos_token_id
    known = ends if isinstance(ends, list) else [ends]
    return len(tokens) >= max_tokens and tokens[-1] not in known


class _FirstToken(StoppingCriteria):  # type: ignore[misc]
    """Stops nothing: notes when the first new token was there."""

    def __init__(self, session: TorchSession) -> None:
        self._device = session.device
        self._start = monotonic_ns()
        self.after_ns: int | None = None

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        """Called after every token."""
        del scores, kwargs
        if self.after_ns is None:
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)
            self.after_ns = monotonic_ns() - self._start
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)
