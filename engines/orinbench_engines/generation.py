"""Text generation on a torch session: one reply, with its counts and the time of its first token."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic_ns
from typing import Any

import torch
from transformers import GenerationConfig, StoppingCriteria

from orinbench_engines.chat import Decoding, Reply, Sampling
from orinbench_engines.contract import Stages, TorchSession

# What the suite decides itself, and what has no part in the text.
_NOT_ASKED = (
    *("do_sample", "temperature", "top_p", "top_k", "max_length", "max_new_tokens"),
    *("use_cache", "transformers_version", "_from_model_config"),
)
# Of these 1 is as good as nothing; of all others 0 is.
_NEUTRAL_AT_1 = ("penalty", "scale", "beams", "beam_groups", "sequences")


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
    tokens = model.generate(**inputs, **_choice(decoding), max_new_tokens=max_tokens, stopping_criteria=[first])[
        0, prompt:
    ].tolist()
    return Reply(tokens, prompt, first.after_ns, _is_cut(model, tokens, max_tokens))


def neutralised(model: Any) -> str | None:
    """Give a model generation settings that hold its special tokens alone: greedy is then the plain maximum.

    Return a sentence about what else the checkpoint's own settings ask for; None if nothing.
    """
    asked = model.generation_config.to_diff_dict()
    tokens = {name: value for name, value in asked.items() if name.endswith("_token_id") and "forced" not in name}
    model.generation_config = GenerationConfig(**tokens)
    others = [f"{name} {value}" for name, value in asked.items() if name not in tokens and _is_asked(name, value)]
    return f"its generation settings ask for {', '.join(others)}, which the suite does not use" if others else None


def _is_asked(name: str, value: Any) -> bool:
    return bool(value) and name not in _NOT_ASKED and not (value == 1 and name.endswith(_NEUTRAL_AT_1))


def _choice(decoding: Decoding) -> dict[str, Any]:
    if isinstance(decoding, Sampling):
        return {"do_sample": True, "temperature": decoding.temperature, "top_p": decoding.top_p, "top_k": 0}
    return {"do_sample": False}


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
