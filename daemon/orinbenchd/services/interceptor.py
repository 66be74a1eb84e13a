"""The one interceptor: who calls, may they, and what an error looks like on the wire."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import sha256
from typing import Any, NoReturn

import grpc
import structlog
from grpc_status import rpc_status

from orinbenchd.config import Role, Token
from orinbenchd.errors import (
    DaemonError,
    FailedPrecondition,
    PermissionDenied,
    Unauthenticated,
    Unavailable,
    to_status,
)

log = structlog.get_logger("rpc")

# What this daemon speaks, and the oldest client it still understands.
API_REVISION = 1
OLDEST_CLIENT = 1

_RANK: dict[Role, int] = {"watch": 0, "submit": 1, "admin": 2}
# Every method of orinbench.v1 and the least role it needs. A method that is not here is refused.
ROLES: dict[str, Role] = {
    "/orinbench.v1.RunService/CreateRun": "submit",
    "/orinbench.v1.RunService/GetRun": "watch",
    "/orinbench.v1.RunService/ListRuns": "watch",
    "/orinbench.v1.RunService/CancelRun": "submit",
    "/orinbench.v1.RunService/ResumeRun": "submit",
    "/orinbench.v1.RunService/WatchRun": "watch",
    "/orinbench.v1.RunService/ListRecords": "watch",
    "/orinbench.v1.BoardService/GetBoard": "watch",
    "/orinbench.v1.BoardService/CheckBoard": "watch",
    "/orinbench.v1.BoardService/WatchTelemetry": "watch",
    "/orinbench.v1.ArtifactService/HasArtifacts": "submit",
    "/orinbench.v1.ArtifactService/PutArtifact": "submit",
    "/orinbench.v1.ArtifactService/PrepareModel": "submit",
    "/orinbench.v1.ArtifactService/ListArtifacts": "watch",
    "/orinbench.v1.ArtifactService/DeleteArtifact": "admin",
}
_OPEN = ("/grpc.health.v1.", "/grpc.reflection.v1")

Context = grpc.aio.ServicerContext[Any, Any]


class Doorkeeper:
    """Tells who a caller is: the Unix socket is guarded by its file mode, TCP by tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens

    def admit(self, method: str, context: Context) -> str:
        """Return the caller's name. Raises Unauthenticated or PermissionDenied."""
        if context.peer().startswith("unix:") or method.startswith(_OPEN):
            return "local"
        token = self._find(context)
        needed = ROLES[method]
        if _RANK[token.role] < _RANK[needed]:
            raise PermissionDenied(
                "ROLE_INSUFFICIENT",
                f"{token.name} has the role {token.role!r}; this needs {needed!r}",
                role=token.role,
                needed=needed,
            )
        return token.name

    def _find(self, context: Context) -> Token:
        given = dict(context.invocation_metadata() or ()).get("authorization", "")
        text = given if isinstance(given, str) else given.decode(errors="replace")
        digest = sha256(text.removeprefix("Bearer ").encode()).hexdigest()
        found = [token for token in self._tokens if hmac.compare_digest(token.sha256, digest)]
        if not found:
            what = "no token was sent" if not text else "the token is not known here"
            raise Unauthenticated("TOKEN_INVALID", f"{what}: set ORINBENCH_TOKEN to one that the board's operator made")
        return found[0]


class Interceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler. Nothing but a google.rpc.Status ever leaves the daemon as an error."""

    def __init__(self, doorkeeper: Doorkeeper) -> None:
        self._doorkeeper = doorkeeper

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the handler of a call with our checks and error translation around it."""
        handler: Any = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(_OPEN):
            return handler  # type: ignore[no-any-return]
        codec = {
            "request_deserializer": handler.request_deserializer,
            "response_serializer": handler.response_serializer,
        }
        if handler.unary_unary:
            return grpc.unary_unary_rpc_method_handler(self._unary(method, handler.unary_unary), **codec)
        if handler.stream_unary:
            return grpc.stream_unary_rpc_method_handler(self._unary(method, handler.stream_unary), **codec)
        return grpc.unary_stream_rpc_method_handler(self._stream(method, handler.unary_stream), **codec)

    def _unary(self, method: str, inner: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def outer(request: Any, context: Context) -> Any:
            try:
                self._enter(method, context)
                return await inner(request, context)
            except Exception as error:  # noqa: BLE001  # the border: whatever it is, it becomes a Status
                await _abort(method, error, context)

        return outer

    def _stream(self, method: str, inner: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
        async def outer(request: Any, context: Context) -> AsyncIterator[Any]:
            try:
                self._enter(method, context)
                async for message in inner(request, context):
                    yield message
            except Exception as error:  # noqa: BLE001  # the border: whatever it is, it becomes a Status
                await _abort(method, error, context)

        return outer

    def _enter(self, method: str, context: Context) -> None:
        caller = self._doorkeeper.admit(method, context)
        structlog.contextvars.bind_contextvars(rpc=method.rpartition("/")[2], peer=context.peer(), caller=caller)
        _check_revision(context)


def caller() -> str:
    """Return the name of who makes the present call."""
    return str(structlog.contextvars.get_contextvars().get("caller", "local"))


def _check_revision(context: Context) -> None:
    given = dict(context.invocation_metadata() or ()).get("orinbench-api", str(API_REVISION))
    text = given if isinstance(given, str) else given.decode(errors="replace")
    if not text.isdigit() or int(text) < OLDEST_CLIENT:
        raise FailedPrecondition(
            "API_TOO_OLD",
            f"this client speaks API revision {text[:20]}; the daemon needs {OLDEST_CLIENT} or newer: update orinbench",
            needed=OLDEST_CLIENT,
            found=text[:20],
        )


async def _abort(method: str, error: Exception, context: Context) -> NoReturn:
    if isinstance(error, grpc.aio.AbortError):
        raise error
    if not isinstance(error, DaemonError):
        incident = secrets.token_hex(4)
        log.error("handler failed", rpc=method, incident=incident, exc_info=error)
        error = _internal(incident)
    elif isinstance(error, Unauthenticated | PermissionDenied):
        log.warning("refused", rpc=method, peer=context.peer(), reason=error.reason, why=str(error))
    elif not isinstance(error, Unavailable):
        log.info("answered with an error", rpc=method, reason=error.reason, why=str(error))
    await context.abort_with_status(rpc_status.to_status(to_status(error)))
    raise AssertionError("abort_with_status returned")


def _internal(incident: str) -> DaemonError:
    return DaemonError(
        "INTERNAL", f"the daemon failed; its log has the cause under incident {incident}", incident=incident
    )
