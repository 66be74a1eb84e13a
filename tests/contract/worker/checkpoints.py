"""Tiny checkpoints with random weights, as transformers saves them, and what transformers itself makes of a sound."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

Files = dict[str, bytes]
_LETTERS = ["<pad>", "<s>", "</s>", "<unk>", "|", *"abcdefghij"]
_WHISPER = [
    *("<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|fa|>", "<|translate|>", "<|transcribe|>"),
    *("<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"),
]
_QWEN = [
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|audio_start|>", "<|audio_end|>", "<|audio_pad|>"),
    *("<asr_text>", "<timestamp>"),
]
_QWEN_CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{% for part in message.content %}"
    "{% if part.type == 'audio' %}<|audio_start|><|audio_pad|><|audio_end|>{% else %}{{ part.text }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}"
)


def whisper(folder: Path) -> Files:
    """Return a Whisper that knows English and Persian."""
    tokenizer = _byte_level(_WHISPER)
    tokenizer.add_tokens([AddedToken(f"<|{step * 0.02:.2f}|>", normalized=False) for step in range(1501)])
    number = tokenizer.token_to_id
    ends = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), number("<|endoftext|>"))
    start = number("<|startoftranscript|>")
    config = transformers.WhisperConfig(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        init_std=0.5,
        decoder_start_token_id=start,
        suppress_tokens=None,
        begin_suppress_tokens=None,
        **ends,
    )
    torch.manual_seed(3)
    model = transformers.WhisperForConditionalGeneration(config)
    _speak(model.model.decoder.embed_tokens.weight, tokenizer)
    model.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=start,
        max_length=448,
        is_multilingual=True,
        no_timestamps_token_id=number("<|notimestamps|>"),
        lang_to_id={token: number(token) for token in ("<|en|>", "<|fa|>")},
        task_to_id={task: number(f"<|{task}|>") for task in ("transcribe", "translate")},
        **ends,
    )
    ends_by_name = dict.fromkeys(("bos_token", "eos_token", "pad_token", "unk_token"), "<|endoftext|>")
    processor = transformers.WhisperProcessor(
        transformers.WhisperFeatureExtractor(),
        transformers.WhisperTokenizer(tokenizer_object=tokenizer, **ends_by_name),
    )
    return _saved(folder, model, processor)


def wav2vec2(folder: Path) -> Files:
    """Return a CTC model with the letters a to j."""
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(_LETTERS)}))
    config = transformers.Wav2Vec2Config(
        vocab_size=len(_LETTERS),
        pad_token_id=0,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        conv_dim=(16, 16),
        conv_kernel=(10, 16),
        conv_stride=(5, 64),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
        initializer_range=0.5,
    )
    torch.manual_seed(4)
    model = transformers.Wav2Vec2ForCTC(config)
    processor = transformers.Wav2Vec2Processor(
        transformers.Wav2Vec2FeatureExtractor(), transformers.Wav2Vec2CTCTokenizer(str(folder / "vocab.json"))
    )
    return _saved(folder, model, processor)


def wav2vec2_graph(files: Files, folder: Path) -> Files:
    """Return the same model as an ONNX graph with its features outside, beside its processor's files."""
    model = transformers.AutoModelForCTC.from_pretrained(written(files, folder)).eval()
    torch.onnx.export(
        model,
        (torch.zeros(1, 16_000),),
        folder / "model.onnx",
        input_names=["input_values"],
        output_names=["logits"],
        dynamic_axes={"input_values": {1: "samples"}, "logits": {1: "frames"}},
        dynamo=False,
    )
    return {"model.onnx": (folder / "model.onnx").read_bytes()} | {
        name: data for name, data in files.items() if name.endswith(".json") and name != "config.json"
    }


def qwen_asr(folder: Path) -> Files:
    """Return a Qwen3-ASR."""
    tokenizer = _byte_level(_QWEN)
    number = tokenizer.token_to_id
    config = transformers.Qwen3ASRConfig(
        audio_config={
            "encoder_layers": 1,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 32,
            "d_model": 16,
            "output_dim": 16,
            "downsample_hidden_size": 8,
        },
        text_config={
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 8,
            "vocab_size": tokenizer.get_vocab_size(),
            "initializer_range": 0.5,
        },
        audio_token_id=number("<|audio_pad|>"),
        timestamp_token_id=number("<timestamp>"),
        pad_token_id=number("<|endoftext|>"),
        eos_token_id=number("<|im_end|>"),
    )
    torch.manual_seed(5)
    model = transformers.AutoModelForMultimodalLM.from_config(config)
    _speak(model.get_output_embeddings().weight, tokenizer)
    audio_tokens = {"audio_token": "pad", "audio_bos_token": "start", "audio_eos_token": "end"}
    processor = transformers.Qwen3ASRProcessor(
        transformers.Qwen3ASRFeatureExtractor(),
        transformers.Qwen2Tokenizer(
            tokenizer_object=tokenizer,
            eos_token="<|im_end|>",
            pad_token="<|endoftext|>",
            unk_token=None,
            extra_special_tokens={name: f"<|audio_{part}|>" for name, part in audio_tokens.items()},
        ),
        chat_template=_QWEN_CHAT,
    )
    return _saved(folder, model, processor)


def changed(files: Files, name: str, without: tuple[str, ...] = (), **values: Any) -> Files:
    """Return the files with keys of one of them, a JSON object, taken out or set."""
    old = {key: value for key, value in json.loads(files[name]).items() if key not in without}
    return files | {name: json.dumps(old | values).encode()}


def written(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write files into a folder and return it."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def transcribed(folder: Path, audio: np.ndarray[Any, Any], tokens: int, **options: Any) -> str:
    """Return what transformers, called directly, makes of a sound with a Whisper in a folder."""
    processor = transformers.AutoProcessor.from_pretrained(folder)
    model = transformers.AutoModelForSpeechSeq2Seq.from_pretrained(folder).eval()
    features = processor(audio, sampling_rate=16_000, return_tensors="pt", return_attention_mask=True, **options)
    with torch.inference_mode():
        ids = model.generate(
            **features, language="fa", task="transcribe", max_new_tokens=tokens, return_timestamps=bool(options)
        )
    return str(processor.batch_decode(ids, skip_special_tokens=True)[0])


def _byte_level(special: list[str]) -> Tokenizer:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(special)
    return tokenizer


def _speak(weights: Any, tokenizer: Tokenizer) -> None:
    """Make the letters a to z likelier than all other tokens: a text then tells two outputs apart."""
    letters = [tokenizer.token_to_id(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]
    others = [number for number in range(tokenizer.get_vocab_size()) if number not in letters]
    with torch.no_grad():
        weights[others] *= 0.01


def _saved(folder: Path, model: Any, processor: Any) -> Files:
    saved = folder / "saved"
    model.save_pretrained(saved)
    processor.save_pretrained(saved)
    return {str(path.relative_to(saved)): path.read_bytes() for path in sorted(saved.rglob("*")) if path.is_file()}
