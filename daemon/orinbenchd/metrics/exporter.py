"""The HTTP door for monitoring systems: GET /metrics, in threads of its own.

A request is answered from the latest snapshot, which the event loop puts here; it never waits for the loop or the
journal, and they never wait for it. What was made of a snapshot is made once, however many ask.
"""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder

from orinbenchd.metrics.families import Families
from orinbenchd.metrics.snapshot import Snapshot
from orinbenchd.start_error import StartError

# Requests at once; more are closed unanswered.
_MOST = 8
# Who neither reads nor writes for so long is let go of.
_PATIENCE_S = 5.0


class Exporter:
    """Serves the snapshots it is given."""

    def __init__(self, address: str, facts: dict[str, str], daemon: dict[str, str], first: Snapshot) -> None:
        """Listen at `host:port`. Raises StartError."""
        self._snapshot = first
        self._lock = threading.Lock()
        self._made: tuple[Snapshot, dict[str, bytes]] = (first, {})
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(Families(lambda: self._snapshot, facts, daemon))
        ProcessCollector(registry=self._registry)
        try:
            self._server = _Server(address, self._answer)
        except OSError as error:
            raise StartError(f"metrics: cannot listen on {address}: {error.strerror or error}") from None
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port it listens at."""
        return int(self._server.server_address[1])

    def publish(self, snapshot: Snapshot) -> None:
        """Answer from this one from now on."""
        self._snapshot = snapshot

    def close(self) -> None:
        """Take no more requests. Waits half a second at most."""
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, accept: str) -> tuple[str, bytes]:
        encode, content_type = choose_encoder(accept)
        with self._lock:
            snapshot = self._snapshot
            if self._made[0] is not snapshot:
                self._made = (snapshot, {})
            made = self._made[1]
            if content_type not in made:
                made[content_type] = encode(self._registry)
            return content_type, made[content_type]


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: str, answer: Callable[[str], tuple[str, bytes]]) -> None:
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.answer = answer
        self._places = threading.BoundedSemaphore(_MOST)
        super().__init__((host, int(port)), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Somebody hung up or was let go of: nothing to say."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _PATIENCE_S
    server_version = "orinbenchd"
    sys_version = ""

    def do_GET(self) -> None:  # named by the library
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        content_type, body = self.server.answer(self.headers.get("Accept", ""))
        with contextlib.suppress(OSError):
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # named by the library
        """A scrape is no news."""
