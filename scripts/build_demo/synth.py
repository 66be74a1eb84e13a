"""Spoken recordings of sentences: espeak-ng voices, resampled to 16 kHz, with coloured noise, as PCM-16."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from build_demo.grammar import Sentence

SAMPLE_RATE = 16_000
TRAIN_VOICES = ("m1", "m2", "m3", "m4", "m6", "f1", "f2", "f3")
UNSEEN_VOICES = ("m5", "m7", "f4")
_ESPEAK_BLOCK, _BLOCK = 441, 320
"""Samples in 20 ms at 22,050 and at 16,000 a second."""
_WAV_HEADER_BYTES = 44


@dataclass(frozen=True)
class Utterance:
    """One recording to make: what is said, by which espeak-ng variant, how, and the noise put on it."""

    sentence: Sentence
    voice: str
    unseen_voice: bool
    words_per_minute: int
    pitch: int
    snr_db: float
    noise_slope: float
    """The noise power falls as 1/f to this power: 0 white, 1 pink."""
    peak: float
    """Largest absolute sample, of 1; low, because noise at full level compresses badly."""
    noise_seed: int


def espeak_version() -> str:
    """The version line of the installed espeak-ng, without the folder of its data."""
    return _espeak(["--version"], "").decode().split("Data at")[0].strip()


def plan(sentences: Iterable[Sentence], seed: int, unseen_voices: bool) -> Iterator[Utterance]:
    """Choose voice, rate, pitch and noise for each sentence.

    With `unseen_voices` two sentences in a row keep the training voices, the next two get the unseen ones.
    """
    rng = np.random.default_rng(seed)
    for index, sentence in enumerate(sentences):
        unseen = unseen_voices and index // 2 % 2 == 1
        yield Utterance(
            sentence=sentence,
            voice=str(rng.choice(UNSEEN_VOICES if unseen else TRAIN_VOICES)),
            unseen_voice=unseen,
            words_per_minute=int(rng.integers(150, 191)),
            pitch=int(rng.integers(30, 71)),
            snr_db=round(float(rng.uniform(5, 30)), 1),
            noise_slope=float(rng.uniform(0, 1.5)),
            peak=float(rng.uniform(0.03, 0.09)),
            noise_seed=int(rng.integers(2**31)),
        )


def render_all(utterances: Iterable[Utterance], workers: int) -> Iterator[NDArray[np.int16]]:
    """Render in order, `workers` at a time."""
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(render, utterances)


def render(utterance: Utterance) -> NDArray[np.int16]:
    """The recording: 16 kHz mono PCM-16, the same for the same utterance and espeak-ng version."""
    speech = resample(_speak(utterance))
    noise = coloured_noise(len(speech), utterance.noise_slope, np.random.default_rng(utterance.noise_seed))
    noise *= np.sqrt(np.mean(speech**2) / np.mean(noise**2)) * 10 ** (-utterance.snr_db / 20)
    mixed = speech + noise
    mixed *= utterance.peak / np.abs(mixed).max()
    return np.asarray(np.round(mixed * 32767), dtype=np.int16)


def resample(signal: NDArray[np.float64]) -> NDArray[np.float64]:
    """From espeak-ng's 22.05 kHz to 16 kHz by cutting the spectrum, after 80 ms of silence.

    Silence fills the end up to a whole number of 20 ms, which keeps the transforms fast.
    """
    padded = np.pad(signal, (4 * _ESPEAK_BLOCK, -len(signal) % _ESPEAK_BLOCK))
    length = len(padded) // _ESPEAK_BLOCK * _BLOCK
    spectrum = np.fft.rfft(padded)[: length // 2 + 1]
    return np.asarray(np.fft.irfft(spectrum, length) * (length / len(padded)))


def coloured_noise(length: int, slope: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Gaussian noise whose power falls as 1/f**slope, without a constant part."""
    spectrum = np.fft.rfft(rng.standard_normal(length))
    index = np.arange(1, len(spectrum))
    spectrum[0] = 0
    spectrum[1:] *= index ** (-slope / 2)
    return np.asarray(np.fft.irfft(spectrum, length))


def _speak(utterance: Utterance) -> NDArray[np.float64]:
    voice, rate, pitch = f"fa+{utterance.voice}", str(utterance.words_per_minute), str(utterance.pitch)
    wav = _espeak(["-v", voice, "-s", rate, "-p", pitch, "--stdin", "--stdout"], utterance.sentence.text)
    return np.frombuffer(wav[_WAV_HEADER_BYTES:], dtype="<i2").astype(np.float64) / 32768


def _espeak(options: list[str], text: str) -> bytes:
    command = ["espeak-ng", *options]
    return subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
