"""Hostile connections below gRPC: bytes that are no HTTP/2, frames that break its rules, and those who say nothing."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from collections.abc import Callable

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _WINDOW, _CONTINUATION = 0, 1, 3, 4, 6, 8, 9
_END_HEADERS, _END_STREAM = 4, 1
_WAIT_S = 2.0


def _frame(kind: int, flags: int, stream: int, payload: bytes, length: int | None = None) -> bytes:
    size = len(payload) if length is None else length
    return size.to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def _field(name: str, value: str) -> bytes:
    """A header field of HPACK: a literal that is never indexed, names and values of less than 127 bytes."""
    return b"\x10" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode("latin-1")


def _headers(path: str, *more: bytes) -> bytes:
    fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x", "te": "trailers"}
    fields["content-type"] = "application/grpc"
    return b"".join(_field(*item) for item in fields.items()) + b"".join(more)


OPENING = _PREFACE + _frame(_SETTINGS, 0, 0, b"")


def headers_frame(path: str) -> bytes:
    """Return the frame that begins a call of a method; a character of `path` is a byte."""
    return _frame(_HEADERS, _END_HEADERS, 1, _headers(path))


_CALL = headers_frame("/orinbench.v1.RunService/GetRun")


def _noise(rng: random.Random) -> bytes:
    return rng.randbytes(rng.randint(1, 4096))


def _noise_after_opening(rng: random.Random) -> bytes:
    return OPENING + rng.randbytes(rng.randint(1, 4096))


def _half_opening(rng: random.Random) -> bytes:
    return _PREFACE[: rng.randrange(len(_PREFACE))]


def _other_protocol(rng: random.Random) -> bytes:
    return rng.choice((b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"SSH-2.0-x\r\n"))


def _broken_call(rng: random.Random) -> bytes:
    call = bytearray(OPENING + _CALL + _frame(_DATA, _END_STREAM, 1, b"\0\0\0\0\2\n\0"))
    for _ in range(rng.randint(1, 6)):
        call[rng.randrange(len(_PREFACE), len(call))] = rng.randrange(256)
    return bytes(call)


def _lying_message(rng: random.Random) -> bytes:
    size = rng.choice((2**32 - 1, 2**31, 3 << 20))
    return OPENING + _CALL + _frame(_DATA, 0, 1, b"\0" + size.to_bytes(4, "big") + b"x" * 1000)


def _lying_frame(rng: random.Random) -> bytes:
    return OPENING + _frame(rng.randrange(12), rng.randrange(256), rng.randrange(2**31), b"abc", 2**24 - 1)


def _large_headers(rng: random.Random) -> bytes:
    fields = b"".join(_field(f"x-{rng.random()}", "y" * 100) for _ in range(120))
    return OPENING + _frame(_HEADERS, 0, 1, _headers("/x")) + _frame(_CONTINUATION, _END_HEADERS, 1, fields)


def _endless_headers(rng: random.Random) -> bytes:
    more = _frame(_CONTINUATION, 0, 1, _field("a", "b" * 100) * 100)
    return OPENING + _frame(_HEADERS, 0, 1, _headers("/x")) + more * rng.randint(1, 20)


def _resets(rng: random.Random) -> bytes:
    """Calls that are opened and given up at once, by the hundred."""
    calls = (
        _frame(_HEADERS, _END_HEADERS, stream, _headers("/orinbench.v1.BoardService/CheckBoard"))
        + _frame(_RESET, 0, stream, struct.pack(">I", 8))
        for stream in range(1, rng.randint(3, 400), 2)
    )
    return OPENING + b"".join(calls)


def _pings(rng: random.Random) -> bytes:
    return OPENING + _frame(_PING, 0, 0, b"12345678") * rng.randint(1, 1000)


def _settings(rng: random.Random) -> bytes:
    entry = struct.pack(">HI", rng.randrange(1, 8), rng.choice((0, 1, 2**31 - 1, 2**32 - 1)))
    return OPENING + _frame(_SETTINGS, 0, 0, entry) * rng.randint(1, 200)


def _windows(rng: random.Random) -> bytes:
    return OPENING + _CALL + _frame(_WINDOW, 0, rng.choice((0, 1)), struct.pack(">I", 2**31 - 1)) * 3


_ATTACKS: tuple[Callable[[random.Random], bytes], ...] = (
    _noise,
    _noise_after_opening,
    _half_opening,
    _other_protocol,
    _broken_call,
    _lying_message,
    _lying_frame,
    _large_headers,
    _endless_headers,
    _resets,
    _pings,
    _settings,
    _windows,
)


def attack(rng: random.Random, address: tuple[str, int]) -> bytes:
    """Open a connection, send something hostile, and return what came back until it was closed or was quiet."""
    answer = b""
    with contextlib.suppress(OSError), socket.create_connection(address, _WAIT_S) as connection:
        connection.settimeout(0.05)
        connection.sendall(rng.choice(_ATTACKS)(rng))
        while part := connection.recv(65536):
            answer += part
    return answer


class SlowPeople:
    """Connections that say a byte now and then, for as long as they are let."""

    def __init__(self, address: tuple[str, int], count: int) -> None:
        self._address = address
        self._count = count
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="slow-people")

    def __enter__(self) -> SlowPeople:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with contextlib.ExitStack() as opened:
            connections: list[tuple[socket.socket, bytes]] = []
            while not self._over.wait(0.5):
                while len(connections) < self._count:
                    connection = socket.socket()
                    opened.enter_context(connection)
                    connection.settimeout(_WAIT_S)
                    with contextlib.suppress(OSError):
                        connection.connect(self._address)
                    connections.append((connection, OPENING + _CALL))
                connections = [left for pair in connections if (left := _say_one_byte(*pair))]


def _say_one_byte(connection: socket.socket, left: bytes) -> tuple[socket.socket, bytes] | None:
    try:
        connection.send(left[:1])
    except OSError:
        connection.close()
        return None
    return (connection, left[1:]) if left[1:] else None


def crowd(address: tuple[str, int], count: int) -> int:
    """Open `count` connections at once, hold them all, close them; return how many were let in."""
    with contextlib.ExitStack() as opened:
        let_in = 0
        for _ in range(count):
            connection = socket.socket()
            opened.enter_context(connection)
            connection.settimeout(_WAIT_S)
            with contextlib.suppress(OSError):
                connection.connect(address)
                let_in += 1
        return let_in
