"""The process that talks to a hub: orinbench_profiles.hub, started, listened to, and ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, BinaryIO

import structlog

from orinbenchd.errors import DaemonError

log = structlog.get_logger("hub")

_LINE = 8 << 20
# What the process may inherit: its libraries and the way to the hub. A token comes through its standard input.
_PASSED = (
    *("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH"),
    *("HF_ENDPOINT", "HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
_FORCED = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    # Only plain HTTP goes on where it stopped.
    "HF_HUB_DISABLE_XET": "1",
}


def drop_downloads(folder: Path, before_ns: int) -> None:
    """Remove the downloads in `folder` that brought nothing since a time, in nanoseconds since the epoch."""
    for download in folder.glob("*/"):
        try:
            newest_ns = max(path.stat().st_mtime_ns for path in (download, *download.rglob("*")))
        except FileNotFoundError:
            # Something was renamed under us: it is being gone on with.
            continue
        if newest_ns < before_ns:
            shutil.rmtree(download)
            log.info("a download that was given up is removed", folder=download.name)


async def run_hub(folder: Path, request: dict[str, Any]) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
    """Run one request with `folder` to work in and yield its events: planned, progress, arrived, done or failed.

    However this ends, the process is gone then. Raises DaemonError if it ends without a last word.
    """
    words = folder / ".log"
    with _opened(words) as errors:
        process = await _start(folder, errors)
    assert process.stdin is not None and process.stdout is not None  # noqa: S101  pipes were asked for
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.close()
        kind = ""
        while line := await process.stdout.readline():
            ((kind, value),) = json.loads(line).items()
            yield kind, value
        code = await process.wait()
        if kind not in ("done", "failed"):
            said = words.read_text(errors="replace").strip().rpartition("\n")[2]
            log.error("the download ended early", code=code, said=said)
            raise DaemonError("INTERNAL", f"the download ended early (exit code {code}): {said[:500]}")
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(process.wait())


def _opened(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("wb")


async def _start(folder: Path, errors: BinaryIO) -> asyncio.subprocess.Process:
    inherited = {name: os.environ[name] for name in _PASSED if name in os.environ}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "orinbench_profiles.hub"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
        cwd=folder,
        env=inherited | _FORCED | {"HOME": str(folder), "HF_HOME": str(folder)},
        start_new_session=True,
        limit=_LINE,
    )
