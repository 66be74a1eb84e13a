"""What holds for every graph, whatever runs it."""

from __future__ import annotations

from collections.abc import Mapping

from orinbench_engines.failures import policy_failure

# Sizes by name of a tensor; a dimension that is not fixed is None.
Shapes = dict[str, tuple[int | None, ...]]


def check_batch(name: str, inputs: Mapping[str, tuple[int | None, ...]]) -> None:
    """See that each input's first dimension is 1 or open. Raises WorkerFailure (policy, BATCH_SIZE)."""
    for field, shape in inputs.items():
        if shape and shape[0] not in (None, 1):
            problem = f"{name}: input {field!r} takes a batch of {shape[0]}: one sample at a time is the rule"
            raise policy_failure("BATCH_SIZE", problem)
