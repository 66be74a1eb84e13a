"""Tiny chat models with random weights: real architectures, real tokenizers, nothing they say makes sense."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    DynamicCache,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2AudioConfig,
    Qwen2AudioForConditionalGeneration,
    Qwen2AudioProcessor,
    WhisperFeatureExtractor,
)

Files = dict[str, bytes]
END, AUDIO = "<|end|>", "<|AUDIO|>"
_SPECIAL = ["<|system|>", "<|user|>", "<|assistant|>", "<|audio_bos|>", AUDIO, "<|audio_eos|>"]
_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{% if part.type == 'audio' %}<|audio_bos|><|AUDIO|><|audio_eos|>{% else %}{{ part.text }}{% endif %}"
    "{% endfor %}{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
# Wide, so that the most likely token is so by a margin.
_SPREAD = 0.5


@cache
def causal() -> Files:
    """Return the files of a Llama of two layers with a byte-level tokenizer and a chat template."""
    torch.manual_seed(1)
    tokenizer = _tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        initializer_range=_SPREAD,
    )
    return _files(LlamaForCausalLM(config).save_pretrained, tokenizer.save_pretrained)


@cache
def audio_language() -> Files:
    """Return the files of a Qwen2-Audio of one layer each."""
    torch.manual_seed(2)
    tokenizer = _tokenizer()
    config = Qwen2AudioConfig(
        audio_config={
            "model_type": "qwen2_audio_encoder",
            "d_model": 16,
            "encoder_layers": 1,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 32,
            "num_mel_bins": 80,
        },
        text_config={
            "model_type": "qwen2",
            "vocab_size": len(tokenizer),
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "initializer_range": _SPREAD,
        },
        audio_token_index=tokenizer.convert_tokens_to_ids(AUDIO),
    )
    model = Qwen2AudioForConditionalGeneration(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    processor = Qwen2AudioProcessor(WhisperFeatureExtractor(feature_size=80), tokenizer, chat_template=_TEMPLATE)
    return _files(model.save_pretrained, processor.save_pretrained)


def exported(files: Files) -> Files:
    """Return a causal model's files with the graph of the decoder and its cache in place of the weights."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, data in files.items():
            (folder / path).write_bytes(data)
        model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
        _export(model, folder / "decoder.onnx")
        graph = (folder / "decoder.onnx").read_bytes()
    rest = {path: data for path, data in files.items() if not path.endswith(".safetensors")}
    return {**rest, "decoder.onnx": graph}


class _WithFlatCache(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Any, attention_mask: Any, position_ids: Any, *past: Any) -> tuple[Any, ...]:
        cache = DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        found = self.model(
            input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, past_key_values=cache
        )
        present = [tensor for layer in found.past_key_values.layers for tensor in (layer.keys, layer.values)]
        return (found.logits, *present)


def _export(model: Any, path: Path) -> None:
    config = model.config
    past = [f"past_key_values.{i}.{kind}" for i in range(config.num_hidden_layers) for kind in ("key", "value")]
    present = [name.replace("past_key_values", "present") for name in past]
    shape = (1, config.num_key_value_heads, 3, config.head_dim)
    ones, places = torch.ones(1, 5, dtype=torch.long), torch.tensor([[3, 4]])
    torch.onnx.export(
        _WithFlatCache(model),
        (ones[:, :2], ones, places, *(torch.zeros(shape) for _ in past)),
        str(path),
        input_names=["input_ids", "attention_mask", "position_ids", *past],
        output_names=["logits", *present],
        dynamic_axes={
            **{name: {1: name} for name in ("input_ids", "attention_mask", "position_ids", "logits")},
            **{name: {2: name} for name in (*past, *present)},
        },
        opset_version=17,
        dynamo=False,
    )


def _tokenizer() -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: index for index, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token=END, additional_special_tokens=_SPECIAL
    )
    made.chat_template = _TEMPLATE
    return made


def _files(*savers: Callable[[Path], Any]) -> Files:
    with tempfile.TemporaryDirectory() as name:
        for save in savers:
            save(Path(name))
        return {path.name: path.read_bytes() for path in Path(name).iterdir()}
