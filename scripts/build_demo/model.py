"""A character-CTC recogniser whose log-mel features are part of the network, so that it takes plain audio."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

WINDOW = 400
HOP = 160
MEL_BANDS = 40
_BINS = WINDOW // 2 + 1
FRAME_STRIDE = 4 * HOP
"""Samples between two output frames: the hop of the features and two convolutions of stride 2."""
_SAMPLE_RATE = 16_000
_MEL_RANGE_HZ = (60.0, 7600.0)
_LOG_FLOOR = 1e-4


def _mel(hertz: float) -> float:
    """The mel scale as O'Shaughnessy gave it: 2595 log10(1 + f / 700)."""
    return 2595 * math.log10(1 + hertz / 700)


def _mel_filters() -> Tensor:
    """Triangular filters [bands, bins] with corners equally far apart in mel."""
    low, high = (_mel(hertz) for hertz in _MEL_RANGE_HZ)
    corners = 700 * (10 ** (torch.linspace(low, high, MEL_BANDS + 2, dtype=torch.float64) / 2595) - 1)
    bins = torch.arange(_BINS, dtype=torch.float64) * (_SAMPLE_RATE / WINDOW)
    rising = (bins - corners[:-2, None]) / (corners[1:-1, None] - corners[:-2, None])
    falling = (corners[2:, None] - bins) / (corners[2:, None] - corners[1:-1, None])
    return torch.minimum(rising, falling).clamp(min=0).float()


def _fourier_kernels() -> Tensor:
    """Kernels [2 * bins, 1, window]: the real, then the imaginary rows of a Hann-windowed DFT."""
    time = torch.arange(WINDOW, dtype=torch.float64)
    angle = 2 * math.pi * time[:_BINS, None] * time / WINDOW
    window = torch.hann_window(WINDOW, periodic=True, dtype=torch.float64)
    return (torch.cat([angle.cos(), -angle.sin()]) * window)[:, None].float()


class LogMel(nn.Module):  # type: ignore[misc]
    """Audio [batch, samples] in [-1, 1] to log-mel features [batch, bands, frames], each band's mean removed.

    frames = (samples - 400) // 160 + 1, so at least 400 samples are needed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kernels", _fourier_kernels())
        self.register_buffer("filters", _mel_filters()[:, :, None])

    def forward(self, audio: Tensor) -> Tensor:
        """Features of each recording of the batch."""
        spectrum = nn.functional.conv1d(audio[:, None], self.kernels, stride=HOP)
        real, imaginary = spectrum[:, :_BINS], spectrum[:, _BINS:]
        mel = nn.functional.conv1d(real * real + imaginary * imaginary, self.filters)
        features = torch.log(mel + _LOG_FLOOR)
        return features - features.mean(dim=2, keepdim=True)


def _convolution(channels_in: int, channels_out: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv1d(channels_in, channels_out, 5, stride=stride, padding=2),
        nn.BatchNorm1d(channels_out),
        nn.ReLU(),
    )


class _Residual(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = _convolution(width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + self.inner(hidden)


class Acoustic(nn.Module):  # type: ignore[misc]
    """Features [batch, bands, frames] to logits [batch, ceil(frames / 4), classes]."""

    def __init__(self, width: int, blocks: int, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            _convolution(MEL_BANDS, width, stride=2),
            _convolution(width, width, stride=2),
            *(_Residual(width) for _ in range(blocks)),
            nn.Conv1d(width, classes, 1),
        )

    def forward(self, features: Tensor) -> Tensor:
        """Logits, not normalised."""
        logits: Tensor = self.layers(features)
        return logits.transpose(1, 2)


class Recogniser(nn.Module):  # type: ignore[misc]
    """The whole graph: audio [1, samples] to logits [1, frames, classes]."""

    def __init__(self, acoustic: Acoustic) -> None:
        super().__init__()
        self.features = LogMel()
        self.acoustic = acoustic

    def forward(self, audio: Tensor) -> Tensor:
        """Logits of one recording."""
        logits: Tensor = self.acoustic(self.features(audio))
        return logits
