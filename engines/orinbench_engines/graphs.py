"""What holds for every graph, whatever runs it."""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orinbench_engines.checkpoint import unreadable, wrong_dtype
from orinbench_engines.contract import Model
from orinbench_engines.failures import model_failure, policy_failure
from orinbench_engines.onnx_file import NotOnnx, OnnxFile, narrower

# Sizes by name of a tensor; a dimension that is not fixed is None.
Shapes = dict[str, tuple[int | None, ...]]


def check_batch(name: str, inputs: Mapping[str, tuple[int | None, ...]]) -> None:
    """See that each input's first dimension is 1 or open. Raises WorkerFailure (policy, BATCH_SIZE)."""
    for field, shape in inputs.items():
        if shape and shape[0] not in (None, 1):
            problem = f"{name}: input {field!r} takes a batch of {shape[0]}: one sample at a time is the rule"
            raise policy_failure("BATCH_SIZE", problem)


@dataclass(frozen=True)
class GraphFile:
    """An ONNX file of a model that may be run: not quantised, of the declared dtype, its data files declared.

    `size` is in bytes, data files included. Where there are any, `data` are the file's bytes with the data files named
    as they lie below `folder`; else both are None and `path` is all. `notes` belong into the record.
    """

    name: str
    path: Path
    size: int
    notes: tuple[str, ...]
    data: bytes | None = None
    folder: Path | None = None

    def read(self) -> bytes:
        """Return the bytes of the graph."""
        return self.path.read_bytes() if self.data is None else self.data


def graph_file(model: Model, name: str) -> GraphFile:
    """Look an ONNX file through before anything opens it.

    Raises WorkerFailure: unreadable, another dtype, a data file that is not declared (model), quantised (policy).
    """
    path = model.files[name]
    try:
        found = OnnxFile(path)
    except NotOnnx as error:
        raise unreadable(model, name, f"is no ONNX model: {error}") from None
    if found.quantising:
        problem = f"{name} has {', '.join(sorted(found.quantising))}: it is quantised, native precision is the rule"
        raise policy_failure("QUANTISED", f"model {model.declaration.id}: {problem}")
    notes = _check_dtype(model, name, found.elements)
    if not found.locations:
        return GraphFile(name, path, path.stat().st_size, notes)
    beside = {location: model.files[_declared(model, name, location)].resolve() for location in found.locations}
    folder = Path(os.path.commonpath([file.parent for file in beside.values()]))
    data = found.with_locations({old: file.relative_to(folder).as_posix() for old, file in beside.items()})
    size = path.stat().st_size + sum(file.stat().st_size for file in set(beside.values()))
    return GraphFile(name, path, size, notes, data, folder)


def _check_dtype(model: Model, name: str, elements: Counter[str]) -> tuple[str, ...]:
    """See that the weights are of the declared type, none in less; return a note where some are in more.

    Exporters keep single constants in a wider type, such as the frequencies of rotary embeddings.
    """
    declared = model.declaration.dtype
    found = ", ".join(f"{kind} ({count} elements)" for kind, count in elements.most_common())
    if not elements or elements.most_common(1)[0][0] != declared or any(narrower(kind, declared) for kind in elements):
        raise wrong_dtype(model, found)
    return (f"{name} holds constants in more than {declared}: {found}",) if len(elements) > 1 else ()


def _declared(model: Model, name: str, location: str) -> str:
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(name), location))
    if wanted not in model.files:
        raise model_failure(
            "FILE_MISSING",
            f"model {model.declaration.id}: {name} has weights in {wanted}, which its files lack: declare it too; "
            f"its files: {', '.join(model.files)}",
        )
    return wanted
