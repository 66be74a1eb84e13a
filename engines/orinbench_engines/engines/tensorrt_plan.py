"""Builds a TensorRT plan on this board from an ONNX graph, once: the next run finds it in the cache.

Strongly typed, so that every tensor has the type the graph gives it, and without TF32: nothing is computed in less
than the checkpoint's own precision. Names as in TensorRT 10.3, which is JetPack 6.2's.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorrt as trt
from orinbench_profiles import canonical_json, digest_bytes
from pydantic import BaseModel, ConfigDict, model_validator

from orinbench_engines.cuda import CudaDevice, DevicePool
from orinbench_engines.failures import WorkerFailure, model_failure
from orinbench_engines.graphs import check_batch

# Part of a plan's name in the cache: another number when plans are built by other rules.
_RULES = 1
_KEPT = 20


class Range(BaseModel):
    """The shapes of one input that a plan is built for. Each has the same rank; the batch is 1 in all.

    Another dimension may begin at 0: the first step of a decoder has an empty past.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    min: list[int]
    opt: list[int]
    max: list[int]

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if not len(self.min) == len(self.opt) == len(self.max):
            raise ValueError("min, opt and max must have as many dimensions each")
        if not all(0 <= low <= best <= high for low, best, high in zip(self.min, self.opt, self.max, strict=True)):
            raise ValueError("each dimension must be 0 <= min <= opt <= max")
        if not all(size[:1] != [0] for size in (self.min, self.opt, self.max)) or 0 in self.max:
            raise ValueError("the first dimension, the batch, is at least 1, and so is every max")
        return self


class Logger(trt.ILogger):  # type: ignore[misc]
    """Passes warnings on to standard error and keeps the last errors: TensorRT returns none, it only logs them."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self._errors: deque[str] = deque(maxlen=_KEPT)

    def log(self, severity: Any, message: str) -> None:
        """Take a message. Called by TensorRT, on any thread."""
        if severity in (trt.ILogger.INTERNAL_ERROR, trt.ILogger.ERROR):
            self._errors.append(message)
        if severity not in (trt.ILogger.INFO, trt.ILogger.VERBOSE):
            print(f"TensorRT: {message}", file=sys.stderr)  # noqa: T201

    def errors(self) -> str:
        """Return the errors so far and forget them."""
        said = "; ".join(self._errors) or "TensorRT gives no reason"
        self._errors.clear()
        return said


class GpuAllocator(trt.IGpuAllocator):  # type: ignore[misc]
    """Has TensorRT take device memory from a pool. TensorRT does not own it: keep it longer than what uses it.

    TensorRT swallows what is raised in these methods and takes 0 for "no memory".
    """

    def __init__(self, pool: DevicePool) -> None:
        trt.IGpuAllocator.__init__(self)
        self._pool = pool

    def allocate(self, size: int, alignment: int, flags: int) -> int:
        """Return an address of `size` bytes, or 0."""
        del flags  # RESIZABLE: it need not be
        address = self._pool.allocate(size)
        if alignment and address % alignment:
            self._pool.free(address)
            return 0
        return address

    def reallocate(self, address: int, alignment: int, new_size: int) -> int:
        """Return 0: a block cannot grow; TensorRT then allocates another."""
        del address, alignment, new_size
        return 0

    def deallocate(self, memory: int) -> bool:
        """Give a block back; say whether it was one. TensorRT may ask for 0."""
        return self._pool.free(memory or 0)


@dataclass(frozen=True)
class Plan:
    """A serialised engine: its bytes, and whether it was built now or found in the cache."""

    data: bytes
    built: bool
    path: Path

    @property
    def settings(self) -> dict[str, str]:
        """What to record: two builds of one graph need not be the same."""
        return {"plan": "built" if self.built else "cached", "plan_digest": digest_bytes(self.data)}


@dataclass(frozen=True)
class Recipe:
    """What a plan is made of, and for which device.

    `graph` names its data files, if it has any, by their digests: they lie below `folder`.
    """

    name: str
    graph: bytes
    folder: Path | None
    ranges: Mapping[str, Range]
    device: str

    def check_ranges(self) -> None:
        """See that no range allows a batch. Raises WorkerFailure (policy, BATCH_SIZE)."""
        # The greatest decides: Range sees to it that the others are not greater, nor below 1.
        check_batch(f"{self.name}, option 'profile'", {field: tuple(it.max) for field, it in self.ranges.items()})

    @property
    def key(self) -> str:
        """Name of the plan: a digest of everything that decides what is built."""
        parts = {
            "graph": digest_bytes(self.graph),
            "ranges": {field: it.model_dump() for field, it in self.ranges.items()},
            "tensorrt": trt.__version__,
            "device": self.device,
            "rules": _RULES,
        }
        return digest_bytes(canonical_json(parts)).removeprefix("sha256:")


def plan_of(recipe: Recipe, cache: Path, device: CudaDevice, logger: Logger) -> Plan:
    """Return the plan from the cache, or build and keep it. Raises WorkerFailure (model, policy), or a pool's error."""
    recipe.check_ranges()
    path = cache / "tensorrt" / f"{recipe.key}.plan"
    try:
        return Plan(path.read_bytes(), built=False, path=path)
    except FileNotFoundError:
        data = _build(recipe, device, logger)
        _keep(path, data)
        return Plan(data, built=True, path=path)


def _build(recipe: Recipe, device: CudaDevice, logger: Logger) -> bytes:
    # A pool of its own: what the search for the fastest kernels takes is not the run's memory.
    pool = DevicePool(device)
    allocator = GpuAllocator(pool)
    try:
        data = _serialised(recipe, allocator, logger)
    finally:
        pool.close()
    if data is None:
        pool.raise_failure()
        raise model_failure("PLAN_FAILED", f"TensorRT cannot build a plan of {recipe.name}: {logger.errors()}")
    return data


def _serialised(recipe: Recipe, allocator: GpuAllocator, logger: Logger) -> bytes | None:
    builder = trt.Builder(logger)
    builder.gpu_allocator = allocator
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    # It looks for data files in the folder of a path.
    path = None if recipe.folder is None else str(recipe.folder / "graph.onnx")
    if not parser.parse(recipe.graph, path):
        problems = "; ".join(str(parser.get_error(index)) for index in range(parser.num_errors))
        raise model_failure("CHECKPOINT_UNREADABLE", f"TensorRT cannot read {recipe.name}: {problems}")
    inputs = {tensor.name: shape_of(tensor.shape) for tensor in map(network.get_input, range(network.num_inputs))}
    check_batch(recipe.name, inputs)
    config = builder.create_builder_config()
    config.clear_flag(trt.BuilderFlag.TF32)
    _add_profile(recipe, builder, config, inputs)
    plan = builder.build_serialized_network(network, config)
    return None if plan is None else bytes(plan)


def _add_profile(recipe: Recipe, builder: Any, config: Any, inputs: Mapping[str, tuple[int | None, ...]]) -> None:
    open_inputs = [name for name, shape in inputs.items() if None in shape]
    if sorted(open_inputs) != sorted(recipe.ranges):
        raise _profile_unfit(recipe, open_inputs)
    if not open_inputs:
        return
    profile = builder.create_optimization_profile()
    for name, it in recipe.ranges.items():
        profile.set_shape(name, it.min, it.opt, it.max)
    if config.add_optimization_profile(profile) < 0:
        raise _profile_unfit(recipe, open_inputs)


def _profile_unfit(recipe: Recipe, open_inputs: list[str]) -> WorkerFailure:
    return model_failure(
        "PROFILE_UNFIT",
        f"{recipe.name}: the inputs with open sizes are {', '.join(open_inputs) or 'none'}, option 'profile' has "
        f"{', '.join(recipe.ranges) or 'none'}: it must give min, opt and max of exactly those",
    )


def shape_of(dimensions: Any) -> tuple[int | None, ...]:
    """Return a tensor's shape; a dimension that is not fixed, -1 at TensorRT, is None."""
    return tuple(None if size < 0 else int(size) for size in tuple(dimensions))


def _keep(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
