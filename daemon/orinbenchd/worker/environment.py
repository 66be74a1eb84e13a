"""The environment variables of a worker: few, and none of the daemon's own."""

from __future__ import annotations

import os
from pathlib import Path

# What a worker may inherit: it finds its libraries and its language; no token, no proxy, nothing of the daemon.
_PASSED = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ", "CUDA_HOME", "OMP_NUM_THREADS")
_FORCED = {
    "PYTHONUNBUFFERED": "1",
    "PYTHONNOUSERSITE": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    # The order in which NVML and the board count them.
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "TOKENIZERS_PARALLELISM": "false",
}


def worker_environment(home: Path, packages: Path, *, gpu: bool) -> dict[str, str]:
    """Return the whole environment of a process in a runtime.

    `home` is also where caches and temporary files go; `packages` is where it imports orinbench from; at most one GPU
    is visible to it.
    """
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    own = {"HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": str(packages)}
    # The operator's choice on a machine with several, yet never more than one.
    device = os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0] or "0"
    return passed | _FORCED | own | {"CUDA_VISIBLE_DEVICES": device if gpu else ""}
