"""Puts the exporter before the daemon's parts."""

from __future__ import annotations

from orinbenchd.metrics.exporter import Exporter
from orinbenchd.metrics.snapshot import Observed
from orinbenchd.services.interceptor import API_REVISION
from orinbenchd.telemetry.hub import TelemetryHub
from orinbenchd.version import version


def open_exporter(address: str, observed: Observed, hub: TelemetryHub) -> Exporter:
    """Serve a new snapshot with every reading of the hub. Raises StartError."""
    config, board = observed.config, observed.board
    facts = {"board": config.name, "profile": board.profile.id, "simulated": str(board.simulated).lower()}
    daemon = {"version": version(), "api_revision": str(API_REVISION)}
    exporter = Exporter(address, facts, daemon, observed.look(None))
    hub.add_listener(lambda reading: exporter.publish(observed.look(reading)))
    return exporter
