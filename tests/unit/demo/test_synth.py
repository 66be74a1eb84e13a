"""The synthesis: plans, resampling, noise, and espeak-ng itself where it is installed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from build_demo.grammar import Sentence
from build_demo.synth import TRAIN_VOICES, UNSEEN_VOICES, coloured_noise, plan, render, resample

SENTENCES = [Sentence(f"جمله {index}", unseen_words=bool(index % 2)) for index in range(40)]


def test_a_plan_depends_on_its_seed_alone() -> None:
    """The same seed gives the same voices, rates and noise; another seed gives others."""
    first, second = list(plan(SENTENCES, 1, True)), list(plan(SENTENCES, 2, True))

    assert first == list(plan(SENTENCES, 1, True))
    assert first != second


def test_training_never_hears_an_unseen_voice() -> None:
    """Without unseen voices only training voices are planned; with them every second pair has one."""
    assert {u.voice for u in plan(SENTENCES, 3, False)} <= set(TRAIN_VOICES)
    assert [u.voice in UNSEEN_VOICES for u in plan(SENTENCES, 3, True)] == [False, False, True, True] * 10


def test_resampling_keeps_a_tone() -> None:
    """A 1 kHz tone at 22.05 kHz is a 1 kHz tone of the same height at 16 kHz, 80 ms later."""
    tone = np.sin(2 * np.pi * 1000 * np.arange(22_050) / 22_050)

    result = resample(tone)

    expected = np.sin(2 * np.pi * 1000 * np.arange(16_000) / 16_000)
    assert len(result) == 16_000 + 4 * 320
    np.testing.assert_allclose(result[4 * 320 :][2000:-2000], expected[2000:-2000], atol=2e-3)


@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_noise_falls_with_frequency_as_asked(slope: float) -> None:
    """Two octaves up the power falls to 4**-slope of what it was, within the scatter of noise."""
    power = np.abs(np.fft.rfft(coloured_noise(2**16, slope, np.random.default_rng(5)))) ** 2

    ratio = power[8000:8400].mean() / power[2000:2100].mean()
    assert ratio == pytest.approx(4**-slope, rel=0.35)


@pytest.mark.tool("espeak-ng")
def test_a_recording_is_the_same_twice() -> None:
    """espeak-ng and the noise are reproducible; the peak is the planned one."""
    utterance = next(plan([Sentence("کتاب روی میز است", unseen_words=False)], 7, False))
    recording = render(utterance)

    assert np.array_equal(recording, render(utterance))
    assert np.abs(recording).max() == pytest.approx(utterance.peak * 32767, abs=1)


@pytest.mark.tool("espeak-ng")
def test_a_lower_ratio_is_noisier() -> None:
    """In the silence before the speech there is the noise that was asked for: 20 dB more of it at 5 than at 25 dB."""
    calm = next(plan([Sentence("کتاب روی میز است", unseen_words=False)], 7, False))
    levels = [
        np.std(render(dataclasses.replace(calm, snr_db=snr, peak=0.9))[:1000].astype(np.float64)) for snr in (25.0, 5.0)
    ]

    assert 20 * np.log10(levels[1] / levels[0]) == pytest.approx(20, abs=4)
