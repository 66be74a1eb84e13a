"""What a fleet is to do: every model on every suite, so many times; and what of it is in the results already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orinbench.v1.record_pb2 import (
    FAILURE_CLASS_BOARD,
    FAILURE_CLASS_INFRASTRUCTURE,
    RUN_STATE_CANCELLED,
    RUN_STATE_CANCELLING,
    RUN_STATE_SUCCEEDED,
)
from orinbench.v1.run_pb2 import Run, RunOptions

from orinbench_client.bundles.native import RECORDS, read_run
from orinbench_client.bundles.results import runs_in
from orinbench_client.ci.attempt import request_id
from orinbench_client.errors import BadInput
from orinbench_client.fleet.placer import Kind
from orinbench_client.follow.outcome import board_said_no
from orinbench_client.sdk import Model
from orinbench_client.suites import Suite

#: The label by which a run is known as that of a cell, on whatever board and in whatever bundle.
LABEL = "orinbench.fleet"


@dataclass(frozen=True, eq=False)
class Cell:
    """One run that is wanted once, wherever. `suite_name` and `model_name` are what the user calls them."""

    suite: Suite
    suite_name: str
    model: Model
    model_name: str
    repeat: int
    request_id: str
    options: RunOptions

    @property
    def title(self) -> str:
        """What people call it."""
        again = f" (repeat {self.repeat + 1})" if self.repeat else ""
        return f"{self.model.declaration.id} on {self.suite.declaration.id}{again}"

    @property
    def kind(self) -> Kind:
        """What it shares with all runs that take equally long."""
        limit = self.options.limit if self.options.HasField("limit") else None
        return Kind(self.suite.digest, self.model.digest, limit)


def make_cells(
    suites: Sequence[tuple[str, Suite]],
    models: Sequence[tuple[str, Model]],
    repeats: int,
    identity: str,
    options: RunOptions,
) -> list[Cell]:
    """Return the cells of models × suites × repeats.

    The request id of each follows from `identity`, the digests of suite and model, and the number of the repeat.
    Raises BadInput for an identity that no daemon takes, and for names that mean the same.
    """
    for named in ({name: suite.digest for name, suite in suites}, {name: model.digest for name, model in models}):
        if len(set(named.values())) < len(named):
            raise BadInput(f"{', '.join(named)}: two of them are the same: name each once, and use --repeat")
    cells = []
    for repeat in range(repeats):
        for model_name, model in models:
            for suite_name, suite in suites:
                name = request_id({}, identity, suite.digest, f"{model.digest} {repeat}")
                own = RunOptions(labels={LABEL: name})
                own.MergeFrom(options)
                cells.append(Cell(suite, suite_name, model, model_name, repeat, name, own))
    return cells


def find_accepted(results: Path, cells: Sequence[Cell]) -> dict[Cell, Path]:
    """Return the bundles that an earlier call left in `results`. Raises BadInput if it was of other options.

    Of several one that succeeded. Runs that were cancelled, or that a board would not do, are none.
    """
    by_id = {cell.request_id: cell for cell in cells}
    found: dict[Cell, Path] = {}
    succeeded: dict[Cell, Path] = {}
    for folder in {results / cell.suite.declaration.id for cell in cells}:
        for bundle in runs_in(folder) if folder.is_dir() else ():
            # Imported bundles have no records of ours.
            if not (bundle / RECORDS).is_file():
                continue
            run = read_run(bundle)
            cell = by_id.get(run.plan.options.labels.get(LABEL, ""))
            if cell is None or not counts(run):
                continue
            if run.plan.options != cell.options:
                raise BadInput(
                    f"{bundle}: is of this --request-id and other options: choose another id, or the same options"
                )
            (succeeded if run.state == RUN_STATE_SUCCEEDED else found).setdefault(cell, bundle)
    return found | succeeded


def counts(run: Run) -> bool:
    """Tell whether a run is a cell's result, be it a failure: not if it was cancelled or its board is to blame."""
    return run.state not in (RUN_STATE_CANCELLED, RUN_STATE_CANCELLING) and not is_boards_fault(run)


def is_boards_fault(run: Run) -> bool:
    """Tell whether a run failed by its board, so that another may do it."""
    return board_said_no(run) or run.failure.failure_class in (FAILURE_CLASS_BOARD, FAILURE_CLASS_INFRASTRUCTURE)
