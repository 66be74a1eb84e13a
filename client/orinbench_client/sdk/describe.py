"""Makes a declaration of the checkpoint in a folder."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from orinbench_profiles import ModelFile, digest_file

from orinbench_client.errors import BadInput

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}\Z")
# What says nothing to an engine, in any checkpoint.
_NEVER = (
    "*.md",
    # Declarations, the one that is being written among them.
    "*.toml",
    "*.msgpack",
    "*.h5",
    "*.ot",
    "*.tflite",
    "training_args.bin",
    "optimizer.*",
    "scheduler.*",
    "rng_state*",
)
# The same weights once more, where there are safetensors.
_TWICE = ("*.bin", "*.pt", "*.pth", "*.ckpt")
# Type names of safetensors' headers, as torch calls the types.
_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_HEADER_MAX = 100_000_000


@dataclass(frozen=True)
class Described:
    """A checkpoint's folder: the id it will have, its files, and what was left out of it."""

    id: str
    folder: Path
    files: tuple[ModelFile, ...]
    left_out: tuple[str, ...]

    def dtype(self) -> str:
        """Return the type most floating tensors of its safetensors files have. Raises BadInput if none says."""
        found: Counter[str] = Counter()
        for file in self.files:
            if file.path.endswith(".safetensors"):
                found.update(_dtypes(self.folder / file.path))
        if not found:
            raise BadInput(f"{self.folder}: no safetensors file says its type: name it with --dtype, such as float32")
        return found.most_common(1)[0][0]

    def to_toml(self, fields: Mapping[str, str]) -> str:
        """Return the declaration, with `fields` after its id."""
        # A JSON string is a TOML string too, unless DEL is in it.
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in {"id": self.id, **fields}.items()]
        lines += ["", "[source]", 'kind = "folder"', f"path = {json.dumps(str(self.folder), ensure_ascii=False)}"]
        for file in self.files:
            lines += ["", "[[files]]", f"path = {json.dumps(file.path, ensure_ascii=False)}"]
            lines += [f'digest = "{file.digest}"', f"bytes = {file.bytes}"]
        return "\n".join(lines) + "\n"


def describe_checkpoint(folder: Path, name: str | None) -> Described:
    """Read and digest the files of a checkpoint. Hidden ones are passed over. Raises BadInput."""
    if not folder.is_dir():
        raise BadInput(f"{folder}: not a folder")
    folder = folder.resolve()
    name = name or re.sub(r"[^a-z0-9._-]+", "-", folder.name.lower()).strip("-._")
    if not _ID.match(name):
        raise BadInput(f"{name!r} cannot be a model's id: give one of a-z 0-9 . _ - with --id")
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    paths = [path for path in paths if not any(part.startswith(".") for part in path.split("/"))]
    unwanted = _NEVER + (_TWICE if any(path.endswith(".safetensors") for path in paths) else ())
    left_out = [path for path in paths if any(fnmatchcase(path.rpartition("/")[2], pattern) for pattern in unwanted)]
    kept = [path for path in paths if path not in left_out]
    if not kept:
        raise BadInput(f"{folder}: holds no file of a checkpoint")
    try:
        files = [ModelFile(path=path, digest=digest_file(folder / path), bytes=_size(folder / path)) for path in kept]
    except OSError as error:
        raise BadInput(f"{error.filename}: cannot be read: {error.strerror}") from None
    return Described(name, folder, tuple(files), tuple(left_out))


def _size(path: Path) -> int:
    return path.stat().st_size


def _dtypes(path: Path) -> list[str]:
    """Return the types of the tensors of a safetensors file: 8 bytes of length, little-endian, then JSON."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = file.read(length) if length <= _HEADER_MAX else b""
    try:
        tensors = [value for key, value in json.loads(header).items() if key != "__metadata__"]
        return [_DTYPES[tensor["dtype"]] for tensor in tensors if tensor["dtype"] in _DTYPES]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{path}: its header is not that of a safetensors file") from None
