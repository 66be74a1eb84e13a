"""A small hub over real HTTP: what huggingface_hub asks of the big one, and the ways in which that goes wrong."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

REVISION = "70bb2e84b976b7e960aa89f1c648e09c59f894dd"
TOKEN = "hf_secretsecretsecret"
_API = re.compile(r"/api/(models|datasets)/([^/]+/[^/]+)/revision/([^/]+)\Z")
_FILE = re.compile(r"(/datasets)?/([^/]+/[^/]+)/resolve/([^/]+)/(.+)\Z")
_CHUNK = 1 << 16


@dataclass
class Repository:
    """Files at one revision. Those that end in `large` are stated by SHA-256 and served from another address."""

    files: dict[str, bytes]
    revision: str = REVISION
    gated: bool = False
    large: tuple[str, ...] = (".safetensors", ".bin", ".tar.gz")


@dataclass
class Hub:
    """The server's state. Each trouble is for the files whose path is named, and is over when it has happened once.

    `cut` ends the connection after so many bytes; `stall` sends so many and then waits for `go`; `instead` serves
    other bytes than are stated.
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    url: str = ""
    store_url: str = ""
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    cut: dict[str, int] = field(default_factory=dict)
    stall: dict[str, int] = field(default_factory=dict)
    instead: dict[str, bytes] = field(default_factory=dict)
    go: threading.Event = field(default_factory=threading.Event)

    def ranges(self, path: str) -> list[str]:
        """Return the ranges in which a large file's bytes were asked for, path with repository; "all" for no range."""
        return [headers.get("range", "all") for _, asked, headers in self.asked if asked == f"/bytes/{path}"]


@contextmanager
def serving() -> Iterator[Hub]:
    """Run a hub."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    # Another origin, as on the big hub: no token may follow there.
    hub.url, hub.store_url = (f"http://{host}:{server.server_port}" for host in ("127.0.0.1", "localhost"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        hub.go.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  its parent's name
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.hub.asked.append((self.command, path, {key.lower(): value for key, value in self.headers.items()}))
        if found := _API.match(path):
            self._info(found[2], found[3])
        elif found := _FILE.match(path):
            self._file(found[2], found[3], found[4])
        elif path.startswith("/bytes/"):
            owner, name, file = path.removeprefix("/bytes/").split("/", 2)
            self._bytes(file, self.hub.repositories[f"{owner}/{name}"].files[file])
        else:
            self._refuse(404, "")

    def _info(self, name: str, revision: str) -> None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            self._refuse(401, "RepoNotFound")
        elif revision != repository.revision:
            self._refuse(404, "RevisionNotFound")
        else:
            siblings = [_sibling(repository, path) for path in repository.files]
            self._answer(200, json.dumps({"id": name, "sha": repository.revision, "siblings": siblings}).encode())

    def _file(self, name: str, revision: str, path: str) -> None:
        repository = self.hub.repositories[name]
        if repository.gated and self.headers.get("authorization") != f"Bearer {TOKEN}":
            self._refuse(403 if self.headers.get("authorization") else 401, "GatedRepo")
        elif path.endswith(repository.large):
            self._answer(302, b"", location=f"{self.hub.store_url}/bytes/{name}/{path}")
        else:
            self._bytes(path, repository.files[path])

    def _bytes(self, path: str, data: bytes) -> None:
        hub = self.hub
        data = hub.instead.pop(path, data)
        start = int((self.headers.get("range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if self.command == "HEAD":
            return
        stop = hub.cut.pop(path, None)
        hold = hub.stall.pop(path, None)
        if stop is not None:
            self.wfile.write(data[start:stop])
            self.close_connection = True
            return
        if hold is not None:
            self.wfile.write(data[start:hold])
            self.wfile.flush()
            hub.go.wait(60)
            hub.go.clear()
            start = hold
        # Whoever was waited for may have left.
        with suppress(ConnectionError):
            for at in range(start, len(data), _CHUNK):
                self.wfile.write(data[at : at + _CHUNK])

    def _refuse(self, status: int, code: str) -> None:
        self._answer(status, b'{"error":"no"}', x_error_code=code, x_error_message=f"a hub's words on {code}")

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _sibling(repository: Repository, path: str) -> dict[str, Any]:
    data = repository.files[path]
    stated: dict[str, Any] = {"rfilename": path, "size": len(data)}
    if path.endswith(repository.large):
        pointer = b"a pointer"
        stated["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": len(pointer)}
        data = pointer
    stated["blobId"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    return stated
