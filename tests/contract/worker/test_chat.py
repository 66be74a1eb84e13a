"""The chat adapters in a real worker, on tiny models of real architectures."""

from __future__ import annotations

import io
import json
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from orinbench.internal.v1.worker_pb2 import PHASE_KIND_LOADING, FromWorker
from orinbench.v1.record_pb2 import FAILURE_CLASS_INPUT, FAILURE_CLASS_MODEL, SampleRecord
from orinbench_engines.contract import Output, Sample

from tests.contract.worker.kit import Store, fail, opened, run, samples

pytest.importorskip("torch")
from tests.contract.worker import chat_models

pytestmark = pytest.mark.models
CHAT = "application/vnd.orinbench.chat+json"
LIMIT = {"max_new_tokens": 24}


def ask(*parts: str | int, **decoding: Any) -> bytes:
    """Return the input of a sample: one user message of texts and numbers of attachments."""
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "audio", "attachment": part}
        for part in parts
    ]
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": content}]}
    return json.dumps({**asked, "decoding": decoding} if decoding else asked).encode()


def recording(seconds: float, seed: int = 0) -> bytes:
    """Return noise as a canonical WAV file."""
    noise = np.random.default_rng(seed).normal(0, 3000, round(seconds * 16_000)).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16_000)
        out.writeframes(noise.tobytes())
    return file.getvalue()


def said_by(
    store: Store,
    files: dict[str, bytes],
    inputs: list[bytes],
    engine: str = "torch",
    adapter: str = "chat",
    **more: Any,
) -> list[FromWorker]:
    """Run a model over inputs."""
    model = store.put_model(engine, adapter, files, LIMIT)
    return run(store.prepare(model, store.put_inputs(inputs, CHAT, **more), len(inputs)))


def structured(record: SampleRecord) -> dict[str, Any]:
    """Return what stands beside the text."""
    found: dict[str, Any] = json.loads(record.structured_json)
    return found


def test_replies_carry_counts_and_times(store: Store) -> None:
    """A reply has its tokens counted, the prompt's too, and the time of the first token inside the window.

    The daemon is told beforehand how many tokens it may have: it goes by that when it judges what is a hang.
    """
    said = said_by(store, chat_models.causal(), [ask("سلام"), ask("سلام")])
    first, second = samples(said)

    assert first.text == second.text != ""
    # One token a byte, and user, end, assistant of the template.
    assert first.prompt_tokens == len("سلام".encode()) + 3
    assert 0 < first.output_tokens <= 24
    assert 0 < first.first_token_ns < first.window_ns
    assert structured(first)["finish_reason"] == ("length" if first.output_tokens == 24 else "stop")
    assert [stage.name for stage in first.stages] == ["features", "transfer", "inference", "decode_text"]
    assert _told_limits(said) == {24}


def test_the_suites_limit_cuts_a_reply(store: Store) -> None:
    """The manifest's max_tokens holds against the model's option, and the record says that the reply was cut."""
    said = said_by(store, chat_models.causal(), [ask("hello")], max_tokens=2)
    (record,) = samples(said)

    assert (record.output_tokens, structured(record)["finish_reason"]) == (2, "length")
    assert _told_limits(said) == {2}


def _told_limits(said: list[FromWorker]) -> set[int]:
    phases = (message.phase for message in said if message.HasField("phase"))
    return {phase.max_tokens for phase in phases if phase.kind != PHASE_KIND_LOADING}


def test_sampling_is_repeatable_by_its_seed(store: Store) -> None:
    """The same seed draws the same reply, whatever ran before; another seed another; greedy is neither."""
    drawn = [{"strategy": "sample", "top_p": 0.9, "temperature": 2.0, "seed": seed} for seed in (5, 5, 6)]
    inputs = [ask("hello", **decoding) for decoding in drawn]
    first, again, other, greedy = samples(said_by(store, chat_models.causal(), [*inputs, ask("hello")]))

    assert first.text == again.text
    assert len({first.text, other.text, greedy.text}) == 3


@pytest.mark.filterwarnings("ignore")
def test_greedy_is_the_plain_maximum_whatever_the_checkpoint_asks_for(store: Store) -> None:
    """Settings that change or break a reply have no effect, and a note names them; neutral ones and tokens do not."""
    plain, without = _reply(store, {"repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "num_beams": 1})
    asked = {
        "guidance_scale": 3.0,
        "encoder_repetition_penalty": 1.5,
        "exponential_decay_length_penalty": [2, 5.0],
        "forced_eos_token_id": 2,
        "sequence_bias": [[[10], 5.0]],
        "repetition_penalty": 1.5,
        "max_time": 0.001,
        "stop_strings": ["a"],
        "return_dict_in_generate": True,
        "cache_implementation": "static",
    }
    same, notes = _reply(store, asked)

    assert without == []
    assert (same.text, same.output_tokens) == (plain.text, plain.output_tokens)
    (note,) = notes
    assert all(f"{name} {value}" in note for name, value in asked.items()), note


def _reply(store: Store, settings: dict[str, Any]) -> tuple[Output, list[str]]:
    files = chat_models.causal()
    old = json.loads(files["generation_config.json"])
    model = store.put_model(
        "torch", "chat", {**files, "generation_config.json": json.dumps({**old, **settings}).encode()}, LIMIT
    )
    pipeline = opened(store, model)
    output: Output = pipeline.adapter.infer(Sample(0, "s-0", "سلام".encode(), "text/plain"))
    return output, list(pipeline.facts.notes)


@pytest.fixture(scope="module")
def exported() -> dict[str, bytes]:
    """The files of a causal model, its weights in a graph."""
    with pytest.warns():  # the exporter's own
        return chat_models.exported(chat_models.causal())


def test_the_same_weights_reply_the_same_through_onnx(store: Store, exported: dict[str, bytes]) -> None:
    """The decoder exported with its cache gives the texts, counts and endings that torch gives."""
    inputs = [ask(text) for text in ("سلام hello", "2 + 2", "a" * 50)]
    torch_says, onnx_says = (
        [(record.text, record.output_tokens, record.structured_json) for record in samples(found)]
        for found in (said_by(store, chat_models.causal(), inputs), said_by(store, exported, inputs, "onnxruntime"))
    )

    assert torch_says == onnx_says


def test_the_same_graph_replies_the_same_through_tensorrt(
    store: Store, exported: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan whose past begins at 0 takes the first step, which has none. TensorRT's names alone, no GPU."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    tokens = {"min": [1, 1], "opt": [1, 16], "max": [1, 128]}
    past = {"min": [1, 2, 0, 8], "opt": [1, 2, 16, 8], "max": [1, 2, 128, 8]}
    profile = dict.fromkeys(("input_ids", "attention_mask", "position_ids"), tokens) | {
        f"past_key_values.{layer}.{kind}": past for layer in range(2) for kind in ("key", "value")
    }
    model = store.put_model("tensorrt", "chat", exported, {**LIMIT, "profile": profile})
    cache = str(store.folder.parent / "cache")
    prepare = store.prepare(model, store.put_inputs([ask("hello")], CHAT), 1, device="cuda", cache_path=cache)
    (through_tensorrt,) = samples(run(prepare, Path(__file__).parent / "fakes"))

    assert through_tensorrt.text == _reply_of_graph(store, exported)


def test_the_cache_stays_on_the_device(
    store: Store, exported: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On CUDA every step leaves its cache where it is, and the reply is the same. The provider's name alone, no GPU.

    The stand-in refuses a cache that is asked for in host memory.
    """
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    model = store.put_model("onnxruntime", "chat", exported, LIMIT)
    prepare = store.prepare(model, store.put_inputs([ask("hello")], CHAT), 1, device="cuda")
    (record,) = samples(run(prepare, Path(__file__).parent / "fakes" / "onnxruntime_cuda"))

    assert record.text == _reply_of_graph(store, exported)


def _reply_of_graph(store: Store, files: dict[str, bytes]) -> str:
    pipeline = opened(store, store.put_model("onnxruntime", "chat", files, LIMIT))
    text: str = pipeline.adapter.infer(Sample(0, "s-0", ask("hello"), CHAT)).text
    assert text
    return text


def test_audio_is_heard_in_its_place(store: Store) -> None:
    """Recordings change the reply, their order too; without any the text-only question is answered."""
    sounds = [recording(1.0), recording(2.0, 1)]
    inputs = [ask(0, "which?", 1), ask(1, "which?", 0), ask("which?")]
    both, swapped, none = samples(
        said_by(store, chat_models.audio_language(), inputs, adapter="audio-chat", attached=sounds, audio_seconds=3.0)
    )

    assert len({both.text, swapped.text, none.text}) == 3
    assert (both.audio_seconds, none.HasField("audio_seconds")) == (3.0, False)
    assert "audio_cut_at_s" not in structured(both)


def test_audio_the_model_cannot_hear_whole_is_told(store: Store) -> None:
    """Qwen2-Audio hears 30 s: of 31 the record says where it was cut."""
    (record,) = samples(
        said_by(
            store,
            chat_models.audio_language(),
            [ask(0, "?")],
            adapter="audio-chat",
            attached=[recording(31.0)],
            audio_seconds=31.0,
        )
    )

    assert structured(record)["audio_cut_at_s"] == 30.0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "Invalid JSON"),
        (ask("a", 0), "takes text alone"),
        (b'{"messages":[]}', "messages"),
        (ask("a", strategy="sample", top_p=0, temperature=1, seed=1), "top_p"),
    ],
)
def test_a_conversation_without_sense_is_an_input_failure(store: Store, content: bytes, words: str) -> None:
    """What the suite sends is at fault, and the message says what of it."""
    model = store.put_model("torch", "chat", chat_models.causal(), LIMIT)
    failure = fail(store.prepare(model, store.put_inputs([content], CHAT, attached=[recording(0.1)]), 1))

    assert (failure.failure_class, words in failure.message) == (FAILURE_CLASS_INPUT, True), failure.message


def test_a_model_without_chat_template_is_refused(store: Store) -> None:
    """One error that says which file to declare."""
    files = {name: data for name, data in chat_models.causal().items() if name != "chat_template.jinja"}
    model = store.put_model("torch", "chat", files)
    failure = fail(store.prepare(model, store.put_inputs([ask("a")], CHAT), 1))

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_MODEL, "CHAT_TEMPLATE")
    assert "chat_template.jinja" in failure.message
