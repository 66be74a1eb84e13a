"""sd_notify: tells systemd that the daemon is up, alive, or going down. Silent without systemd."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger("watchdog")


def notify(message: str) -> None:
    """Send one message to the socket systemd named, if there is one."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        try:
            sock.sendto(message.encode(), address)
        except OSError as error:
            log.warning("systemd cannot be told", message=message, reason=str(error))


async def watchdog(healthy: Callable[[], Awaitable[str]]) -> None:
    """Ping systemd's watchdog while `healthy` returns an empty string; stop pinging, with a log line, when not."""
    period_us = os.environ.get("WATCHDOG_USEC")
    if not period_us:
        return
    period_s = int(period_us) / 1e6 / 3
    while True:
        try:
            problem = await asyncio.wait_for(healthy(), period_s)
        except asyncio.TimeoutError:
            problem = f"no answer within {period_s:.0f} s"
        if problem:
            log.error("not healthy, systemd is not told that we live", reason=problem)
        else:
            notify("WATCHDOG=1")
        await asyncio.sleep(period_s)
