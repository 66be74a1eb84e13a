"""The request id of a run of a job: the same attempt of the same job asks for the same run."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Mapping

from orinbench_client.errors import BadInput

#: What tells one attempt of one job from every other, by the system that runs it.
_SYSTEMS = (
    ("GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB"),
    # A job that is retried there has a new id.
    ("CI_SERVER_HOST", "CI_PROJECT_ID", "CI_JOB_ID"),
)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,94}\Z")


def request_id(environment: Mapping[str, str], given: str | None, suite: str, model: str) -> str:
    """Return the id of the run of a suite and a model; a random one outside of a known system.

    `given` takes the place of what the system says of the attempt. Raises BadInput for one that no daemon takes.
    """
    if given is not None and not _ID.match(given):
        raise BadInput(f"--request-id {given[:80]!r}: must be 1 to 95 of A-Z a-z 0-9 . _ -")
    found = (tuple(environment.get(name, "") for name in names) for names in _SYSTEMS)
    attempt = (given,) if given is not None else next((values for values in found if all(values)), None)
    if attempt is None:
        return uuid.uuid4().hex
    digest = hashlib.sha256("\0".join([*attempt, suite, model]).encode()).hexdigest()[:32]
    return f"{given}-{digest}" if given is not None else f"ci-{digest}"
