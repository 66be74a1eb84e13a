"""Tiny models with random weights, made here: nothing is downloaded."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from transformers import (
    Wav2Vec2Config,
    Wav2Vec2CTCTokenizer,
    Wav2Vec2FeatureExtractor,
    Wav2Vec2ForCTC,
    Wav2Vec2Processor,
)

_SEED = 1
_TOKENS = ["<pad>", "<s>", "</s>", "<unk>", "|", *"abcdefghijklmnopqrstuvwxyz"]


def ctc_checkpoint(folder: Path) -> dict[str, bytes]:
    """Return the files of a wav2vec 2.0 checkpoint for CTC in float32, by name."""
    torch.manual_seed(_SEED)
    vocabulary = folder / "vocabulary.json"
    vocabulary.write_text(json.dumps({token: index for index, token in enumerate(_TOKENS)}))
    saved = folder / "checkpoint"
    extractor = Wav2Vec2FeatureExtractor(feature_size=1, sampling_rate=16_000, do_normalize=True)
    Wav2Vec2Processor(extractor, Wav2Vec2CTCTokenizer(str(vocabulary))).save_pretrained(saved)
    config = Wav2Vec2Config(
        vocab_size=len(_TOKENS),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        conv_dim=[32] * 7,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
        pad_token_id=0,
    )
    Wav2Vec2ForCTC(config).eval().save_pretrained(saved)
    return {path.name: path.read_bytes() for path in saved.iterdir()}
