"""The id by which a job that was lost finds its run again."""

from __future__ import annotations

import re

import pytest
from orinbench_client.ci.attempt import request_id
from orinbench_client.errors import BadInput

GITHUB = {
    "GITHUB_REPOSITORY": "lab/models",
    "GITHUB_RUN_ID": "77",
    "GITHUB_RUN_ATTEMPT": "1",
    "GITHUB_JOB": "gates",
}
GITLAB = {"CI_SERVER_HOST": "git.lab", "CI_PROJECT_ID": "3", "CI_JOB_ID": "99"}


@pytest.mark.parametrize("environment", [GITHUB, GITLAB])
def test_one_attempt_is_one_id(environment: dict[str, str]) -> None:
    """The same attempt asks for the same run; another value of any variable, suite or model is another id."""
    made = request_id(environment, None, "s", "m")

    assert made == request_id({**environment, "HOME": "/elsewhere"}, None, "s", "m")
    others = [request_id({**environment, name: "2"}, None, "s", "m") for name in environment]
    others += [request_id(environment, None, "sm", ""), request_id(environment, None, "s", "n")]
    assert len({made, *others}) == len(others) + 1
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", made)


def test_outside_of_a_job_every_run_is_new() -> None:
    """Without all of a system's variables two calls are two runs."""
    half = {name: value for name, value in GITHUB.items() if name != "GITHUB_JOB"}

    assert request_id(half, None, "s", "m") != request_id(half, None, "s", "m")


def test_a_given_id_counts_alone() -> None:
    """An id of the user's own is kept readable, is the same everywhere, and differs by suite and model."""
    made = request_id(GITHUB, "nightly-7", "s", "m")

    assert made.startswith("nightly-7-")
    assert made == request_id({}, "nightly-7", "s", "m")
    assert made != request_id({}, "nightly-7", "s", "n")
    for wrong in ("", "a b", "x" * 96, "-a"):
        with pytest.raises(BadInput, match="--request-id"):
            request_id({}, wrong, "s", "m")
