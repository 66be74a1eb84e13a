"""The one place where gRPC's errors become ours."""

from __future__ import annotations

from pathlib import Path

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from orinbench_client.errors import BoardRefused, BoardUnreachable, OrinbenchError

DOMAIN = "orinbench.v1"
_DETAILS = "grpc-status-details-bin"
# Codes that gRPC itself gives when a peer is away, slow or hung up.
_LINK = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def error_info(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo | None:
    """Return the daemon's ErrorInfo, or None if the error comes from gRPC or from somebody else."""
    for key, value in error.trailing_metadata() or ():
        if key != _DETAILS:
            continue
        status = status_pb2.Status()
        try:
            status.ParseFromString(value)
        except DecodeError:
            return None
        for detail in status.details:
            info = error_details_pb2.ErrorInfo()
            if detail.Unpack(info) and info.domain == DOMAIN:
                return info
    return None


def is_link_loss(error: grpc.aio.AioRpcError) -> bool:
    """Tell whether trying again later can help: nobody answered, or the daemon is going down or coming up."""
    info = error_info(error)
    if error.code() == grpc.StatusCode.UNAVAILABLE:
        return info is None or info.reason == "DRAINING"
    # A connection that dies inside a message ends as INTERNAL; the daemon's own INTERNAL has an ErrorInfo.
    return error.code() == grpc.StatusCode.INTERNAL and info is None


def _cause(text: str, target: str) -> str:
    """Return why nobody was reached, and what to do, from what gRPC says of it."""
    path = Path(target.removeprefix("unix:"))
    if target.startswith("unix:") and path.exists() and not path.is_socket():
        return "this is no socket: give that of orinbenchd, usually /run/orinbench/orinbench.sock"
    if "SETTINGS frame" in text or "HTTP/2" in text:
        return "something listens there and does not speak gRPC: is it the board's door?"
    # Of a failed connection gRPC tells all it tried; the cause stands at the end.
    return f"{text.rpartition('error: ')[2]}: is orinbenchd running there?"


def translate(error: grpc.aio.AioRpcError, target: str) -> OrinbenchError:
    """Return our error for a failed call to `target`: refused when the daemon said why, else unreachable."""
    info = error_info(error)
    text = " ".join((error.details() or "").split())
    if info is not None:
        return BoardRefused(text, info.reason, dict(info.metadata))
    if error.code() in _LINK:
        return BoardUnreachable(f"cannot reach a board at {target}: {_cause(text, target)}")
    if error.code() == grpc.StatusCode.UNIMPLEMENTED:
        return BoardRefused(f"the daemon at {target} does not have this call: update orinbenchd ({text})")
    return BoardRefused(f"the server at {target} answered {error.code().name}: {text}")
