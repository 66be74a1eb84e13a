"""The names of TensorRT that the engine and its stand-in use, against NVIDIA's own bindings.

The bindings are installed without the libraries behind them (nvinfer takes a gigabyte and a GPU). They ask those for
nine C functions, which a compiler makes here so that the module can be imported: classes, methods and enums are the
real ones, nothing can be run.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.tool("cc")

FAKES = Path(__file__).parent / "fakes"
_FUNCTIONS = (
    "createInferBuilder_INTERNAL",
    "createInferRefitter_INTERNAL",
    "createInferRuntime_INTERNAL",
    "createNvOnnxParserRefitter_INTERNAL",
    "createNvOnnxParser_INTERNAL",
    "getBuilderPluginRegistry",
    "getNvOnnxParserVersion",
    "getPluginRegistry",
    "initLibNvInferPlugins",
)
# How the stand-in works inside; the engine does not touch these.
_INSIDE = {"load", "session", "inputs", "outputs", "data", "folder", "shapes", "profile", "flags"}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the libraries the bindings ask for, which do nothing."""
    if importlib.util.find_spec("tensorrt_bindings") is None:
        pytest.skip("tensorrt-cu12-bindings is not installed")
    folder = tmp_path_factory.mktemp("nvinfer")
    source = folder / "stub.c"
    source.write_text("".join(f"void *{name}(void) {{ return 0; }}\n" for name in _FUNCTIONS))
    major = version("tensorrt-cu12-bindings").split(".")[0]
    for library in ("nvinfer", "nvonnxparser", "nvinfer_plugin"):
        name = f"lib{library}.so.{major}"
        command = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", name, source.name]
        subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def real(libraries: Path) -> ModuleType:
    """NVIDIA's bindings over them."""
    for library in libraries.glob("*.so.*"):
        # The loader takes a library that is loaded for every other that asks for its name.
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    return importlib.import_module("tensorrt_bindings")


@pytest.fixture(scope="module")
def fake() -> ModuleType:
    """The stand-in, without making it `tensorrt` for the rest of the process."""
    path = FAKES / "tensorrt" / "__init__.py"
    spec = importlib.util.spec_from_file_location("stand_in_for_tensorrt", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _classes(fake: ModuleType) -> dict[str, type]:
    mine = {name: value for name, value in vars(fake).items() if isinstance(value, type)}
    return {name: kind for name, kind in mine.items() if kind.__module__ == fake.__name__ and name[0] != "_"}


def _parameters(documented: str) -> list[str]:
    """Return the parameters' names from pybind11's first line: f(self: T, size: int, ...) -> bool."""
    inside = documented.splitlines()[0].partition("(")[2].rpartition(") ->")[0]
    return re.findall(r"(?:^|, )(\w+):", inside)


def test_every_name_of_the_stand_in_is_one_of_tensorrts(real: ModuleType, fake: ModuleType) -> None:
    """Classes, methods, properties, enum members and functions: what the stand-in offers, TensorRT has."""
    unknown = []
    for name, kind in _classes(fake).items():
        theirs: Any = getattr(real, name, None)
        public = [attribute for attribute in vars(kind) if attribute[0] != "_" and attribute not in _INSIDE]
        unknown += [f"{name}.{attribute}" for attribute in public if not hasattr(theirs, attribute)]
    assert unknown == []
    assert callable(real.nptype)
    assert isinstance(real.__version__, str)


def test_every_method_takes_the_parameters_tensorrt_names(real: ModuleType, fake: ModuleType) -> None:
    """Where the bindings document a signature, the stand-in's is the same, name by name."""
    compared = []
    for name, kind in _classes(fake).items():
        for method, function in inspect.getmembers(kind, inspect.isfunction):
            documented = getattr(getattr(real, name), method, None).__doc__ or ""
            if method[0] == "_" or method in _INSIDE or not documented.startswith(f"{method}(self:"):
                continue
            own = list(inspect.signature(function).parameters)
            theirs = _parameters(documented)
            assert own == theirs[: len(own)], f"{name}.{method}: {documented.splitlines()[0]}"
            compared.append(method)

    assert {"allocate", "reallocate", "deallocate", "parse", "set_tensor_address", "execute_async_v3"} <= set(compared)
    assert {"create_network", "clear_flag", "add_optimization_profile", "get_tensor_profile_shape"} <= set(compared)


_CALLED_FROM_C = """
import sys, tensorrt_bindings as trt
sys.modules["tensorrt"] = trt
from orinbench_engines.engines.tensorrt_plan import GpuAllocator, Logger

class Pool:
    def allocate(self, size):
        print("allocate", size)
        return size * 256
    def free(self, address):
        print("free", address)
        return True

allocator, base = GpuAllocator(Pool()), trt.IGpuAllocator
block = base.allocate(allocator, 2, 256, 0)
print(block is not None, base.reallocate(allocator, block, 256, 4))
print(base.allocate(allocator, 1, 512, 0))
print(base.deallocate(allocator, block))
logger = Logger()
for level in ("VERBOSE", "INFO", "WARNING", "ERROR", "INTERNAL_ERROR"):
    trt.ILogger.log(logger, getattr(trt.ILogger, level), level)
print(logger.errors())
"""


def test_tensorrt_reaches_our_allocator_and_logger(libraries: Path) -> None:
    """The base classes' C++ methods, called on ours, come back to Python: blocks and messages arrive as they should."""
    paths = [str(FAKES), *filter(None, sys.path)]
    run = subprocess.run(
        [sys.executable, "-c", _CALLED_FROM_C],
        env={"LD_LIBRARY_PATH": str(libraries), "PYTHONPATH": ":".join(paths)},
        capture_output=True,
        text=True,
    )

    assert run.stdout.splitlines() == [
        "allocate 2",
        "True None",
        "allocate 1",
        "free 256",
        "None",
        "free 512",
        "True",
        "ERROR; INTERNAL_ERROR",
    ], run.stderr
    assert "TensorRT: WARNING" in run.stderr
    assert "VERBOSE" not in run.stderr
