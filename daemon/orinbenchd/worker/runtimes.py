"""The Pythons in which workers run: whether one can start there, and what it needs to see."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog
from orinbench.v1.board_pb2 import RuntimeState

from orinbenchd.config import Runtime
from orinbenchd.worker import survey
from orinbenchd.worker.environment import worker_environment

log = structlog.get_logger("runtimes")
_SURVEY = Path(survey.__file__).read_text(encoding="utf-8")
_SURVEY_S = 120.0


class RuntimeBroken(Exception):
    """No worker can start in a runtime. The text says why and what to do."""


@dataclass(frozen=True)
class Surveyed:
    """A runtime that works: its interpreter, the interpreter's version, and what a worker must be able to read."""

    python: Path
    version: str
    paths: tuple[Path, ...]


class Runtimes:
    """Surveys each runtime once, and again when something was installed there or it did not work."""

    def __init__(self, configured: Mapping[str, Runtime], packages: Sequence[Path], data_dir: Path) -> None:
        """`packages` is the folder for PYTHONPATH and where its links lead."""
        self._configured = configured
        self._packages = packages
        self._data_dir = data_dir
        self._locks = {name: asyncio.Lock() for name in configured}
        self._known: dict[str, tuple[Surveyed, object]] = {}
        self._states = {name: RuntimeState(name=name) for name in sorted(configured)}
        self._first_look: asyncio.Task[None] | None = None

    @property
    def states(self) -> list[RuntimeState]:
        """What is known of each, sorted by name."""
        return list(self._states.values())

    def start(self) -> None:
        """Look at all of them in the background."""
        self._first_look = asyncio.create_task(self._look_at_all(), name="runtimes-survey")

    async def close(self) -> None:
        """End the look in the background."""
        if self._first_look is not None:
            self._first_look.cancel()
            with suppress(asyncio.CancelledError):
                await self._first_look

    async def get(self, name: str) -> Surveyed:
        """Return a runtime in which a worker can start. Raises RuntimeBroken."""
        if name not in self._configured:
            raise RuntimeBroken(missing(name, self._configured))
        async with self._locks[name]:
            known = self._known.get(name)
            if known is not None and known[1] == _stamp(known[0]):
                return known[0]
            state = RuntimeState(name=name)
            try:
                found = await self._survey(name, self._configured[name].python)
                state.python_version = found.version
            except RuntimeBroken as broken:
                state.problem = str(broken)
                self._known.pop(name, None)
                raise
            finally:
                self._states[name] = state
            self._known[name] = (found, _stamp(found))
            return found

    async def _look_at_all(self) -> None:
        for name in self._configured:
            try:
                await self.get(name)
            except RuntimeBroken as broken:
                log.warning("a runtime does not work", runtime=name, reason=str(broken))

    async def _survey(self, name: str, python: Path) -> Surveyed:
        if python == Path(sys.executable) and "PYTHONPATH" not in os.environ:
            # It runs the daemon, so all that a worker needs is there; unless it comes from what no worker inherits.
            return self._surveyed(python, survey.version(), survey.paths())
        where = f"runtime {name!r}: its interpreter {python}"
        advice = f"set python in [runtimes.{name}] of the daemon's configuration; scripts/make-runtime {name} makes one"
        try:
            output, errors = await self._run(python)
        except OSError as error:
            raise RuntimeBroken(f"{where} cannot be started ({error.strerror}): {advice}") from None
        except asyncio.TimeoutError:
            raise RuntimeBroken(f"{where} did not answer within {_SURVEY_S:g} s: {advice}") from None
        try:
            said = json.loads(output)
            version, problem, paths = said["python"], said["problem"], said["paths"]
        except (ValueError, KeyError, TypeError):
            last = errors.decode(errors="replace").strip().rpartition("\n")[2]
            raise RuntimeBroken(f"{where} is no Python that works ({last or 'it said nothing'}): {advice}") from None
        if problem:
            raise RuntimeBroken(
                f"{where} (Python {version}) cannot run a worker: {problem}; install what it lacks (every runtime "
                f"needs protobuf and pydantic), or {advice}"
            )
        return self._surveyed(python, version, paths)

    def _surveyed(self, python: Path, version: str, paths: Iterable[str]) -> Surveyed:
        return Surveyed(python, version, (python, *map(Path, paths), *self._packages))

    async def _run(self, python: Path) -> tuple[bytes, bytes]:
        """Run the survey; return its standard output and error. Raises OSError, asyncio.TimeoutError."""
        with tempfile.TemporaryDirectory(prefix="worker-survey-", dir=self._data_dir) as home:
            process = await asyncio.create_subprocess_exec(
                str(python), "-c", _SURVEY,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                cwd=home, env=worker_environment(Path(home), self._packages[0], gpu=False),
            )  # fmt: skip
            try:
                return await asyncio.wait_for(process.communicate(), _SURVEY_S)
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def missing(name: str, configured: Iterable[str]) -> str:
    """Say that a runtime is not configured and how to get it."""
    return (
        f"this board has no runtime {name!r}, only: {', '.join(sorted(configured))}. scripts/make-runtime {name} makes "
        f"one; then set python in [runtimes.{name}] of the daemon's configuration and restart the daemon"
    )


def _stamp(surveyed: Surveyed) -> object:
    """Return something that changes when a package is installed there or removed."""
    times = []
    for path in surveyed.paths:
        with suppress(OSError):
            times.append((path, path.stat().st_mtime_ns))
    return times
