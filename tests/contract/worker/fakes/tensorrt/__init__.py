"""TensorRT without a GPU: the names the engine uses, each as the real bindings have it; ONNX Runtime computes.

A plan is the graph itself with its profile in front. Memory is asked for as TensorRT asks: by the allocator of the
builder, the runtime and the engine. test_tensorrt_api.py holds these classes against the real ones.
"""

from __future__ import annotations

import ctypes
import enum
import os
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

__version__ = os.environ.get("FAKE_TENSORRT_VERSION", "10.3.0")

_WORKSPACE = 1 << 20
_TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64}


class NetworkDefinitionCreationFlag(enum.IntEnum):
    STRONGLY_TYPED = 1


class BuilderFlag(enum.IntEnum):
    TF32 = 7


class TensorIOMode(enum.IntEnum):
    INPUT = 1
    OUTPUT = 2


class ILogger:
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = range(5)

    def log(self, severity: int, msg: str) -> None:
        raise NotImplementedError


class IGpuAllocator:
    def allocate(self, size: int, alignment: int, flags: int) -> int:
        raise NotImplementedError

    def reallocate(self, address: int, alignment: int, new_size: int) -> int:
        raise NotImplementedError

    def deallocate(self, memory: int) -> bool:
        raise NotImplementedError


class _Tensor:
    def __init__(self, item: Any) -> None:
        self.name = item.name
        self.shape = tuple(size if isinstance(size, int) else -1 for size in item.shape)
        self.type = np.dtype(_TYPES[item.type])


class _Graph:
    """Both a network and the inside of an engine."""

    def __init__(self) -> None:
        self.data = b""
        self.folder = ""
        self.session: Any = None

    def load(self, data: bytes, folder: str) -> None:
        options = onnxruntime.SessionOptions()
        if folder:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        self.session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self.data, self.folder = data, folder
        self.inputs = [_Tensor(item) for item in self.session.get_inputs()]
        self.outputs = [_Tensor(item) for item in self.session.get_outputs()]


class INetworkDefinition(_Graph):
    @property
    def num_inputs(self) -> int:
        return len(self.inputs)

    def get_input(self, index: int) -> _Tensor:
        return self.inputs[index]


class IOptimizationProfile:
    def __init__(self) -> None:
        self.shapes: dict[str, list[tuple[int, ...]]] = {}

    def set_shape(self, input: str, min: Iterable[int], opt: Iterable[int], max: Iterable[int]) -> None:  # noqa: A002
        self.shapes[input] = [tuple(min), tuple(opt), tuple(max)]


class IBuilderConfig:
    def __init__(self) -> None:
        self.flags = {BuilderFlag.TF32}
        self.profile = IOptimizationProfile()

    def clear_flag(self, flag: BuilderFlag) -> None:
        self.flags.discard(flag)

    def add_optimization_profile(self, profile: IOptimizationProfile) -> int:
        self.profile = profile
        return 0


class Builder:
    gpu_allocator: IGpuAllocator

    def __init__(self, logger: ILogger) -> None:
        self._logger = logger

    def create_network(self, flags: int = 0) -> INetworkDefinition:
        assert flags == 1 << NetworkDefinitionCreationFlag.STRONGLY_TYPED
        return INetworkDefinition()

    def create_builder_config(self) -> IBuilderConfig:
        return IBuilderConfig()

    def create_optimization_profile(self) -> IOptimizationProfile:
        return IOptimizationProfile()

    def build_serialized_network(self, network: INetworkDefinition, config: IBuilderConfig) -> bytes | None:
        assert not config.flags, "TF32 is on unless it is cleared"
        # The search for the fastest kernel takes more than any run.
        address = self.gpu_allocator.allocate(64 * _WORKSPACE, 256, 0)
        if not address:
            self._logger.log(ILogger.ERROR, "autotuning: User allocator error allocating 67108864-byte buffer")
            return None
        self.gpu_allocator.deallocate(address)
        shapes = config.profile.shapes
        if os.environ.get("FAKE_TENSORRT_BATCH"):
            shapes = {name: [(2, *shape[1:]) for shape in ranges] for name, ranges in shapes.items()}
        return pickle.dumps((shapes, network.data, network.folder))


class OnnxParser:
    def __init__(self, network: INetworkDefinition, logger: ILogger) -> None:
        self._network = network
        self._errors: list[str] = []

    def parse(self, model: bytes, path: str | None = None) -> bool:
        try:
            self._network.load(model, str(Path(path).parent) if path else "")
        except Exception as error:  # noqa: BLE001  whatever the graph is
            self._errors.append(f"In node -1 with name:  and operator:  (parse): {error}")
        return not self._errors

    @property
    def num_errors(self) -> int:
        return len(self._errors)

    def get_error(self, index: int) -> str:
        return self._errors[index]


class IExecutionContext:
    def __init__(self, engine: ICudaEngine, workspace: int) -> None:
        self._engine, self._workspace = engine, workspace
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._addresses: dict[str, int] = {}

    def __del__(self) -> None:
        self._engine._allocator.deallocate(self._workspace)

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        allowed = self._engine._shapes.get(name)
        self._shapes[name] = tuple(shape)
        if allowed is None:
            return True
        low, _, high = allowed
        return all(least <= size <= most for least, size, most in zip(low, shape, high, strict=True))

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        graph = self._engine._graph
        nothing = {tensor.name: np.zeros(self._shapes[tensor.name], tensor.type) for tensor in graph.inputs}
        (value,) = graph.session.run([name], nothing)
        return tuple(value.shape)

    def set_tensor_address(self, name: str, memory: int) -> bool:
        self._addresses[name] = memory
        return True

    def execute_async_v3(self, stream_handle: int) -> bool:
        graph = self._engine._graph
        feeds = {tensor.name: self._array(tensor, self._shapes[tensor.name]) for tensor in graph.inputs}
        values = graph.session.run(None, feeds)
        for tensor, value in zip(graph.outputs, values, strict=True):
            self._array(tensor, value.shape)[:] = value
        return True

    def _array(self, tensor: _Tensor, shape: tuple[int, ...]) -> Any:
        size = int(np.prod(shape)) * tensor.type.itemsize
        memory = (ctypes.c_char * size).from_address(self._addresses[tensor.name])
        return np.ctypeslib.as_array(memory).view(tensor.type).reshape(shape)


class ICudaEngine:
    num_optimization_profiles = 1

    def __init__(self, plan: bytes, allocator: IGpuAllocator) -> None:
        self._shapes, data, folder = pickle.loads(plan)
        self._graph = _Graph()
        self._graph.load(data, folder)
        self._tensors = [*self._graph.inputs, *self._graph.outputs]
        self._allocator = allocator

    @property
    def num_io_tensors(self) -> int:
        return len(self._tensors)

    def get_tensor_name(self, index: int) -> str:
        return str(self._tensors[index].name)

    def get_tensor_mode(self, name: str) -> TensorIOMode:
        return TensorIOMode.INPUT if self._tensor(name) in self._graph.inputs else TensorIOMode.OUTPUT

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self._tensor(name).shape

    def get_tensor_dtype(self, name: str) -> Any:
        return self._tensor(name).type

    def get_tensor_profile_shape(self, name: str, profile_index: int) -> list[tuple[int, ...]]:
        return self._shapes.get(name) or [self.get_tensor_shape(name)] * 3

    def create_execution_context(self) -> IExecutionContext | None:
        address = self._allocator.allocate(_WORKSPACE, 256, 0)
        return IExecutionContext(self, address) if address else None

    def _tensor(self, name: str) -> _Tensor:
        return next(tensor for tensor in self._tensors if tensor.name == name)


class Runtime:
    gpu_allocator: IGpuAllocator

    def __init__(self, logger: ILogger) -> None:
        self._logger = logger

    def deserialize_cuda_engine(self, serialized_engine: bytes) -> ICudaEngine | None:
        try:
            return ICudaEngine(serialized_engine, self.gpu_allocator)
        except pickle.UnpicklingError:
            self._logger.log(ILogger.ERROR, "Serialization assertion plan->header.magicTag == rt::kPLAN_MAGIC failed.")
            return None


def nptype(trt_type: Any) -> Any:
    """Return the type as numpy has it."""
    return trt_type
