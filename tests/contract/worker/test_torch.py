"""The torch engine on tiny checkpoints: what it guarantees, and what it refuses."""

from __future__ import annotations

import json
import os
import pickle
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from orinbench.v1.record_pb2 import (
    FAILURE_CLASS_BOARD,
    FAILURE_CLASS_MODEL,
    FAILURE_CLASS_POLICY,
    MEMORY_METHOD_PROCESS_RSS,
    MEMORY_METHOD_TORCH_RESERVED,
)
from orinbench_engines.contract import Model
from orinbench_engines.failures import WorkerFailure
from orinbench_engines.registry import find_engine
from orinbench_profiles import ModelDeclaration

from tests.contract.worker.kit import Store, heard, noise, opened, run, samples

with suppress(ImportError):  # every test here then skips
    import torch
    from safetensors.torch import load, save

    from tests.contract.worker.checkpoints import changed, transcribed, written

pytestmark = [pytest.mark.models, pytest.mark.filterwarnings("ignore")]

Files = dict[str, bytes]
_SHORT = {"max_new_tokens": 6}


def _weights(files: Files) -> dict[str, Any]:
    return dict(load(files["model.safetensors"]))


def _opened(store: Store, files: Files, **declared: Any) -> Any:
    return opened(store, store.put_model("torch", "whisper", files, _SHORT, **declared))


def _refused(store: Store, files: Files, **declared: Any) -> tuple[int, str, str]:
    with pytest.raises(WorkerFailure) as caught:
        _opened(store, files, **declared)
    return caught.value.failure_class, caught.value.reason, str(caught.value)


def test_a_worker_on_a_wheel_without_distributed(store: Store, whisper: Files, tmp_path: Path) -> None:
    """In a real worker, with torch as Jetson's wheels are built, the text is transformers' own and all is recorded."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_WITHOUT_DISTRIBUTED)
    audio, data = noise(3)
    model = store.put_model("torch", "whisper", whisper, {**_SHORT, "threads": 2})
    said = run(store.prepare(model, store.put_inputs([data], "audio/flac"), 1), site, warnings="default")
    (record,) = samples(said)
    ready = next(message.ready for message in said if message.HasField("ready"))
    facts, settings = ready.model_facts, ready.environment.settings

    assert record.text == transcribed(written(whisper, tmp_path / "direct"), audio, 6)
    stages = ["decode_audio", "features", "transfer", "inference", "decode_text"]
    assert [stage.name for stage in record.stages] == stages
    assert record.memory.method == MEMORY_METHOD_PROCESS_RSS
    assert (list(facts.devices), facts.native_dtype, facts.batch_size) == (["cpu"], "float32", 1)
    assert facts.parameter_count == sum(tensor.numel() for tensor in _weights(whisper).values())
    assert facts.checkpoint_bytes == len(whisper["model.safetensors"])
    wanted = {
        **dict.fromkeys(("tf32_matmul", "tf32_cudnn", "cudnn_benchmark", "torch_distributed"), "false"),
        **dict.fromkeys(("deterministic_algorithms", "cudnn_deterministic"), "true"),
        "seed": "20250731",
        "threads": "2",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "attention": "sdpa",
    }
    assert wanted.items() <= dict(settings).items()
    assert {"torch", "transformers", "safetensors"} <= set(ready.environment.packages)


def test_half_precision_is_kept(store: Store, whisper: Files) -> None:
    """A float16 checkpoint declared as such computes in float16; declared otherwise it is refused, never cast."""
    half = whisper | {"model.safetensors": save({name: value.half() for name, value in _weights(whisper).items()})}
    pipeline = _opened(store, half, dtype="float16")

    assert {parameter.dtype for parameter in pipeline.adapter._model.parameters()} == {torch.float16}
    assert heard(pipeline, noise(1)[1]).output_tokens
    failure = _refused(store, half)
    assert failure[:2] == (FAILURE_CLASS_MODEL, "DTYPE")
    assert "declared is float32, its weights are float16 (" in failure[2]
    assert "float32 (1 tensors)" in _refused(store, whisper | _one_half(whisper), dtype="float16")[2]
    assert _refused(store, whisper, dtype="int8")[1] == "DTYPE"


def _one_half(files: Files) -> Files:
    weights = {name: value.half() for name, value in _weights(files).items()}
    first = min(weights)
    return {"model.safetensors": save(weights | {first: weights[first].float()})}


def test_weights_may_come_in_parts_or_as_a_state_dict(store: Store, whisper: Files, tmp_path: Path) -> None:
    """Shards in a folder of their own, and a state dict that holds tensors alone, load as the whole does."""
    weights = _weights(whisper)
    rest = {name: data for name, data in whisper.items() if name != "model.safetensors"}
    names = sorted(weights)
    halves = {"parts/a.safetensors": names[::2], "parts/b.safetensors": names[1::2]}
    where = {name: part for part, held in halves.items() for name in held}
    index = json.dumps({"metadata": {}, "weight_map": where}).encode()
    parts = {part: save({name: weights[name] for name in held}) for part, held in halves.items()}
    torch.save(weights, tmp_path / "state")
    data = noise(1)[1]
    forms = (
        whisper,
        rest | parts | {"model.safetensors.index.json": index},
        rest | {"pytorch_model.bin": (tmp_path / "state").read_bytes()},
    )

    assert len({heard(_opened(store, files), data).text for files in forms}) == 1
    lacking = rest | {"model.safetensors.index.json": index, "parts/a.safetensors": parts["parts/a.safetensors"]}
    assert "names parts/b.safetensors" in _refused(store, lacking)[2]


class _Evil:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self._mark),)


def test_a_pickle_that_holds_code_is_not_run(store: Store, whisper: Files, tmp_path: Path) -> None:
    """Weights whose pickle names anything but tensors are refused by the name of it, and nothing of it happens."""
    mark = tmp_path / "mark"
    torch.save({"weights": _Evil(mark)}, tmp_path / "evil.bin")
    rest = {name: data for name, data in whisper.items() if name != "model.safetensors"}
    failure = _refused(store, rest | {"pytorch_model.bin": (tmp_path / "evil.bin").read_bytes()})

    assert failure[:2] == (FAILURE_CLASS_MODEL, "CHECKPOINT_REFUSED")
    assert "its pickle asks for posix.mkdir" in failure[2]
    assert "weights_only" not in failure[2]
    assert not mark.exists()
    pickle.loads(pickle.dumps(_Evil(mark)))
    assert mark.exists(), "the trap would not have worked anyway"


def test_a_repository_that_holds_its_weights_twice_gives_safetensors(store: Store, whisper: Files) -> None:
    """Beside safetensors a pytorch_model.bin, even one that is no pickle, is not opened, and the record says so."""
    data = noise(1)[1]
    both = _opened(store, whisper | {"pytorch_model.bin": b"not opened"})

    assert heard(both, data).text == heard(_opened(store, whisper), data).text
    assert "not opened, since the weights are taken from safetensors: pytorch_model.bin" in both.facts.notes
    assert _refused(store, whisper | {"optimizer.bin": b""})[1] == "CHECKPOINT_REFUSED"


def test_what_is_lacking_or_refused_is_named(store: Store, whisper: Files) -> None:
    """Each unfit checkpoint gives one error of its own class with the file or tensor in it."""

    def without(*names: str) -> Files:
        return {name: data for name, data in whisper.items() if name not in names}

    weights = _weights(whisper)
    gone = min(name for name in weights if "fc1" in name)
    fewer = save({name: value for name, value in weights.items() if name != gone})
    coded = changed(whisper, "tokenizer_config.json", auto_map={"AutoTokenizer": "a.B"})
    cases: list[tuple[str, Files, str]] = [
        ("no tokenizer", without("tokenizer.json"), "FILE_MISSING"),
        ("no preprocessor", without("processor_config.json"), "FILE_MISSING"),
        ("no weights", without("model.safetensors"), "FILE_MISSING"),
        (f"1 tensors: {gone}", whisper | {"model.safetensors": fewer}, "CHECKPOINT_INCOMPLETE"),
        ("is no safetensors", whisper | {"model.safetensors": b"garbage" * 9}, "CHECKPOINT_UNREADABLE"),
        ("config.json is not JSON", whisper | {"config.json": b"{"}, "CHECKPOINT_UNREADABLE"),
        ("`none_such`", changed(whisper, "config.json", model_type="none_such"), "CHECKPOINT_UNREADABLE"),
        ("training_args.bin may hold code", whisper | {"training_args.bin": b""}, "CHECKPOINT_REFUSED"),
        ("modeling.py may hold code", whisper | {"modeling.py": b""}, "CHECKPOINT_REFUSED"),
        ("tokenizer_config.json asks for code", coded, "CHECKPOINT_REFUSED"),
    ]
    for named, files, reason in cases:
        found = _refused(store, files)
        assert (named, *found[:2]) == (named, FAILURE_CLASS_MODEL, reason)
        assert named in found[2]
        assert str(store.folder) not in found[2]
    quantised = changed(whisper, "config.json", quantization_config={})
    assert _refused(store, quantised)[:2] == (FAILURE_CLASS_POLICY, "QUANTISED")


def test_trust_remote_code_is_no_option(store: Store, whisper: Files) -> None:
    """A declaration cannot ask for a checkpoint's own code."""
    with pytest.raises(WorkerFailure, match="'trust_remote_code'"):
        opened(store, store.put_model("torch", "whisper", whisper, {"trust_remote_code": True}))


def test_devices_are_one_or_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two visible devices are against the policy, none where CUDA is needed is the board's fault."""
    declaration = ModelDeclaration(id="m", title="", license="", engine="torch", adapter="ctc", dtype="float32")

    def refused(device: str) -> tuple[int, str]:
        engine = find_engine("torch")(find_engine("torch").options_schema())
        with pytest.raises(WorkerFailure) as caught:
            engine.load(Model(declaration, {}, device, store.folder))
        return caught.value.failure_class, caught.value.reason

    assert refused("cuda") == (FAILURE_CLASS_BOARD, "DEVICE_UNAVAILABLE")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert refused("auto") == (FAILURE_CLASS_POLICY, "DEVICES")


@pytest.mark.gpu
def test_memory_is_what_the_caching_allocator_holds(store: Store, whisper: Files) -> None:
    """On a CUDA device the peaks are torch's own, reserved at least what is allocated, and the device is named."""
    model = store.put_model("torch", "whisper", whisper, _SHORT)
    said = run(
        store.prepare(model, store.put_inputs([noise(3)[1]], "audio/flac"), 1, device="cuda"), warnings="default"
    )
    (record,) = samples(said)
    ready = next(message.ready for message in said if message.HasField("ready"))

    assert record.memory.method == MEMORY_METHOD_TORCH_RESERVED
    assert record.memory.peak_reserved_bytes >= record.memory.peak_allocated_bytes > len(whisper["model.safetensors"])
    assert ready.model_facts.devices[0].startswith("cuda:0 ")


# What USE_DISTRIBUTED=0 leaves out of torch's extension module, taken out of it as it is loaded.
_WITHOUT_DISTRIBUTED = textwrap.dedent("""
    import importlib.util
    import sys


    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name != "torch._C":
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                for part in ("_c10d_init", "_rpc_init", "_dist_autograd_init"):
                    delattr(module, part)

            spec.loader.exec_module = exec_module
            return spec


    sys.meta_path.insert(0, Finder())
""")
