"""Hostile requests against a real daemon: what is sent, over which sockets, and what must hold meanwhile."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from fuzz_cases.campaign import MOST_GROWTH_MIB, Campaign, Report


def main(arguments: list[str]) -> int:
    """Run a campaign, print its report, and return 1 if the daemon gave way."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description="Throw hostile requests at a real daemon.")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        report = run(Path(folder), options.requests, options.seed)
    print(json.dumps(asdict(report)))
    return 0 if report.held else 1


def run(folder: Path, requests: int, seed: int) -> Report:
    """Run a campaign on a daemon of its own in `folder`."""
    return asyncio.run(Campaign(folder, requests, seed).run())


__all__ = ["MOST_GROWTH_MIB", "Campaign", "Report", "main", "run"]
