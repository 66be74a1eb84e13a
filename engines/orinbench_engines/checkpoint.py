"""A checkpoint as transformers reads it: laid out as a folder, and looked through before anything opens it.

Nothing here needs torch but the reading of a pickled state dict.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from orinbench_engines.contract import Model
from orinbench_engines.failures import WorkerFailure, model_failure, policy_failure

# One of each is in a checkpoint; newer ones have the preprocessor's settings inside processor_config.json.
PREPROCESSOR = ("preprocessor_config.json", "processor_config.json")
TOKENIZER = ("tokenizer.json", "vocab.json", "vocab.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
# In the order in which transformers looks for them.
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
# Files that are, or may hold, code. The weights themselves are looked at apart.
_CODE = (".py", ".pkl", ".pickle", ".joblib", ".ckpt", ".pt", ".pth", ".bin")
# What the header of a safetensors file calls the floating types, and what torch does.
_FLOATING = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
_GLOBAL = re.compile(r"GLOBAL (\S+)")
_HEADER_LIMIT = 100_000_000


def weight_files(model: Model) -> list[str]:
    """Return the names of the files that hold the weights. Raises WorkerFailure (model): none, or a part missing."""
    first = next((name for name in _WEIGHTS if name in model.files), None)
    if first is None:
        raise _incomplete(model, f"no weights are among its files: one must be {', '.join(_WEIGHTS)}")
    if not first.endswith(".json"):
        return [first]
    index = _read_json(model, first).get("weight_map")
    if not isinstance(index, dict) or not all(isinstance(name, str) for name in index.values()):
        raise unreadable(model, first, "has no weight_map from tensors to files")
    names = sorted(set(index.values()))
    if missing := [name for name in names if name not in model.files]:
        raise _incomplete(model, f"{first} names {', '.join(missing)}, which its files lack")
    return names


def dtypes(model: Model, names: list[str]) -> Counter[str]:
    """Return how many floating tensors of each type the weights hold, as torch calls the types.

    Raises WorkerFailure (model) where a file is damaged, or a pickle holds more than tensors.
    """
    found: Counter[str] = Counter()
    for name in names:
        found += _safetensors_dtypes(model, name) if name.endswith(".safetensors") else _pickled_dtypes(model, name)
    return found


def load_weights_only(what: str, source: Path | IO[bytes]) -> dict[str, Any]:
    """Read a pickled state dict by torch's weights-only unpickler, on the meta device; return its tensors by name.

    Its list of allowed classes is tensors, their storages and types, and plain containers; anything else in the
    pickle is named in the error and not run. `what` names the file. Raises WorkerFailure (model).
    """
    import torch

    try:
        state = torch.load(source, map_location="meta", weights_only=True)
    except Exception as error:
        # torch's own text advises to switch the protection off.
        named = _GLOBAL.search(str(error))
        problem = f"its pickle asks for {named[1]}" if named else "it cannot be read as a state dict of torch"
        raise model_failure("CHECKPOINT_REFUSED", f"{what} is not opened: {problem}") from error
    return (
        {str(key): value for key, value in state.items() if torch.is_tensor(value)} if isinstance(state, dict) else {}
    )


def lay_out(model: Model, weights: list[str]) -> Path:
    """Link the model's files into a folder under their declared names; return it.

    Raises WorkerFailure where they hold code (model) or quantised weights (policy).
    """
    unread = passed_over(model, weights)
    _refuse_code(model, [*weights, *unread])
    folder = model.scratch.absolute() / "checkpoint"
    for name, path in model.files.items():
        if name in unread:
            continue
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path.absolute())
    return folder


def passed_over(model: Model, weights: list[str]) -> list[str]:
    """Return the pickled files beside `weights` that hold the same again: with safetensors nothing opens them."""
    if not any(name.endswith(".safetensors") for name in weights):
        return []
    return [name for name in model.files if fnmatchcase(name, "pytorch_model*.bin")]


def require(model: Model, what: str, names: tuple[str, ...]) -> None:
    """Demand that one of `names` is among the model's files. Raises WorkerFailure (model, FILE_MISSING)."""
    if not any(name in model.files for name in names):
        raise _incomplete(model, f"no {what} is among its files: one must be {', '.join(names)}")


def model_type(model: Model) -> str:
    """Return what config.json calls the architecture. Raises WorkerFailure (model)."""
    require(model, "config", ("config.json",))
    return str(_read_json(model, "config.json").get("model_type"))


def end_tokens(model: Model) -> frozenset[int]:
    """Return the tokens that end a reply, as generation_config.json says, else config.json; empty if neither does."""
    for name in ("generation_config.json", "config.json"):
        ends = _read_json(model, name).get("eos_token_id") if name in model.files else None
        if ends is not None:
            return frozenset(ends if isinstance(ends, list) else [ends])
    return frozenset()


def _refuse_code(model: Model, weights: list[str]) -> None:
    for name in model.files:
        if name.endswith(_CODE) and name not in weights:
            raise model_failure(
                "CHECKPOINT_REFUSED",
                f"model {model.declaration.id}: {name} may hold code and no weights: leave it out of the declaration",
            )
        if name.endswith("config.json") and "/" not in name and "auto_map" in _read_json(model, name):
            raise model_failure(
                "CHECKPOINT_REFUSED",
                f"model {model.declaration.id}: {name} asks for code of its own (auto_map): no code of a checkpoint "
                "is ever run; use a version of it that transformers knows by itself",
            )
    if "config.json" in model.files and "quantization_config" in _read_json(model, "config.json"):
        problem = "config.json says that its weights are quantised: native precision is the rule"
        raise policy_failure("QUANTISED", f"model {model.declaration.id}: {problem}")


def _safetensors_dtypes(model: Model, name: str) -> Counter[str]:
    # The format: the header's length as 8 bytes, little-endian, then the header as JSON.
    try:
        with model.files[name].open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, _HEADER_LIMIT)))
        types = [tensor["dtype"] for key, tensor in header.items() if key != "__metadata__"]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise unreadable(model, name, "is no safetensors file") from None
    return Counter(_FLOATING[kind] for kind in types if kind in _FLOATING)


def _pickled_dtypes(model: Model, name: str) -> Counter[str]:
    tensors = load_weights_only(f"model {model.declaration.id}: {name}", model.files[name])
    kinds = [str(tensor.dtype).removeprefix("torch.") for tensor in tensors.values() if tensor.is_floating_point()]
    return Counter(kinds)


def _read_json(model: Model, name: str) -> dict[str, Any]:
    try:
        value = json.loads(model.files[name].read_bytes())
    except ValueError as error:
        raise unreadable(model, name, f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise unreadable(model, name, "is no JSON object")
    return value


def _incomplete(model: Model, problem: str) -> WorkerFailure:
    names = ", ".join(model.files) or "none"
    return model_failure("FILE_MISSING", f"model {model.declaration.id}: {problem}; its files: {names}")


def unreadable(model: Model, name: str, problem: str) -> WorkerFailure:
    """Return the failure of a file that is not what its name says."""
    return model_failure("CHECKPOINT_UNREADABLE", f"model {model.declaration.id}: {name} {problem}")


def wrong_dtype(model: Model, found: str) -> WorkerFailure:
    """Return the failure of weights of other types than the declared one; `found` names them."""
    declared = model.declaration.dtype
    return model_failure(
        "DTYPE",
        f"model {model.declaration.id}: declared is {declared}, its weights are {found or 'no floats'}; "
        f"nothing is ever cast: declare what they are, or save a checkpoint in {declared} and declare that",
    )
