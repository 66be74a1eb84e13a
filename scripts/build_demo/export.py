"""The trained network as ONNX with its vocabulary, and how far it is from torch."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from orinbench_profiles.digest import canonical_json

from build_demo.evaluate import Transcriber
from build_demo.model import Acoustic, Recogniser
from build_demo.train import BLANK

_OPSET = 17


def export(network: Acoustic, characters: str, folder: Path, name: str) -> Path:
    """Write `<name>.onnx` and `<name>.vocab.json`; the vocabulary's tokens stand in the order of the logits.

    The graph takes `audio` float32 [1, samples] and gives `logits` float32 [1, frames, classes].
    """
    path = folder / f"{name}.onnx"
    with warnings.catch_warnings():
        # The newer exporter writes opset 18 and pulls in another package; torch is pinned, so this one stays.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            Recogniser(network).eval(),
            (torch.zeros(1, 16_000),),
            str(path),
            input_names=["audio"],
            output_names=["logits"],
            dynamic_axes={"audio": {1: "samples"}, "logits": {1: "frames"}},
            opset_version=_OPSET,
            dynamo=False,
        )
    tokens = [*characters[:BLANK], "", *characters[BLANK:]]
    path.with_suffix(".vocab.json").write_bytes(canonical_json({"blank": BLANK, "tokens": tokens}))
    return path


def largest_difference(network: Acoustic, model: Path, recordings: Iterable[NDArray[np.int16]]) -> float:
    """The largest absolute difference of a logit between torch and ONNX Runtime.

    Raises ValueError if a transcript differs.
    """
    recogniser, transcriber = Recogniser(network).eval(), Transcriber(model, threads=1)
    largest = 0.0
    for recording in recordings:
        ours = transcriber.logits(recording)
        with torch.no_grad():
            theirs = recogniser(torch.from_numpy(recording.astype(np.float32) / 32768)[None])[0].numpy()
        if transcriber.text(ours) != transcriber.text(theirs):
            raise ValueError(f"{model.name}: torch and ONNX Runtime give different transcripts")
        largest = max(largest, float(np.abs(ours - theirs).max()))
    return largest
