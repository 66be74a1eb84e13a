"""The committed models run as stated: interface, the same text every time, and the published error rates."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import soundfile
from build_demo.evaluate import Transcriber, error_rates
from numpy.typing import NDArray

from tests.unit.demo.paths import MODELS, SUITE, manifest

MODEL_NAMES = sorted(MODELS)
FIGURES = json.loads((SUITE / "figures.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recordings() -> list[NDArray[np.int16]]:
    return [soundfile.read(SUITE / entry["audio"], dtype="int16")[0] for entry in manifest()]


def _texts(name: str, threads: int, recordings: list[NDArray[np.int16]]) -> list[str]:
    transcriber = Transcriber(MODELS[name], threads)
    return [transcriber.transcribe(recording) for recording in recordings]


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_the_graph_takes_one_recording_at_a_time(name: str) -> None:
    """The batch is a static 1 at both ends, and the classes are as many as the vocabulary's tokens."""
    session = Transcriber(MODELS[name], threads=1).session
    tokens = json.loads(MODELS[name].with_suffix(".vocab.json").read_bytes())["tokens"]

    assert [(i.name, i.type, i.shape) for i in session.get_inputs()] == [("audio", "tensor(float)", [1, "samples"])]
    assert [(o.name, o.type, o.shape) for o in session.get_outputs()] == [
        ("logits", "tensor(float)", [1, "frames", len(tokens)])
    ]


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_the_vocabulary_is_the_characters_and_a_blank(name: str) -> None:
    """Tokens are distinct single characters, among them space and ZWNJ; the blank alone is empty."""
    vocabulary = json.loads(MODELS[name].with_suffix(".vocab.json").read_bytes())
    tokens, blank = vocabulary["tokens"], vocabulary["blank"]

    assert [i for i, token in enumerate(tokens) if len(token) != 1] == [blank]
    assert tokens[blank] == ""
    assert len(set(tokens)) == len(tokens)
    assert {" ", "\N{ZERO WIDTH NON-JOINER}"} < set(tokens)


@pytest.mark.parametrize("name", MODEL_NAMES)
@pytest.mark.parametrize("samples", [400, 559, 560, 1040, 16_000, 48_123])
def test_output_frames_follow_from_the_samples(name: str, samples: int) -> None:
    """One output frame for every four started hops of 160, from 400 samples on, as the datasheet says."""
    logits = Transcriber(MODELS[name], threads=1).logits(np.zeros(samples, dtype=np.int16))

    assert len(logits) == -(-((samples - 400) // 160 + 1) // 4)


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_the_text_is_the_same_every_time(name: str, recordings: list[NDArray[np.int16]]) -> None:
    """Repeated runs, on one thread and on two, give the same transcripts."""
    first, *others = [_texts(name, threads, recordings) for threads in (1, 1, 2, 2)]

    assert others == [first] * 3


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_the_published_error_rates_hold(name: str, recordings: list[NDArray[np.int16]]) -> None:
    """What figures.json states for the forty recordings comes out of the committed files.

    Another CPU may turn a near tie between two characters: two words of 256 are let pass.
    """
    rates = error_rates([entry["reference"] for entry in manifest()], _texts(name, 1, recordings))
    published = FIGURES["models"][name]["errors"]["demo"]["all"]

    assert rates.cer == pytest.approx(published["cer"], abs=0.003)
    assert rates.wer == pytest.approx(published["wer"], abs=0.008)


def test_the_small_model_is_clearly_better() -> None:
    """The demonstration has something to rank: tiny makes over twice the errors, and neither is useless."""
    small, tiny = (FIGURES["models"][name]["errors"]["heldout"]["all"]["cer"] for name in MODEL_NAMES)

    assert small < 0.06
    assert 2 * small < tiny < 0.3


def test_the_datasheet_states_the_measured_figures() -> None:
    """Every row of the datasheet's table of errors is what figures.json holds."""
    table = re.findall(
        r"^\| (fa-demo-\w+) \| (\w+) \| ([^|]+) \| ([\d.]+) % \| ([\d.]+) % \|$",
        (SUITE / "DATASHEET.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    expected = [
        (name, part, group, f"{100 * rates['cer']:.2f}", f"{100 * rates['wer']:.2f}")
        for name in MODEL_NAMES
        for part in ("demo", "heldout")
        for group, rates in FIGURES["models"][name]["errors"][part].items()
    ]

    assert table == expected


def test_repeats_merge_and_blanks_part() -> None:
    """Greedy CTC by hand: a a blank a is two letters, and blanks alone are no text."""
    transcriber = Transcriber(MODELS["fa-demo-tiny"], threads=1)
    one_hot = np.eye(37, dtype=np.float32)

    assert transcriber.text(one_hot[[5, 5, 0, 5, 6, 0]]) == "ببت"
    assert transcriber.text(one_hot[[0, 0]]) == ""


def test_error_rates_sum_before_they_divide() -> None:
    """One substituted letter of nine, one wrong word of three: long texts weigh more than short ones."""
    rates = error_rates(["سلام دنیا", "آب"], ["سلام دنیا", "آت"])

    assert rates.cer == pytest.approx(1 / 11)
    assert rates.wer == pytest.approx(1 / 3)
