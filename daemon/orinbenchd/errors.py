"""Errors of the daemon, and the one table from them to gRPC status codes.

DaemonError                     reason and metadata travel in google.rpc.ErrorInfo
├── InvalidArgument             INVALID_ARGUMENT
├── NotFound                    NOT_FOUND
├── AlreadyExists               ALREADY_EXISTS
├── FailedPrecondition          FAILED_PRECONDITION
├── OutOfRange                  OUT_OF_RANGE
├── ResourceExhausted           RESOURCE_EXHAUSTED
├── Unauthenticated             UNAUTHENTICATED
├── PermissionDenied            PERMISSION_DENIED
├── Unavailable                 UNAVAILABLE
└── DataLoss                    DATA_LOSS
StartError                      never reaches a client: the daemon cannot start
"""

from __future__ import annotations

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

DOMAIN = "orinbench.v1"


class DaemonError(Exception):
    """Base of what a client is told. `reason` is a name of orinbench.v1.ErrorReason without its prefix."""

    code = grpc.StatusCode.INTERNAL

    def __init__(self, reason: str, message: str, **metadata: object) -> None:
        super().__init__(message)
        self.reason = reason
        self.metadata = {key: str(value) for key, value in metadata.items()}


class InvalidArgument(DaemonError):
    """The request itself is wrong."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class NotFound(DaemonError):
    """What the request names does not exist."""

    code = grpc.StatusCode.NOT_FOUND


class AlreadyExists(DaemonError):
    """The name is taken by something else."""

    code = grpc.StatusCode.ALREADY_EXISTS


class FailedPrecondition(DaemonError):
    """The request is right, but not now or not here."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class OutOfRange(DaemonError):
    """A cursor points outside of what there is."""

    code = grpc.StatusCode.OUT_OF_RANGE


class ResourceExhausted(DaemonError):
    """A limit is reached."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class Unauthenticated(DaemonError):
    """Nobody we know."""

    code = grpc.StatusCode.UNAUTHENTICATED


class PermissionDenied(DaemonError):
    """Somebody we know, who may not do this."""

    code = grpc.StatusCode.PERMISSION_DENIED


class Unavailable(DaemonError):
    """Not at the moment: the daemon goes down, or an operator must act."""

    code = grpc.StatusCode.UNAVAILABLE


class DataLoss(DaemonError):
    """What was asked for was here once and cannot be read any more."""

    code = grpc.StatusCode.DATA_LOSS


def to_status(error: DaemonError) -> status_pb2.Status:
    """Return google.rpc.Status with exactly one ErrorInfo."""
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata)
    detail = any_pb2.Any()
    detail.Pack(info)
    return status_pb2.Status(code=error.code.value[0], message=str(error), details=[detail])


def invalid_field(field: str, message: str) -> InvalidArgument:
    """Return the error for a missing or malformed field of a request."""
    return InvalidArgument("FIELD_INVALID", f"{field}: {message}", field=field)


def artifact_not_found(digest: str) -> NotFound:
    """Return the error for an artifact that is not here."""
    return NotFound("ARTIFACT_NOT_FOUND", f"the board has no artifact {digest}", digest=digest)


def disk_low(free: int, needed: int) -> ResourceExhausted:
    """Return the error for a disk with too few free bytes."""
    return ResourceExhausted(
        "DISK_LOW",
        f"{free} bytes are free on the board and {needed} are needed: delete artifacts or runs there",
        free_bytes=free,
        needed_bytes=needed,
    )
