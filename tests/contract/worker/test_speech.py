"""The speech adapters on the torch engine, each against transformers called directly."""

from __future__ import annotations

import io
import sys
import tarfile
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from orinbench.v1.record_pb2 import FAILURE_CLASS_MODEL
from orinbench_engines.failures import WorkerFailure

from tests.contract.worker.kit import Store, heard, noise, opened

with suppress(ImportError):  # every test here then skips
    import torch
    import transformers

    from tests.contract.worker.checkpoints import changed, qwen_asr, transcribed, wav2vec2_graph, written

pytestmark = [pytest.mark.models, pytest.mark.filterwarnings("ignore")]

Files = dict[str, bytes]


def _whisper(store: Store, files: Files, **options: Any) -> Any:
    return opened(store, store.put_model("torch", "whisper", files, {"max_new_tokens": 6} | options))


def test_whisper_hears_a_long_recording_to_its_end(store: Store, whisper: Files, tmp_path: Path) -> None:
    """Over 30 s the text is that of transformers' own long form, and other than that of the first 30 s."""
    audio, data = noise(40)
    _, beginning = noise(30)
    folder = written(whisper, tmp_path / "direct")
    pipeline = _whisper(store, whisper)
    output = heard(pipeline, data)

    assert output.text == transcribed(folder, audio, 6, truncation=False, padding="longest")
    assert output.text != heard(pipeline, beginning).text
    assert output.audio_seconds == 40


def test_whisper_obeys_the_limit_of_a_sample(store: Store, whisper: Files) -> None:
    """A sample's own limit of tokens shortens its text, and never lengthens it."""
    pipeline = _whisper(store, whisper)
    _, data = noise(1)
    counts = [heard(pipeline, data, max_tokens=limit).output_tokens for limit in (None, 100, 3)]

    assert counts == [6, 6, 3]


def test_an_old_whisper_is_mended_and_says_so(store: Store, whisper: Files) -> None:
    """A generation config without the tables of languages and tasks gives the same text, with a note in the facts."""
    missing = ("lang_to_id", "task_to_id", "no_timestamps_token_id", "is_multilingual")
    old = changed(whisper, "generation_config.json", without=missing)
    _, data = noise(2)
    mended, whole = _whisper(store, old), _whisper(store, whisper)

    assert heard(mended, data).text == heard(whole, data).text
    (note,) = set(mended.facts.notes) - set(whole.facts.notes)
    assert all(name in note for name in missing)
    (long,) = whole.facts.notes
    assert "native long form" in long


@pytest.mark.parametrize("name", ["logprob_threshold", "no_speech_threshold"])
def test_whisper_refuses_settings_that_transformers_trips_over(store: Store, whisper: Files, name: str) -> None:
    """A threshold in the generation config would end the first sample in an IndexError: it is named at load."""
    files = changed(whisper, "generation_config.json", without=(), **{name: 0.5})
    with pytest.raises(WorkerFailure, match=f"generation_config.json has {name}") as caught:
        _whisper(store, files)

    assert caught.value.reason == "GENERATION_CONFIG"


def test_whisper_refuses_a_language_it_does_not_know(store: Store, whisper: Files) -> None:
    """A language without a token, and another language than English for a model of English alone, are refused."""
    with pytest.raises(WorkerFailure, match="does not know language 'de'; it knows: en, fa"):
        _whisper(store, whisper, language="de")
    english = changed(whisper, "generation_config.json", is_multilingual=False)
    with pytest.raises(WorkerFailure, match="for English alone; declared are language 'fa'"):
        _whisper(store, english)
    assert heard(_whisper(store, english, language="en"), noise(1)[1]).text


def test_ctc_is_the_same_through_torch_and_onnx_runtime(store: Store, wav2vec2: Files, tmp_path: Path) -> None:
    """A checkpoint on torch and the graph exported from it give transformers' own text; logits differ by under 1e-3."""
    on_torch = opened(store, store.put_model("torch", "ctc", wav2vec2))
    on_onnx = opened(store, store.put_model("onnxruntime", "ctc", wav2vec2_graph(wav2vec2, tmp_path)))
    processor = transformers.AutoProcessor.from_pretrained(tmp_path)
    model = transformers.AutoModelForCTC.from_pretrained(tmp_path).eval()
    graph: Any = vars(on_onnx.adapter)["_way"]._session
    for seconds in (0.01, 1, 3.3):
        audio, data = noise(seconds)
        features = processor(np.pad(audio, (0, max(0, 400 - len(audio)))), sampling_rate=16_000, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**features).logits
        outputs = [heard(pipeline, data) for pipeline in (on_torch, on_onnx)]
        (text,) = processor.batch_decode(logits.argmax(-1), skip_special_tokens=False)
        same = graph.run({"input_values": features.input_values.numpy()})["logits"]

        assert [output.text for output in outputs] == [text, text]
        assert np.abs(same - logits.numpy()).max() < 1e-3
    assert len(text) > 10
    stages = ["decode_audio", "features", "transfer", "inference", "decode_text"]
    assert [name for name, _ in outputs[0].stages] == stages
    assert [name for name, _ in outputs[1].stages] == [name for name in stages if name != "transfer"]


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The files of a tiny Qwen3-ASR."""
    return qwen_asr(tmp_path_factory.mktemp("qwen"))


def test_sampling_is_repeatable_and_knows_no_neighbour(store: Store, qwen: Files) -> None:
    """A checkpoint that samples gives a recording the same text again, also after another recording."""
    sampling = changed(qwen, "generation_config.json", do_sample=True, temperature=2.0)
    pipeline = opened(store, store.put_model("torch", "qwen-asr", sampling, {"max_new_tokens": 8}))
    greedy = opened(store, store.put_model("torch", "qwen-asr", qwen, {"max_new_tokens": 8}))
    (_, first), (_, second) = noise(1), noise(1, seed=2)
    texts = [heard(pipeline, data).text for data in (first, first, second, first)]

    assert texts[0] == texts[1] == texts[3]
    assert texts[0] != heard(greedy, first).text


def test_qwen_asr_asks_for_a_transcription(store: Store, qwen: Files, tmp_path: Path) -> None:
    """The text is what the processor extracts from what the model says to its own transcription request."""
    pipeline = opened(store, store.put_model("torch", "qwen-asr", qwen, {"max_new_tokens": 8}))
    audio, data = noise(2)
    folder = written(qwen, tmp_path)
    processor = transformers.AutoProcessor.from_pretrained(folder)
    model = transformers.AutoModelForMultimodalLM.from_pretrained(folder).eval()
    request = processor.apply_transcription_request(audio=audio, language="fa")
    with torch.inference_mode():
        tokens = model.generate(**request, max_new_tokens=8)[0, request["input_ids"].shape[1] :]
    output = heard(pipeline, data)

    assert output.text == processor.decode(tokens, return_format="transcription_only")
    assert output.text
    assert (output.prompt_tokens, output.output_tokens) == (request["input_ids"].shape[1], len(tokens))


def test_qwen_asr_needs_a_processor_that_takes_requests(store: Store, whisper: Files) -> None:
    """Another model, or a transformers from before Qwen3-ASR, gives one error with the release that is needed."""
    with pytest.raises(WorkerFailure, match=r"takes no transcription requests.* transformers 5\.13 or newer"):
        opened(store, store.put_model("torch", "qwen-asr", whisper))


def _archive(folder: Path, more: dict[str, Any] | None = None) -> bytes:
    """Return a .nemo with a config, weights, and more members: objects to be saved, or bytes."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:") as archive:
        members = {"model_config.yaml": b"target: nemo.collections.asr.models.X", "model_weights.ckpt": torch.zeros(3)}
        for name, value in (members | (more or {})).items():
            data = value
            if not isinstance(value, bytes):
                torch.save(value, folder / "member")
                data = (folder / "member").read_bytes()
            member = tarfile.TarInfo("./" + name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


class _Foreign:
    """A class that is no part of a state dict."""


def test_a_nemo_that_holds_more_than_weights_is_not_opened(store: Store, tmp_path: Path) -> None:
    """A pickled class, a config that names a foreign class, a script, a broken archive: refused without NeMo."""
    cases = {
        "a.nemo: foreign.ckpt is not opened: its pickle asks for": _archive(tmp_path, {"foreign.ckpt": _Foreign()}),
        "asks for os.system, which is no part of NeMo": _archive(
            tmp_path, {"model_config.yaml": b"a: [{_target_: os.system}]"}
        ),
        "holds setup.py: only weights": _archive(tmp_path, {"setup.py": b""}),
        "which is no plain file": _archive(tmp_path, {"../up.txt": b""}),
        "is not YAML": _archive(tmp_path, {"model_config.yaml": b"a: ["}),
        "is no tar archive": b"garbage" * 100,
    }
    for message, data in cases.items():
        with pytest.raises(WorkerFailure) as caught:
            opened(store, store.put_model("torch", "nemo-rnnt", {"a.nemo": data}))
        assert message in str(caught.value)
        assert caught.value.failure_class == FAILURE_CLASS_MODEL
    with pytest.raises(WorkerFailure, match="2 of its files"):
        opened(store, store.put_model("torch", "nemo-rnnt", {"a.nemo": data, "b.nemo": data}))


def test_without_nemo_the_runtime_is_named(store: Store, tmp_path: Path) -> None:
    """A sound .nemo in a runtime without NeMo gives one error that says how to get one."""
    with pytest.raises(WorkerFailure, match=r'2\.2 or newer.*scripts/make-runtime nemo` and declare runtime = "nemo"'):
        opened(store, store.put_model("torch", "nemo-rnnt", {"a.nemo": _archive(tmp_path)}))


# The names and arguments of nemo_toolkit 3.0.0 that the adapter uses, over a module of torch.
_NEMO = textwrap.dedent("""
    from types import SimpleNamespace

    import torch


    class ASRModel(torch.nn.Linear):
        @classmethod
        def restore_from(cls, restore_path, override_config_path=None, map_location=None, strict=True):
            assert restore_path.endswith(".nemo") and map_location == torch.device("cpu")
            return cls(2, 1)

        def transcribe(self, audio, use_lhotse=True, batch_size=4, return_hypotheses=False, verbose=True):
            assert not self.training and torch.is_inference_mode_enabled() and batch_size == 1
            return [SimpleNamespace(text=f"{len(one)} samples") for one in audio]
""")


def test_nemo_is_asked_for_one_recording(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The archive goes to NeMo by a path that ends in .nemo; its hypothesis for the one recording is the text."""
    site = tmp_path / "site"
    written({f"nemo/{part}__init__.py": b"" for part in ("", "collections/", "collections/asr/")}, site)
    written({"nemo/collections/asr/models.py": _NEMO.encode()}, site)
    monkeypatch.syspath_prepend(site)
    data = _archive(tmp_path)
    try:
        pipeline = opened(store, store.put_model("torch", "nemo-rnnt", {"a.nemo": data}))
        assert heard(pipeline, noise(1)[1]).text == "16000 samples"
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "nemo"]:
            del sys.modules[name]
    assert (pipeline.facts.parameter_count, pipeline.facts.checkpoint_bytes) == (3, len(data))
