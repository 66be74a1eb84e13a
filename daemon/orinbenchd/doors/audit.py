"""The audit log: who did what. One JSON object a line on standard error, whatever the log level."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import structlog

from orinbenchd.doors.roles import Caller

# What changes something, and how to tell on what: from the request, and from the response if there is one.
AUDITED: dict[str, Callable[[Any, Any], str]] = {
    "CreateRun": lambda request, response: response.run.name if response else request.plan.model_id,
    "CancelRun": lambda request, _: request.name,
    "ResumeRun": lambda request, _: request.name,
    "PutArtifact": lambda _, response: response.artifact.digest if response else "",
    "PrepareModel": lambda _, __: "",
    "DeleteArtifact": lambda request, _: request.digest,
}
_WIDEST = 200


class Audit:
    """Writes lines with the keys `channel` ("audit"), `time`, `action`, `on`, `caller`, `role`, `peer`, `outcome`."""

    def __init__(self) -> None:
        self._log = structlog.wrap_logger(
            structlog.WriteLogger(sys.stderr),
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
                structlog.processors.EventRenamer("action"),
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )

    def done(self, action: str, caller: Caller, peer: str, request: Any, response: Any) -> None:
        """Note a call that changed something; others are passed over."""
        if action in AUDITED:
            self._write(action, caller, peer, AUDITED[action](request, response), "done")

    def failed(self, action: str, caller: Caller, peer: str, request: Any, reason: str, refused: bool) -> None:
        """Note a call that was refused at the door, whatever it was, or one that could have changed something."""
        if action in AUDITED or refused:
            about = AUDITED[action](request, None) if request is not None and action in AUDITED else ""
            self._write(action, caller, peer, about, "refused" if refused else "failed", reason)

    def _write(self, action: str, caller: Caller, peer: str, about: str, outcome: str, reason: str = "") -> None:
        self._log.msg(
            action,
            channel="audit",
            on=about[:_WIDEST],
            caller=caller.name,
            role=caller.role,
            peer=peer,
            outcome=outcome,
            reason=reason,
        )
