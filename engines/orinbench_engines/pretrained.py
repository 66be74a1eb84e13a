"""The torch session: opens a checkpoint through transformers, casts nothing, and says what was opened."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from orinbench.v1.record_pb2 import ModelFacts

from orinbench_engines.checkpoint import (
    PREPROCESSOR,
    TOKENIZER,
    dtypes,
    lay_out,
    passed_over,
    require,
    weight_files,
    wrong_dtype,
)
from orinbench_engines.contract import SEED, Model, TorchSession
from orinbench_engines.failures import model_failure


class Checkpoint(TorchSession):
    """A checkpoint of transformers on one device."""

    def __init__(self, model: Model, device: torch.device, dtype: torch.dtype) -> None:
        self.device = device
        self.dtype = dtype
        self.attention = ""
        self.facts = ModelFacts(devices=[_device_name(device)], batch_size=1)
        self._model = model

    def pretrained(self, auto_class: str, unused: tuple[str, ...] = ()) -> Any:
        """Load the checkpoint in its own dtype. See TorchSession."""
        self._check_dtype()
        opener = self._class(auto_class)
        loaded, found = self._open(
            auto_class,
            opener,
            dtype=self.dtype,
            weights_only=True,
            use_safetensors=self._weights[0].endswith(".safetensors"),
            output_loading_info=True,
        )
        self._check_complete(found, unused)
        if unread := passed_over(self._model, self._weights):
            self.note(f"not opened, since the weights are taken from safetensors: {', '.join(unread)}")
        self.adopt(loaded, self._weights)
        self.attention = getattr(loaded.config, "_attn_implementation", None) or ""
        return loaded

    def processor(self, auto_class: str = "AutoProcessor") -> Any:
        """Return what prepares inputs. See TorchSession."""
        # Without its file transformers would make up an empty tokenizer.
        if auto_class != "AutoTokenizer":
            require(self._model, "preprocessor", PREPROCESSOR)
        if auto_class != "AutoFeatureExtractor":
            require(self._model, "tokenizer", TOKENIZER)
        return self._open(auto_class, self._class(auto_class))

    def adopt(self, module: Any, weights: list[str]) -> None:
        """Put a module on the device and enter it into the facts. See TorchSession."""
        module.eval().requires_grad_(False).to(self.device)
        parameters = list(module.parameters())
        self._check_parameters(module, parameters)
        self.facts.parameter_count = sum(parameter.numel() for parameter in parameters)
        self.facts.checkpoint_bytes = sum(self._model.files[name].stat().st_size for name in weights)

    def note(self, sentence: str) -> None:
        """Enter a repair into the record."""
        self.facts.notes.append(sentence)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute one sample: what it yields does not depend on the samples before it."""
        random.seed(SEED)
        np.random.seed(SEED)
        # torch.manual_seed would also visit the devices that are not there, at 2 ms a call.
        torch.default_generator.manual_seed(SEED)
        if self.device.type == "cuda":
            torch.cuda.manual_seed(SEED)
        with torch.inference_mode():
            yield
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def move(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tensors of a batch on the device, floating ones in the model's dtype."""
        return {
            name: value.to(self.device, self.dtype if value.is_floating_point() else None)
            for name, value in batch.items()
        }

    @cached_property
    def _weights(self) -> list[str]:
        return weight_files(self._model)

    @cached_property
    def _folder(self) -> Path:
        return lay_out(self._model, self._weights)

    def _class(self, name: str) -> Any:
        transformers = _transformers()
        found = getattr(transformers, name, None)
        if found is None:
            raise model_failure(
                "RUNTIME_OUTDATED",
                f"model {self._model.declaration.id} needs {name}, which transformers {transformers.__version__} "
                f"does not have: install a newer one in runtime {self._model.declaration.runtime}",
            )
        return found

    def _open(self, name: str, opener: Any, **how: Any) -> Any:
        folder = self._folder
        try:
            return opener.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **how)
        except Exception as error:
            problem = str(error).replace(str(folder), "the checkpoint")
            raise model_failure(
                "CHECKPOINT_UNREADABLE",
                f"model {self._model.declaration.id}: transformers {_transformers().__version__} cannot open it as "
                f"{name}: {type(error).__name__}: {problem}",
            ) from error

    def _check_dtype(self) -> None:
        found = dtypes(self._model, self._weights)
        if set(found) != {self._model.declaration.dtype}:
            kinds = ", ".join(f"{kind} ({count} tensors)" for kind, count in sorted(found.items()))
            raise wrong_dtype(self._model, kinds)

    def _check_complete(self, found: Mapping[str, Any], unused: tuple[str, ...]) -> None:
        missing = sorted(name for name in found["missing_keys"] if not name.endswith(unused))
        wrong = [*missing, *sorted(map(str, found["mismatched_keys"])), *map(str, found.get("error_msgs") or ())]
        if wrong:
            # transformers fills the gaps with random numbers.
            raise model_failure(
                "CHECKPOINT_INCOMPLETE",
                f"model {self._model.declaration.id}: its weights lack or do not fit {len(wrong)} tensors: "
                f"{', '.join(wrong[:5])}{' …' if len(wrong) > 5 else ''}",
            )
        if extra := found["unexpected_keys"]:
            self.note(f"{len(extra)} tensors of the checkpoint have no place in the model: {min(extra)} …")

    def _check_parameters(self, module: Any, parameters: list[Any]) -> None:
        devices = {parameter.device for parameter in parameters}
        if devices != {self.device}:
            raise model_failure("DEVICE", f"the model lies on {', '.join(map(str, devices))}, not on {self.device}")
        kinds = {parameter.dtype for parameter in parameters if parameter.is_floating_point()}
        if kinds == {self.dtype}:
            return
        names = ", ".join(sorted(str(kind).removeprefix("torch.") for kind in kinds))
        if not getattr(module, "_keep_in_fp32_modules", None):
            raise wrong_dtype(self._model, f"loaded as {names}")
        self.note(f"transformers computes parts of this model in float32 whatever the checkpoint: loaded as {names}")


def _device_name(device: torch.device) -> str:
    return f"{device} {torch.cuda.get_device_name(device)}" if device.type == "cuda" else str(device)


def _transformers() -> Any:
    # Read when the hub's package is imported; the worker's environment says so too.
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
    try:
        import transformers
    except ImportError as error:
        raise model_failure(
            "ENGINE_UNAVAILABLE", f"engine torch needs transformers in this runtime: {error}; install it there"
        ) from error
    # It warns of the same thing with every sample; what matters of a load is checked here.
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers
