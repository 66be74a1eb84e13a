"""Which CUDA device a run may use: exactly one, and one that is named."""

from __future__ import annotations

import os

from orinbench_engines.failures import policy_failure

_VARIABLE = "CUDA_VISIBLE_DEVICES"


def check_one_visible() -> None:
    """See that the environment lets exactly one CUDA device be seen. Raises WorkerFailure (policy, DEVICES).

    Unset, CUDA shows all there are, and a library may spread itself over them. What the driver then counts is
    looked at by the engine.
    """
    value = os.environ.get(_VARIABLE)
    named = [] if value is None else [name for name in value.split(",") if name.strip()]
    if len(named) == 1 and named[0].strip() != "-1":
        return
    found = "is not set" if value is None else f"is {value!r}"
    raise policy_failure(
        "DEVICES", f"{_VARIABLE} {found}: a run sees exactly one CUDA device; set it to one index for the daemon"
    )


def check_one_counted(count: int) -> None:
    """See that the driver counts one device. Raises WorkerFailure (policy, DEVICES)."""
    if count != 1:
        raise policy_failure("DEVICES", f"the driver shows {count} CUDA devices: a run sees exactly one")
