"""Text generation on an ONNX graph of a decoder that has its cache as inputs and outputs, as Optimum exports it.

Inputs: `input_ids` and `attention_mask` (1, n), `position_ids` (1, n) where the graph has them,
`past_key_values.*` (1, heads, past, size). Outputs: `logits` (1, n, vocabulary), `present.*`. Greedy decoding only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from time import monotonic_ns
from typing import Any

import numpy as np

from orinbench_engines.chat import Decoding, Reply, Sampling
from orinbench_engines.checkpoint import end_tokens, lay_out
from orinbench_engines.contract import GraphSession, Model, Stages
from orinbench_engines.failures import model_failure

Arrays = dict[str, np.ndarray[Any, Any]]
_PAST, _PRESENT = "past_key_values.", "present."


class GraphGenerator:
    """A decoder graph and its tokenizer."""

    def __init__(self, model: Model, session: GraphSession) -> None:
        self._session = session
        self._model_id = model.declaration.id
        self._ends = end_tokens(model)
        self._check()
        self.tokenizer = _tokenizer(model)

    def generate(self, prompt: list[int], decoding: Decoding, max_tokens: int, stages: Stages) -> Reply:
        """Generate one reply to the tokens of a prompt. Raises WorkerFailure (model) where it should draw."""
        if isinstance(decoding, Sampling):
            raise model_failure(
                "SAMPLING", f"model {self._model_id}: an ONNX decoder is greedy here: use the suite's greedy variant"
            )
        stages.lap("transfer")
        start, first = monotonic_ns(), None
        cache: Mapping[str, Any] = self._empty_cache()
        tokens, step = list[int](), prompt
        while len(tokens) < max_tokens and not (tokens and tokens[-1] in self._ends):
            token, cache = self._step(step, len(prompt) + len(tokens), cache)
            first = monotonic_ns() - start if first is None else first
            tokens.append(token)
            step = [token]
        return Reply(tokens, len(prompt), first, tokens[-1] not in self._ends)

    def _step(self, tokens: list[int], length: int, cache: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        """Run the graph over `tokens`, the last of `length` so far; return the most likely next one and the cache."""
        inputs: Arrays = {
            "input_ids": np.array([tokens], np.int64),
            "attention_mask": np.ones((1, length), np.int64),
        }
        if "position_ids" in self._session.inputs:
            inputs["position_ids"] = np.arange(length - len(tokens), length, dtype=np.int64)[np.newaxis]
        present = {name: name.replace(_PAST, _PRESENT) for name in cache}
        outputs, kept = self._session.advance(self._session.typed(inputs), cache, present.values())
        logits = outputs["logits"][0, -1]
        best = int(logits.argmax())
        # argmax takes NaN for the greatest.
        if np.isnan(logits[best]):
            raise model_failure("BAD_OUTPUT", f"model {self._model_id}: the logits hold NaN")
        return best, {name: kept[present[name]] for name in cache}

    def _empty_cache(self) -> Arrays:
        shapes = ((name, shape) for name, shape in self._session.inputs.items() if name.startswith(_PAST))
        return {
            name: np.zeros((1, shape[1] or 0, 0, shape[3] or 0), self._session.types[name]) for name, shape in shapes
        }

    def _check(self) -> None:
        inputs, outputs = self._session.inputs, self._session.outputs
        past = [name for name in inputs if name.startswith(_PAST)]
        known = {"input_ids", "attention_mask", "position_ids", *past}
        wanted = {"logits", *(name.replace(_PAST, _PRESENT) for name in past)}
        if not past or not {"input_ids", "attention_mask"} <= set(inputs) <= known or not wanted <= set(outputs):
            raise model_failure(
                "GRAPH_INTERFACE",
                f"model {self._model_id}: its graph goes from {', '.join(inputs)} to {', '.join(outputs)}; adapter "
                "chat needs input_ids, attention_mask, past_key_values.* and gives logits, present.*: export it as a "
                "decoder with its cache",
            )


def _tokenizer(model: Model) -> Any:
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    try:
        import transformers
    except ImportError as error:
        raise model_failure(
            "ENGINE_UNAVAILABLE", f"adapter chat needs transformers in this runtime: {error}; install it there"
        ) from error
    folder = lay_out(model, [])
    try:
        return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        problem = str(error).replace(str(folder), "the checkpoint")
        raise model_failure(
            "CHECKPOINT_UNREADABLE", f"model {model.declaration.id}: its tokenizer cannot be opened: {problem}"
        ) from error
