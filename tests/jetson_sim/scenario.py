"""A scenario: a board, what it is like at the start, what happens in the run, and what must come of it.

board = "agx-orin-32gb"
mode = "MODE_50W"                  # power mode at the start; the board's own without it
model = "fa-demo-small"            # of the demonstration suite
options = { swap = false }         # how the fake programs behave: builder.DEFAULTS
power = { mean_w = 24.0, amplitude_w = 10.0, period_s = 4.0 }     # play a known curve, and compare the energy

[[before]]                         # done before the daemon starts
do = "gpu-client"
name = "Xorg"
pid = 4711

[[events]]                         # done so many seconds after the first sample
at_s = 0.5
do = "set-mode"
mode = "MODE_50W"

[expect]
state = "SUCCEEDED"
violations = ["POWER_MODE_CHANGED"]       # besides those of any simulated run: ALWAYS
failure = "PREFLIGHT_FAILED"              # reason, and words that the message must hold
says = "reboot needed"
modes = { before = "MODE_50W", during = "MAXN", after = "MODE_50W" }
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from orinbench.v1.record_pb2 import Axis, FinishedRecord, RecordBody, RunState, SampleRecord
from orinbench_client.sdk import Address, Client, Submission, open_model, submit
from orinbench_client.suites import open_suite
from pydantic import BaseModel, ConfigDict, field_validator

from tests.jetson_sim import player, rig
from tests.jetson_sim.builder import SimulatedBoard
from tests.jetson_sim.events import EVENTS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SUITE = "fa-demo-v1"

#: What every run of a CPU model on a simulated board carries.
ALWAYS = {"SIMULATED", "MEMORY_METHOD"}

#: While events are awaited the worker is held, and let go for a moment this often.
_PULSE_EVERY_S, _PULSE_S = 0.25, 0.004

#: The board is looked at this long after the last event before the run may end.
_SETTLE_S = 1.5


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Event(BaseModel):
    """Something that happens; the words of the event itself come beside `at_s` and `do`."""

    model_config = ConfigDict(extra="allow")

    at_s: float = 0.0
    do: str

    @field_validator("do")
    @classmethod
    def _exists(cls, name: str) -> str:
        if name not in EVENTS:
            raise ValueError(f"no such event: {name}; there are {', '.join(sorted(EVENTS))}")
        return name


class Power(_Strict):
    """A known power curve: see player.Curve."""

    mean_w: float
    amplitude_w: float
    period_s: float


class Expect(_Strict):
    """What must come of it; what is not named is not checked."""

    state: str
    violations: list[str] = []
    failure: str | None = None
    says: str = ""
    modes: dict[str, str] = {}


class Scenario(_Strict):
    """One scenario."""

    board: str
    mode: str | None = None
    model: str = "fa-demo-small"
    options: dict[str, Any] = {}
    power: Power | None = None
    #: The run is held at least so many seconds, so that a short one has a middle.
    hold_s: float = 0.0
    before: list[Event] = []
    events: list[Event] = []
    expect: Expect

    def prepare(self, board: SimulatedBoard) -> None:
        """Do what comes before the daemon starts."""
        for event in self.before:
            _do(board, event)


def load(path: Path) -> Scenario:
    """Read a scenario. Raises OSError, ValueError."""
    return Scenario.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


async def play(scenario: Scenario, folder: Path) -> dict[str, Any]:
    """Play a scenario in an empty folder; return what came of it, ready for JSON."""
    curve = None
    if scenario.power is not None:
        curve = player.Curve(**scenario.power.model_dump(), t0_s=time.monotonic())
    with rig.running(
        folder,
        scenario.board,
        mode=scenario.mode,
        options=scenario.options,
        curve=curve,
        prepare=scenario.prepare,
    ) as started:
        run = _Run(scenario, started)
        await run.follow()
        return run.result()


class _Run:
    """One run on the rig, from the client's side."""

    def __init__(self, scenario: Scenario, started: rig.Rig) -> None:
        self._scenario = scenario
        self._rig = started
        self._states: list[str] = []
        self._violations: list[dict[str, Any]] = []
        self._samples: list[SampleRecord] = []
        self._restarts = self._gaps = 0
        self._finished = FinishedRecord()
        self._modes: dict[str, str | None] = {"before": started.board.mode(), "during": None}
        self._script: asyncio.Task[None] | None = None

    async def follow(self) -> None:
        """Submit the run, let things happen, and read every record to the last."""
        suite = open_suite(SUITE)
        async with Client(Address(self._rig.host)) as client:
            submission = Submission(suite, open_model(self._scenario.model))
            run = await submit(client, submission, uuid4().hex, lambda _sent, _total: None)
            async for page in client.watch_pages(run.name):
                for record in page:
                    if record.seq:
                        self._take(RecordBody.FromString(record.body))
        if self._script is not None:
            await self._script
        self._modes["after"] = self._rig.board.mode()

    def _take(self, body: RecordBody) -> None:
        kind = body.WhichOneof("body")
        if kind == "state":
            self._states.append(RunState.Name(body.state.state).removeprefix("RUN_STATE_"))
        elif kind == "violation":
            made = body.violation.violation
            voids = [Axis.Name(axis).removeprefix("AXIS_").lower() for axis in made.voids]
            at = made.time.ToDatetime().isoformat(timespec="milliseconds") + "Z"
            self._violations.append({"reason": made.reason, "message": made.message, "voids": voids, "time": at})
        elif kind == "telemetry":
            for status in body.telemetry.telemetry.sources:
                if status.name == "tegrastats":
                    self._restarts, self._gaps = status.restarts, status.gaps
        elif kind == "finished":
            self._finished = body.finished
        elif kind == "sample":
            self._samples.append(body.sample)
            if self._script is None:
                self._modes["during"] = self._rig.board.mode()
                self._script = asyncio.ensure_future(self._middle())

    async def _middle(self) -> None:
        """Hold the worker while the events happen, so that they happen in mid-run however fast it is."""
        events = sorted(self._scenario.events, key=lambda event: event.at_s)
        if not events and not self._scenario.hold_s:
            return
        workers = rig.descendants(self._rig.daemon.pid)
        started = time.monotonic()
        end = max(self._scenario.hold_s, events[-1].at_s + _SETTLE_S if events else 0.0)
        try:
            while (now := time.monotonic() - started) < end:
                while events and events[0].at_s <= now:
                    _do(self._rig.board, events.pop(0))
                _signal(workers, signal.SIGSTOP)
                await asyncio.sleep(_PULSE_EVERY_S)
                _signal(workers, signal.SIGCONT)
                await asyncio.sleep(_PULSE_S)
        finally:
            _signal(workers, signal.SIGCONT)

    def result(self) -> dict[str, Any]:
        """Return everything seen, and where it departs from what was expected."""
        failure = self._finished.failure
        result: dict[str, Any] = {
            "board": self._scenario.board,
            "state": RunState.Name(self._finished.state).removeprefix("RUN_STATE_"),
            "states": self._states,
            "samples": len(self._samples),
            "failure": {"reason": failure.reason, "message": failure.message} if failure.reason else None,
            "violations": self._violations,
            "modes": self._modes,
            "tegrastats": {"restarts": self._restarts, "gaps": self._gaps},
        }
        if self._scenario.power is not None:
            result["energy"] = self._energy()
        result["differences"] = self._differences(result)
        return result

    def _energy(self) -> dict[str, float]:
        summary = self._finished.telemetry
        spans = [(s.start_monotonic_ns / 1e9, (s.start_monotonic_ns + s.window_ns) / 1e9) for s in self._samples]
        true_j = sum(player.played_j(self._rig.board.root, start, end) for start, end in spans)
        return {"measured_j": summary.energy_j, "true_j": true_j, "coverage": summary.coverage}

    def _differences(self, result: dict[str, Any]) -> list[str]:
        expect, found = self._scenario.expect, []
        if result["state"] != expect.state:
            found.append(f"state: expected {expect.state}, found {result['state']}")
        reasons = {made["reason"] for made in self._violations} - ALWAYS
        if reasons != set(expect.violations):
            found.append(f"violations: expected {sorted(expect.violations)}, found {sorted(reasons)}")
        failure = result["failure"] or {"reason": None, "message": ""}
        if expect.failure != failure["reason"]:
            found.append(f"failure: expected {expect.failure}, found {failure['reason']}")
        if expect.says not in failure["message"] + " ".join(made["message"] for made in self._violations):
            found.append(f"nobody said {expect.says!r}")
        for when, mode in expect.modes.items():
            if self._modes.get(when) != mode:
                found.append(f"mode {when}: expected {mode}, found {self._modes.get(when)}")
        return found


def _do(board: SimulatedBoard, event: Event) -> None:
    EVENTS[event.do](board, **(event.model_extra or {}))


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
