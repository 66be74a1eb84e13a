"""Training of the CTC networks, on CPU, the same weights for the same seed and thread count."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from build_demo.model import Acoustic

BLANK = 0
_BATCH = 16
_PEAK_RATE = 3e-3
_WEIGHT_DECAY = 0.01


@dataclass(frozen=True)
class Size:
    """A network to train, by its name."""

    name: str
    width: int
    blocks: int
    epochs: int


@dataclass(frozen=True)
class Example:
    """Features [bands, frames] and the classes of the reference's characters."""

    features: Tensor
    target: Tensor


@dataclass(frozen=True)
class Training:
    """What came of a training: the network in evaluation mode, mean loss of each epoch, seconds."""

    network: Acoustic
    losses: list[float]
    seconds: float


def train(size: Size, classes: int, examples: Sequence[Example], seed: int) -> Training:
    """Train with AdamW, a one-cycle learning rate and masked features; prints one line an epoch."""
    torch.manual_seed(seed)
    network = Acoustic(size.width, size.blocks, classes)
    batches = _batches(examples)
    optimizer = torch.optim.AdamW(network.parameters(), lr=_PEAK_RATE, weight_decay=_WEIGHT_DECAY)
    steps = size.epochs * len(batches)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _PEAK_RATE, total_steps=steps)
    losses: list[float] = []
    started = time.monotonic()
    for epoch in range(size.epochs):
        total = 0.0
        for index in torch.randperm(len(batches)).tolist():
            loss = _loss(network, batches[index])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        losses.append(total / len(batches))
        print(f"{size.name}: epoch {epoch + 1}/{size.epochs}, loss {losses[-1]:.4f}", flush=True)
    return Training(network.eval(), losses, time.monotonic() - started)


def _batches(examples: Sequence[Example]) -> list[list[Example]]:
    """Batches of examples of like length, so that little of a batch is padding."""
    ordered = sorted(examples, key=lambda example: int(example.features.shape[1]))
    return [ordered[start : start + _BATCH] for start in range(0, len(ordered), _BATCH)]


def _loss(network: Acoustic, batch: list[Example]) -> Tensor:
    lengths = torch.tensor([example.features.shape[1] for example in batch])
    features = torch.zeros(len(batch), batch[0].features.shape[0], int(lengths.max()))
    for row, example in zip(features, batch, strict=True):
        row[:, : example.features.shape[1]] = _masked(example.features)
    scores = network(features).log_softmax(dim=2).transpose(0, 1)
    loss: Tensor = nn.functional.ctc_loss(
        scores,
        torch.cat([example.target for example in batch]),
        (lengths + 3) // 4,
        torch.tensor([len(example.target) for example in batch]),
        blank=BLANK,
        zero_infinity=True,
    )
    return loss


def _masked(features: Tensor) -> Tensor:
    """SpecAugment (Park et al. 2019) without the warp: two masks of up to 8 bands, two of up to 20 frames."""
    features = features.clone()
    for dimension, widest in ((0, 8), (0, 8), (1, 20), (1, 20)):
        width = int(torch.randint(widest + 1, ()))
        start = int(torch.randint(features.shape[dimension] - width, ()))
        features.narrow(dimension, start, width).zero_()
    return features
