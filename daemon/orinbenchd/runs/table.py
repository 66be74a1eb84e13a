"""The table of runs in the journal: what the manager reads and writes of it. All are functions of a connection."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from orinbench.v1 import run_pb2

from orinbenchd.runs import machine
from orinbenchd.runs.names import id_of


class Taken(NamedTuple):
    """The run that has a request id already: its serialised plan and its id; no plan if it was removed."""

    plan: bytes | None
    run_id: str


def unfinished(connection: sqlite3.Connection) -> list[tuple[int, run_pb2.Run]]:
    """Return (number, Run) of all runs that have not ended, in order of submission."""
    marks = ",".join(str(int(state)) for state in sorted(machine.TERMINAL))
    rows = connection.execute(f"SELECT number, run FROM runs WHERE state NOT IN ({marks}) ORDER BY number")  # noqa: S608
    return [(number, run_pb2.Run.FromString(blob)) for number, blob in rows]


def next_number(connection: sqlite3.Connection) -> int:
    """Return a number that no run has or had."""
    query = "SELECT max(number) FROM (SELECT number FROM runs UNION ALL SELECT number FROM removed)"
    return int(connection.execute(query).fetchone()[0] or 0) + 1


def taken(connection: sqlite3.Connection, request_id: str) -> Taken | None:
    """Return what a request id belongs to."""
    query = (
        "SELECT plan, id FROM runs WHERE request_id = :id UNION ALL SELECT NULL, id FROM removed WHERE request_id = :id"
    )
    row = connection.execute(query, {"id": request_id}).fetchone()
    return None if row is None else Taken(*row)


def insert(connection: sqlite3.Connection, number: int, request_id: str, plan: bytes, run: run_pb2.Run) -> Taken | None:
    """Add a run; when the request id is taken, change nothing and return what took it."""
    if (found := taken(connection, request_id)) is not None:
        return found
    row = (id_of(run.name), number, request_id, plan, run.state, run.SerializeToString())
    connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
    return None


def removed(connection: sqlite3.Connection, run_id: str) -> tuple[int, str] | None:
    """Return (nanoseconds since the epoch, why) of a run that retention removed."""
    row = connection.execute("SELECT time_ns, reason FROM removed WHERE id = ?", (run_id,)).fetchone()
    return None if row is None else (row[0], row[1])
