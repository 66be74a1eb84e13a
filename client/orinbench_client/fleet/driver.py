"""Drives the boards of a fleet: each gets one run after the other, until every cell has one result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from orinbench.v1.record_pb2 import RUN_STATE_SUCCEEDED

from orinbench_client.bundles.native import discard_partial, read_run
from orinbench_client.errors import BoardRefused, BoardUnreachable, OrinbenchError, RunFailed
from orinbench_client.fleet.cells import Cell, find_accepted
from orinbench_client.fleet.hands import Job, Known, Lost, Measured, Sight, seconds_of
from orinbench_client.fleet.placer import Durations, place
from orinbench_client.sdk.backoff import Backoff

#: What a daemon refuses because of the run, so that it says nothing against the board.
_OF_THE_RUN = frozenset(
    {
        "FIELD_INVALID",
        "ARTIFACT_MISSING",
        "REQUEST_ID_REUSED",
        "TOO_LARGE",
        "DECLARATION_INVALID",
        "RUNTIME_UNKNOWN",
        "HUB_UNREACHABLE",
        "HUB_NOT_FOUND",
        "HUB_DENIED",
        "HUB_CLIENT_MISSING",
        "MODEL_NOT_PREPARED",
    }
)


class Hands(Protocol):
    """Who does the work at the boards; see orinbench_client.fleet.hands for what each does and raises."""

    async def look(self, board: str, profile: str) -> Sight:
        """Return what a board is now."""

    async def measure(self, board: str, job: Job) -> Measured:
        """Have a board do a job."""

    async def cancel(self, board: str, run: str, reason: str) -> None:
        """Stop a run."""


@dataclass(frozen=True)
class Terms:
    """How it is to be done: the profile every board must have (empty: any), the patience with one, the results."""

    profile: str
    give_up_s: float
    results: Path


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: its bundle, or an error. `board` is None where no board of this call did it."""

    cell: Cell
    board: str | None
    bundle: Path | None = None
    error: OrinbenchError | None = None


@dataclass(eq=False)
class _Board:
    name: str
    #: None while it is away, and when it was left out.
    sight: Sight | None = None
    left_out: str = ""
    wait_s: float = 0.0
    holds: set[Cell] = field(default_factory=set)
    #: What it is not to be asked for: it refused, or its run of that cell was stopped.
    barred: dict[Cell, str] = field(default_factory=dict)
    #: Runs of ours that go on there, or may, since contact was lost, by the cell; "" where no name is known.
    strays: dict[Cell, str] = field(default_factory=dict)
    #: What broke down on it before the first sample: it gets no other cell until another board has tried that one.
    doubt: Outcome | None = None

    def may(self, cell: Cell) -> bool:
        return self.sight is not None and self.doubt is None and not self.refusal(cell)

    def refusal(self, cell: Cell) -> str:
        """Return why a board that is there does not take a cell."""
        runtime = cell.model.declaration.runtime
        if self.sight is not None and runtime not in self.sight.runtimes:
            return f"it has no runtime {runtime!r}"
        return self.barred.get(cell, "")

    def doubts(self, cell: Cell) -> bool:
        """Tell whether it was this cell that broke down on it."""
        return self.doubt is not None and self.doubt.cell is cell

    def may_yet(self, cell: Cell) -> bool:
        """Tell whether it takes a cell, now or when it is there again."""
        return not self.left_out and self.doubt is None and not self.refusal(cell)


class Fleet:
    """One call of a fleet. `tell` hears, line by line, what people should know on the way."""

    def __init__(
        self, cells: Sequence[Cell], boards: Sequence[str], hands: Hands, terms: Terms, tell: Callable[[str], None]
    ) -> None:
        self._cells = list(cells)
        self._boards = [_Board(name) for name in boards]
        self._hands = hands
        self._terms = terms
        self._tell = tell
        found = find_accepted(terms.results, cells)
        self._done = {cell: Outcome(cell, None, bundle) for cell, bundle in found.items()}
        self._waiting = {cell for cell in cells if cell not in found}
        self._at_work: dict[Cell, _Board] = {}
        self._free: dict[_Board, asyncio.Future[Cell]] = {}
        self._durations = Durations()
        self._changed = asyncio.Event()

    async def run(self) -> list[Outcome]:
        """Return what became of each cell, in their order: exactly one outcome a cell.

        Raises BoardUnreachable or BoardRefused when no board can be used, BadInput for what no board is to blame for.
        """
        if self._waiting:
            await asyncio.gather(*map(self._look, self._boards))
            for board in reversed(self._boards):
                self._drop_twin(board)
            self._require_any()
            await self._settle(self._boards)
            await self._drive()
            await asyncio.gather(*map(self._say_goodbye, self._boards))
        return [self._done.get(cell) or self._missed(cell) for cell in self._cells]

    def _require_any(self) -> None:
        if any(board.sight for board in self._boards):
            return
        refused = [board.left_out for board in self._boards if board.left_out]
        if refused:
            raise BoardRefused(f"no board of {len(self._boards)} takes runs: {refused[0]}")
        raise BoardUnreachable(f"none of {len(self._boards)} boards can be reached: {self._names()}")

    def _names(self) -> str:
        return ", ".join(board.name for board in self._boards)

    async def _drive(self) -> None:
        keepers = {asyncio.ensure_future(self._keep(board)) for board in self._boards}
        try:
            while self._waiting or self._at_work:
                self._changed.clear()
                changed = asyncio.ensure_future(self._changed.wait())
                patience = None if self._at_work or self._can_go_on() else self._terms.give_up_s
                ended, _ = await asyncio.wait({*keepers, changed}, timeout=patience, return_when="FIRST_COMPLETED")
                changed.cancel()
                for keeper in ended & keepers:
                    keeper.result()
                    keepers.discard(keeper)
                if self._at_work or self._can_go_on() or (ended and self._may_hope()):
                    continue
                if not self._end_doubts(lambda _: True):
                    return
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)

    def _can_go_on(self) -> bool:
        """Tell whether a board that is there takes any of what waits."""
        return any(self._able(cell) for cell in self._waiting)

    def _may_hope(self) -> bool:
        """Tell whether a board that is away may come back."""
        return any(board.sight is None and not board.left_out for board in self._boards)

    async def _keep(self, board: _Board) -> None:
        """Give a board work for as long as it takes any; wait for it while it is away."""
        backoff = Backoff(0.5, 10.0)
        while not board.left_out:
            if (sight := board.sight) is not None:
                await self._work(board, sight.profile, await self._next(board))
                backoff.reset()
                continue
            await asyncio.sleep(backoff.next())
            await self._look(board, again=True)
            self._drop_twin(board)
            if board.sight is not None:
                self._tell(f"{board.name}: is there again")
                await self._settle([board])
        self._dispatch()

    async def _next(self, board: _Board) -> Cell:
        self._free[board] = asyncio.get_running_loop().create_future()
        self._dispatch()
        return await self._free[board]

    def _dispatch(self) -> None:
        """Give free boards what they may take."""
        self._end_doubts(lambda cell: not any(board.may_yet(cell) for board in self._boards))
        by_name = {board.name: board for board in self._boards}
        while True:
            waiting = {cell: self._able(cell) for cell in self._cells if cell in self._waiting}
            free = {board.name: board.wait_s for board, turn in self._free.items() if not turn.done()}
            placed = place(waiting, free, lambda cell, name: self._durations.expected(cell.kind, name))
            if placed is None:
                break
            cell, board = placed[0], by_name[placed[1]]
            self._waiting.discard(cell)
            self._at_work[cell] = board
            self._free[board].set_result(cell)
        self._changed.set()

    def _able(self, cell: Cell) -> Collection[str]:
        holders = [board for board in self._boards if cell in board.holds]
        return [board.name for board in holders or self._boards if board.may(cell)]

    async def _work(self, board: _Board, profile: str, cell: Cell) -> None:
        job = Job.of(cell, profile, self._terms.give_up_s)
        try:
            measured = await self._hands.measure(board.name, job)
        except BoardUnreachable as error:
            self._tell(f"{board.name}: given up for now, {cell.title} goes to another board: {error}")
            board.sight = None
            board.holds.clear()
            board.strays[cell] = error.run if isinstance(error, Lost) else ""
            self._give_back(cell)
        except BoardRefused as error:
            if error.reason in _OF_THE_RUN:
                self._tell(f"{board.name}: does not take {cell.title}: {error}")
                board.barred[cell] = str(error)
            else:
                self._leave_out(board, str(error))
            self._give_back(cell)
        except RunFailed as error:
            self._finish(Outcome(cell, board.name, error=error))
        else:
            if measured.fault:
                self._leave_out(board, measured.fault)
                self._give_back(cell)
            elif measured.doubtful and self._second_opinion(board, cell, measured.bundle):
                self._give_back(cell)
            else:
                self._accept(cell, board, measured.bundle)

    def _second_opinion(self, board: _Board, cell: Cell, bundle: Path) -> bool:
        """Have another board try what broke down on this one, if there is another and none did so yet."""
        board.barred[cell] = f"its run {bundle.name} broke down there before the first sample"
        if any(other.doubts(cell) for other in self._boards) or not any(other.may(cell) for other in self._boards):
            return False
        self._tell(f"{board.name}: {cell.title} broke down before its first sample: another board tries it")
        board.doubt = Outcome(cell, board.name, bundle)
        return True

    def _end_doubts(self, hopeless: Callable[[Cell], bool]) -> bool:
        """Let what broke down, and no other board can try any more, have failed; tell whether there was any."""
        ended = False
        for board in self._boards:
            doubt = board.doubt
            if doubt is not None and doubt.cell in self._waiting and hopeless(doubt.cell):
                self._tell(f"{board.name}: no other board can try {doubt.cell.title}: it has failed")
                self._finish(doubt)
                ended = True
        return ended

    def _decide(self, outcome: Outcome) -> None:
        """Leave out a board on which a cell broke down that another could do; else the cell is to blame."""
        for board in self._boards:
            if board.doubts(outcome.cell):
                board.doubt = None
                if outcome.bundle is not None and read_run(outcome.bundle).accepted_samples:
                    self._leave_out(board, f"{board.barred[outcome.cell]}, and works on {outcome.board}")

    def _give_back(self, cell: Cell) -> None:
        del self._at_work[cell]
        for board in self._boards:
            board.holds.discard(cell)
        self._waiting.add(cell)
        self._dispatch()

    def _accept(self, cell: Cell, board: _Board, bundle: Path) -> None:
        board.wait_s = 0.0
        run = read_run(bundle)
        succeeded = run.state == RUN_STATE_SUCCEEDED
        if succeeded and (seconds := seconds_of(run)) is not None:
            self._durations.add(cell.kind, board.name, seconds)
        self._tell(f"{board.name}: {cell.title}: {'ended' if succeeded else 'did not succeed'} as {bundle.name}")
        self._finish(Outcome(cell, board.name, bundle))

    def _finish(self, outcome: Outcome) -> None:
        self._at_work.pop(outcome.cell, None)
        self._waiting.discard(outcome.cell)
        self._done[outcome.cell] = outcome
        for board in self._boards:
            if run := board.strays.get(outcome.cell):
                discard_partial(self._terms.results, outcome.cell.suite.declaration.id, run.removeprefix("runs/"))
        self._decide(outcome)
        self._dispatch()

    def _leave_out(self, board: _Board, reason: str) -> None:
        board.left_out, board.sight = reason, None
        board.holds.clear()
        self._tell(f"{board.name}: left out: {reason}")

    async def _look(self, board: _Board, again: bool = False) -> None:
        try:
            sight = await self._hands.look(board.name, self._terms.profile)
        except BoardUnreachable as error:
            if not again:
                self._tell(f"{board.name}: skipped for now: {error}")
            return
        except BoardRefused as error:
            self._leave_out(board, str(error))
            return
        board.sight, board.wait_s = sight, sight.wait_s
        for run in sight.runs:
            if run.seconds is not None:
                self._durations.add(run.kind, board.name, run.seconds)

    def _drop_twin(self, board: _Board) -> None:
        """Leave out a board that is there by another address too."""
        for other in self._boards:
            if other is board or other.sight is None or board.sight is None:
                continue
            if other.sight.key_id == board.sight.key_id != "":
                self._leave_out(board, f"is the board {other.name} by another address")

    async def _settle(self, boards: Sequence[_Board]) -> None:
        """Take up what boards have of our runs already, and stop what has its result, or comes to it, elsewhere."""
        by_id = {cell.request_id: cell for cell in self._cells}
        found = [
            (run, by_id[run.request_id], board)
            for board in boards
            if board.sight is not None
            for run in board.sight.runs
            if run.request_id in by_id
        ]
        # What succeeded before what failed, and that before what goes on.
        for run, cell, board in sorted(found, key=lambda item: (item[0].seconds is None, not item[0].ended)):
            board.strays.pop(cell, None)
            done = self._done.get(cell)
            if done is not None and done.bundle is not None and done.bundle.name == run.name.removeprefix("runs/"):
                continue
            if not run.counts:
                board.barred[cell] = f"its run {run.name.removeprefix('runs/')} there was stopped: take another id"
            elif cell in self._waiting and not any(cell in other.holds for other in self._boards):
                board.holds.add(cell)
            elif self._at_work.get(cell) is not board:
                await self._stop(board, cell, run)

    async def _stop(self, board: _Board, cell: Cell, run: Known) -> None:
        """End a run that is not needed: its cell has a result, or another board is at it."""
        title = f"run {run.name.removeprefix('runs/')} of {cell.title}"
        ended = run.ended
        try:
            if not ended:
                await self._hands.cancel(board.name, run.name, "done by another board of the fleet")
                board.barred[cell] = f"its {title} there was stopped: take another id"
                self._tell(f"{board.name}: {title} is done by another board: cancelled")
        except (BoardRefused, BoardUnreachable) as error:
            ended = isinstance(error, BoardRefused) and error.reason == "STATE_FORBIDS"
            if not ended:
                self._tell(f"{board.name}: {title} is not needed and could not be cancelled: {error}")
        if ended:
            self._tell(f"{board.name}: {title} is done there too: not counted")

    async def _say_goodbye(self, board: _Board) -> None:
        """Try once more to stop what a board that was lost may have of ours; else name it."""
        if not board.strays:
            return
        await self._look(board, again=True)
        if board.sight is not None:
            await self._settle([board])
        for cell, run in board.strays.items():
            # Of a board that is there all were settled; one without a name was never made.
            if run or board.sight is None:
                words = f"cancel {run.removeprefix('runs/')}" if run else "runs"
                self._tell(f"{board.name}: may still be at {cell.title}: orinbench {words} --host {board.name}")

    def _missed(self, cell: Cell) -> Outcome:
        """Return the outcome of a cell that no board took."""
        why = {board.name: text for board in self._boards if (text := board.left_out or board.refusal(cell))}
        words = [f"{name}: {text}" for name, text in why.items()]
        if gone := [board.name for board in self._boards if board.name not in why]:
            words.append(f"no contact with {', '.join(gone)}")
            return Outcome(cell, None, error=BoardUnreachable("; ".join(words)))
        return Outcome(cell, None, error=BoardRefused("; ".join(words)))
