"""Greedy CTC transcripts from an exported model, and their error rates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein


class Transcriber:
    """An exported model with the vocabulary beside it, on CPU with a fixed number of threads."""

    def __init__(self, model: Path, threads: int) -> None:
        vocabulary = json.loads(model.with_suffix(".vocab.json").read_text(encoding="utf-8"))
        self._tokens: list[str] = vocabulary["tokens"]
        self._blank: int = vocabulary["blank"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def logits(self, recording: NDArray[np.int16]) -> NDArray[np.float32]:
        """Logits [frames, classes] of a 16 kHz recording of at least 400 samples."""
        audio = (recording.astype(np.float32) / 32768)[None]
        result: NDArray[np.float32] = self.session.run(["logits"], {"audio": audio})[0][0]
        return result

    def text(self, logits: NDArray[np.float32]) -> str:
        """The best class of each frame, repeats merged, blanks dropped."""
        best = logits.argmax(axis=1)
        changed = np.append(True, best[1:] != best[:-1])
        return "".join(self._tokens[i] for i in best[changed & (best != self._blank)])

    def transcribe(self, recording: NDArray[np.int16]) -> str:
        """The greedy transcript of a recording."""
        return self.text(self.logits(recording))


@dataclass(frozen=True)
class ErrorRates:
    """Edits over reference units, summed over all texts before the division; texts are taken as they are."""

    cer: float
    wer: float


def error_rates(references: Sequence[str], hypotheses: Sequence[str]) -> ErrorRates:
    """Character errors (spaces and ZWNJ count) and word errors (split at spaces)."""
    return ErrorRates(
        cer=_rate([list(text) for text in references], [list(text) for text in hypotheses]),
        wer=_rate([text.split() for text in references], [text.split() for text in hypotheses]),
    )


def _rate(references: list[list[str]], hypotheses: list[list[str]]) -> float:
    pairs = zip(references, hypotheses, strict=True)
    edits = sum(Levenshtein.distance(reference, hypothesis) for reference, hypothesis in pairs)
    return edits / sum(map(len, references))
