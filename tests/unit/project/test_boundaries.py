"""Who may import whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OURS = {"orinbench", "orinbench_profiles", "orinbenchd", "orinbench_power", "orinbench_engines", "orinbench_client"}
# Folder of a package: which of ours it may import.
ALLOWED = {
    "daemon/orinbenchd": {"orinbenchd", "orinbench", "orinbench_profiles"},
    "daemon/orinbench_power": {"orinbench_power"},
    "engines/orinbench_engines": {"orinbench_engines", "orinbench", "orinbench_profiles"},
    "client/orinbench_client": {"orinbench_client", "orinbench", "orinbench_profiles"},
    "profiles/orinbench_profiles": {"orinbench_profiles"},
}
ML = {"torch", "onnxruntime", "onnx", "tensorrt", "pycuda", "transformers", "jtop", "soundfile"}
FORBIDDEN = {
    "daemon/orinbenchd": ML | {"huggingface_hub"},
    "client/orinbench_client": ML - {"soundfile"},
    "engines/orinbench_engines": {"grpc"},
}


def imports(folder: str) -> Iterator[tuple[Path, str]]:
    """Yield (file, top-level name) of every import statement below a folder, wherever it stands in the file."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield path, alias.name.partition(".")[0]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield path, node.module.partition(".")[0]


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_package_imports_only_what_it_may(folder: str) -> None:
    """Client and daemon never meet, the daemon knows no ML package, the root helper knows the library alone."""
    found = list(imports(folder))
    assert found
    for path, name in found:
        assert name not in OURS - ALLOWED[folder], f"{path} imports {name}"
        assert name not in FORBIDDEN.get(folder, set()), f"{path} imports {name}"
        if folder == "daemon/orinbench_power":
            assert name == "orinbench_power" or name in sys.stdlib_module_names, f"{path} imports {name}"


def loaded(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has loaded after a statement."""
    code = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.splitlines()[-1].split())


def test_the_daemon_loads_no_ml_package() -> None:
    """Everything the daemon imports at its start is free of ML packages, of jtop and of the hub's client."""
    assert not loaded("import orinbenchd.server, orinbenchd.cli") & FORBIDDEN["daemon/orinbenchd"]


def test_help_loads_no_grpc() -> None:
    """`orinbench --help` answers without gRPC, NumPy and pydantic."""
    code = (
        "from orinbench_client.cli.main import main\n"
        "sys.argv = ['orinbench', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert not loaded(code) & ({"grpc", "numpy", "pydantic", "rapidfuzz"} | ML)
