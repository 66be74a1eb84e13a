"""Greedy CTC decoding against the definition, written out plainly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench_engines.adapters.ctc import MIN_FRAMES, CtcAdapter, CtcOptions
from orinbench_engines.contract import GraphSession, Model, Sample
from orinbench_engines.failures import WorkerFailure
from orinbench_profiles import ModelDeclaration, canonical_json

from tests.contract.worker.graphs import sound

_TOKENS = ["a", "", "ب", "‌", " "]
_BLANK = 1


class _Fixed(GraphSession):
    """A graph that answers with given logits and keeps what it was asked."""

    inputs: Mapping[str, tuple[int | None, ...]] = {"audio": (1, None)}
    outputs: Mapping[str, tuple[int | None, ...]] = {"logits": (1, None, len(_TOKENS))}

    def __init__(self, logits: np.ndarray[Any, Any], kind: str = "float32") -> None:
        self.types = {"audio": np.dtype(kind)}
        self._logits = logits
        self.asked: list[np.ndarray[Any, Any]] = []

    def run(self, inputs: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        self.asked.append(inputs["audio"])
        return {"logits": self._logits[np.newaxis]}


def _adapter(folder: Path, session: GraphSession) -> CtcAdapter:
    path = folder / "vocabulary"
    path.write_bytes(canonical_json({"blank": _BLANK, "tokens": _TOKENS}))
    declaration = ModelDeclaration(id="m", title="", license="", engine="x", adapter="ctc", dtype="float32")
    adapter = CtcAdapter(CtcOptions())
    adapter.open(Model(declaration, {"v.json": path}, "cpu", folder), session)
    return adapter


def _logits(classes: list[int]) -> np.ndarray[Any, Any]:
    return np.eye(len(_TOKENS), dtype=np.float32)[classes]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the vocabulary."""
    return tmp_path_factory.mktemp("ctc")


_CLASSES = st.lists(st.integers(0, len(_TOKENS) - 1), min_size=1, max_size=60)


@given(classes=_CLASSES)
def test_text_is_what_the_definition_says(folder: Path, classes: list[int]) -> None:
    """Repeats collapse, then blanks drop: two equal letters stay two only with a blank between them."""
    adapter = _adapter(folder, _Fixed(_logits(classes)))
    expected = "".join(_TOKENS[index] for index, _ in groupby(classes) if index != _BLANK)

    assert adapter.infer(Sample(0, "s", sound("a"), "audio/flac")).text == expected


def test_a_short_recording_is_padded_and_a_long_one_is_not(folder: Path) -> None:
    """Under one window silence is added behind, and the declared length stays the recording's own."""
    session = _Fixed(_logits([0]))
    adapter = _adapter(folder, session)
    long = sound("a")
    short = sound("a", form="WAV")
    short = short[:40] + (20).to_bytes(4, "little") + short[44:64]
    lengths = [adapter.infer(Sample(0, "s", data, "audio/wav")).audio_seconds for data in (long, short)]

    assert [asked.shape for asked in session.asked] == [(1, 800), (1, MIN_FRAMES)]
    assert lengths == [0.05, 10 / 16_000]
    assert np.array_equal(np.nonzero(session.asked[1][0])[0], np.arange(10))


@pytest.mark.parametrize("frame", [0, 2])
def test_logits_that_are_not_numbers_are_no_text(folder: Path, frame: int) -> None:
    """A model that computes NaN in any frame has no output, rather than a wrong one."""
    logits = _logits([0, 2, 0])
    logits[frame, 3] = np.nan
    adapter = _adapter(folder, _Fixed(logits))

    with pytest.raises(WorkerFailure, match="sample s-9: the logits hold NaN"):
        adapter.infer(Sample(0, "s-9", sound("a"), "audio/flac"))


def test_a_half_precision_graph_gets_half_precision_audio(folder: Path) -> None:
    """The audio comes in the graph's own type, and is otherwise the recording."""
    session = _Fixed(_logits([0, 2]).astype(np.float16), "float16")
    adapter = _adapter(folder, session)

    assert adapter.infer(Sample(0, "s", sound("a"), "audio/flac")).text == _TOKENS[0] + _TOKENS[2]
    assert session.asked[0].dtype == np.float16
    assert session.asked[0].max() == 0.25


class _Features(GraphSession):
    """A graph exported without its features, with so many classes."""

    inputs: Mapping[str, tuple[int | None, ...]] = {"input_values": (1, None)}
    types: Mapping[str, np.dtype[Any]] = {"input_values": np.dtype("float32")}

    def __init__(self, classes: int) -> None:
        self.outputs = {"logits": (1, None, classes)}

    def run(self, inputs: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        raise NotImplementedError


@pytest.mark.parametrize(("classes", "fits"), [(3, False), (4, True), (5, True), (6, True), (7, False)])
def test_tokens_that_a_tokenizer_adds_need_no_class(tmp_path: Path, classes: int, fits: bool) -> None:
    """A model tuned on a vocab.json without <s> and </s> has no class for them, or it has: both are usual."""
    written = {
        "vocab.json": {"a": 0, "|": 1, "[UNK]": 2, "[PAD]": 3},
        "tokenizer_config.json": {"pad_token": "[PAD]", "added_tokens_decoder": {"4": "<s>", "5": "</s>"}},
        "preprocessor_config.json": {},
    }
    files = {name: tmp_path / name for name in written}
    for name, value in written.items():
        files[name].write_text(json.dumps(value))
    declaration = ModelDeclaration(id="m", title="", license="", engine="x", adapter="ctc", dtype="float32")
    with nullcontext() if fits else pytest.raises(WorkerFailure, match=f"{classes} classes, its vocabulary 6 tokens"):
        CtcAdapter(CtcOptions()).open(Model(declaration, files, "cpu", tmp_path), _Features(classes))
