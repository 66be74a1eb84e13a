"""Frames over a real socket pair."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench.internal.v1.worker_pb2 import Ack, FromWorker, Result, Stop, ToWorker
from orinbench_engines.protocol import MAX_FRAME, Channel, ProtocolError, daemon_channel, worker_channel


@pytest.fixture
def ends() -> Iterator[tuple[Channel[FromWorker], socket.socket]]:
    """The daemon's channel, and the raw socket at its other end."""
    ours, theirs = socket.socketpair()
    channel = daemon_channel(ours)
    yield channel, theirs
    channel.close()
    theirs.close()


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.binary(max_size=300)), max_size=20))
def test_what_is_sent_is_received(results: list[tuple[int, bytes]]) -> None:
    """Any results, sent at once, come out the same and in order, then the end."""
    ours, theirs = socket.socketpair()
    daemon, worker = daemon_channel(ours), worker_channel(theirs)
    sent = [FromWorker(result=Result(index=index, body=body)) for index, body in results]
    worker.send(*sent)
    worker.finish()

    assert [*iter(daemon.receive, None)] == sent
    daemon.close()
    worker.close()


@given(st.binary(min_size=1, max_size=200))
def test_any_bytes_are_a_message_an_error_or_the_end(data: bytes) -> None:
    """Whatever comes, receive gives a message with content, None, or ProtocolError, and nothing else."""
    ours, theirs = socket.socketpair()
    channel = daemon_channel(ours)
    theirs.sendall(data)
    theirs.close()
    try:
        while (message := channel.receive()) is not None:
            assert message.WhichOneof("message")
    except ProtocolError as error:
        assert str(error)
    channel.close()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (struct.pack(">I", MAX_FRAME + 1), "must have 1 to"),
        (struct.pack(">I", 0), "must have 1 to"),
        (b"\x00\x00", "ended inside a frame's length"),
        (struct.pack(">I", 5) + b"\x00", "ended inside a frame: 1 of 5 bytes"),
        (struct.pack(">I", 2) + b"\xff\xff", "is not a FromWorker"),
        (struct.pack(">I", 3) + b"\xba\x3e\x00", "without a message that is known here"),
    ],
)
def test_a_hostile_frame_is_refused(ends: tuple[Channel[FromWorker], socket.socket], data: bytes, problem: str) -> None:
    """A length out of bounds, a torn frame and bytes that are no message are each told apart."""
    channel, raw = ends
    raw.sendall(data)
    raw.shutdown(socket.SHUT_WR)

    with pytest.raises(ProtocolError, match=problem):
        channel.receive()


def test_a_length_over_the_limit_is_not_waited_for(ends: tuple[Channel[FromWorker], socket.socket]) -> None:
    """The refusal comes on the length alone: no memory is kept for a body that never comes."""
    channel, raw = ends
    raw.sendall(struct.pack(">I", 0xFFFFFFFF))

    with pytest.raises(ProtocolError):
        channel.receive()


def test_a_message_over_the_limit_is_not_sent() -> None:
    """The sender refuses what the receiver would; nothing goes out, so that the stream stays whole."""
    ours, theirs = socket.socketpair()
    worker, daemon = worker_channel(theirs), daemon_channel(ours)
    large = FromWorker(result=Result(body=b"x" * MAX_FRAME))

    with pytest.raises(ProtocolError, match="does not fit a frame"):
        worker.send(FromWorker(result=Result(index=1)), large)
    worker.send(FromWorker(result=Result(index=2)))
    received = daemon.receive()
    assert received is not None
    assert received.result.index == 2
    daemon.close()
    worker.close()


def test_a_reset_is_the_end() -> None:
    """A peer that closes with messages unread resets the socket: that is its end, not an error of ours."""
    ours, theirs = socket.socketpair()
    worker, daemon = worker_channel(theirs), daemon_channel(ours)
    daemon.send(ToWorker(ack=Ack(index=1)), ToWorker(stop=Stop()))
    worker.close()

    assert daemon.receive() is None
    daemon.close()
