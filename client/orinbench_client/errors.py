"""What can go wrong at the client, each with the exit code of the command line.

OrinbenchError
├── GateNotMet       1  a run is not what the job demands
├── BadInput         2  usage, a declaration, a file, a bundle
├── RunFailed        3  the run ended as failed or cancelled
├── BoardRefused     4  the daemon said no
└── BoardUnreachable 5  nobody answers at that address
"""

from __future__ import annotations


class OrinbenchError(Exception):
    """Base of all errors shown to a person: the text says what was wrong, where, and what to do."""

    exit_code = 1


class GateNotMet(OrinbenchError):
    """A run is there, and not what was demanded of it."""

    exit_code = 1


class BadInput(OrinbenchError):
    """Something the user gave is wrong: an argument, a declaration, a file."""

    exit_code = 2


class RunFailed(OrinbenchError):
    """The run ended without a complete result."""

    exit_code = 3


class BoardRefused(OrinbenchError):
    """The daemon refused the call. `reason` is the reason of google.rpc.ErrorInfo, `metadata` its moving parts."""

    exit_code = 4

    def __init__(self, message: str, reason: str = "", metadata: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.metadata = metadata or {}


class BoardUnreachable(OrinbenchError):
    """Nobody answers at the address, or the link was lost for good."""

    exit_code = 5
