"""Failpoints: named places where a test makes the daemon die, fail or wait. Off unless the environment arms them.

    ORINBENCH_FAILPOINTS="journal.commit.before=exit@3;worker.spawn=error*1;watch.page=sleep(200)"

`exit` ends the process at once, as a crash would; `error` raises InjectedError; `sleep(MS)` stops the calling thread.
`@N` lets N passes go first, `*N` acts N times and then no more. A module that has a failpoint names it once:

    _COMMITTED = failpoint("journal.commit.after")
    ...
    _COMMITTED()
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable

from orinbenchd.start_error import StartError

VARIABLE = "ORINBENCH_FAILPOINTS"
#: How a process ends at an `exit`: a code that nothing else uses.
EXIT_CODE = 99
#: Every failpoint of the modules that are loaded.
NAMES: set[str] = set()

_RULE = re.compile(r"(?P<name>[a-z.]+)=(?P<action>exit|error|sleep\((?P<ms>\d+)\))(?P<rest>(\*\d+)?(@\d+)?)\Z")


class InjectedError(Exception):
    """What a failpoint raises."""


def failpoint(name: str) -> Callable[[], None]:
    """Name a place; return what is called there. Raises StartError for a variable that cannot be read."""
    if name in NAMES:
        raise ValueError(f"failpoint {name!r} is named twice")
    NAMES.add(name)
    rule = _rules().get(name)
    return _pass if rule is None else _Armed(name, rule)


def refuse_unknown() -> None:
    """Raise StartError when something is armed that no loaded module has; call once all are loaded."""
    unknown = sorted(_rules().keys() - NAMES)
    if unknown:
        raise StartError(f"{VARIABLE}: there is no failpoint {', '.join(unknown)}")


def _pass() -> None:
    pass


def _rules() -> dict[str, re.Match[str]]:
    rules = {}
    for text in filter(None, os.environ.get(VARIABLE, "").split(";")):
        rule = _RULE.match(text)
        if rule is None:
            raise StartError(f"{VARIABLE}: {text!r} is not NAME=exit, NAME=error or NAME=sleep(MS), then *N, then @N")
        rules[rule["name"]] = rule
    return rules


class _Armed:
    """Acts on the passes its rule says. Threads may pass together."""

    def __init__(self, name: str, rule: re.Match[str]) -> None:
        times, skip = re.search(r"\*(\d+)", rule["rest"]), re.search(r"@(\d+)", rule["rest"])
        self._name = name
        self._action = rule["action"]
        self._pause_s = int(rule["ms"] or 0) / 1000
        self._first = int(skip[1]) if skip else 0
        self._last = self._first + int(times[1]) if times else None
        self._passes = 0
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            number, self._passes = self._passes, self._passes + 1
        if number < self._first or (self._last is not None and number >= self._last):
            return
        os.write(2, f'{{"event": "failpoint", "name": "{self._name}", "action": "{self._action}"}}\n'.encode())
        if self._action == "exit":
            os._exit(EXIT_CODE)
        if self._action == "error":
            raise InjectedError(f"failpoint {self._name}")
        time.sleep(self._pause_s)
