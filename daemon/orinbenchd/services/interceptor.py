"""The one interceptor: who calls, may they, and what an error looks like on the wire."""

from __future__ import annotations

import asyncio
import inspect
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any, NoReturn

import grpc
import structlog
from google.protobuf.message import DecodeError
from grpc_status import rpc_status

from orinbenchd.doors.audit import Audit
from orinbenchd.doors.doorkeeper import Context, Doorkeeper, Shown, require_role
from orinbenchd.doors.roles import NOBODY, Caller
from orinbenchd.doors.seats import Seats
from orinbenchd.errors import (
    DaemonError,
    FailedPrecondition,
    PermissionDenied,
    Unauthenticated,
    Unavailable,
    invalid_field,
    to_status,
)
from orinbenchd.runs.names import id_of

log = structlog.get_logger("rpc")

# What this daemon speaks, and the oldest client it still understands.
API_REVISION = 2
OLDEST_CLIENT = 1

# What a client names may be of any length.
_WIDEST = 160
_OPEN = ("/grpc.health.v1.", "/grpc.reflection.v1")
_Parse = Callable[[bytes], Any]
_caller: ContextVar[Caller] = ContextVar("caller")


def caller() -> Caller:
    """Return who makes the present call."""
    return _caller.get()


class Interceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler. Nothing but a google.rpc.Status ever leaves the daemon as an error.

    A request is decoded here, after the door: bytes of somebody unknown are never looked into.
    """

    def __init__(self, doorkeeper: Doorkeeper, seats: Seats) -> None:
        self._doorkeeper = doorkeeper
        self._seats = seats
        self._audit = Audit()
        # Calls that failed by a fault of ours.
        self.incidents = 0

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the handler of a call with our checks and error translation around it."""
        handler: Any = await continuation(handler_call_details)
        if handler is None:
            return None
        method, parse, write = handler_call_details.method, handler.request_deserializer, handler.response_serializer
        if handler.unary_unary:
            unary = self._unary(method, parse, handler.unary_unary)
            return grpc.unary_unary_rpc_method_handler(unary, None, write)
        if handler.stream_unary:
            upload = self._upload(method, parse, handler.stream_unary)
            return grpc.stream_unary_rpc_method_handler(upload, None, write)
        if handler.unary_stream:
            stream = self._stream(method, parse, handler.unary_stream)
            return grpc.unary_stream_rpc_method_handler(stream, None, write)
        both = self._stream(method, lambda messages: _decoded(messages, parse), handler.stream_stream)
        return grpc.stream_stream_rpc_method_handler(both, None, write)

    def _unary(self, method: str, parse: _Parse, inner: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        async def outer(data: bytes, context: Context) -> Any:
            call = _Call(method, context)
            try:
                self._enter(call)
                call.request = _decode(data, parse)
                _bind_run(call.request)
                response = await inner(call.request, context)
            except asyncio.CancelledError:
                self._broken_off(call)
                raise
            except Exception as error:  # noqa: BLE001  # the border: whatever it is, it becomes a Status
                await self._abort(call, error)
            self._audit.done(call.action, call.caller, call.shown.peer, call.request, response)
            return response

        return outer

    def _upload(self, method: str, parse: _Parse, inner: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        async def outer(messages: AsyncIterator[bytes], context: Context) -> Any:
            call = _Call(method, context)
            try:
                self._enter(call)
                with self._seats.take(method, call.caller):
                    response = await inner(self._admitted(call, messages, parse), context)
            except asyncio.CancelledError:
                self._broken_off(call)
                raise
            except Exception as error:  # noqa: BLE001  # the border: whatever it is, it becomes a Status
                await self._abort(call, error)
            self._audit.done(call.action, call.caller, call.shown.peer, None, response)
            return response

        return outer

    def _stream(self, method: str, parse: Callable[[Any], Any], inner: Callable[..., Any]) -> Any:
        async def outer(data: Any, context: Context) -> AsyncIterator[Any]:
            call = _Call(method, context)
            try:
                self._enter(call)
                call.request = _decode(data, parse)
                _bind_run(call.request)
                with self._seats.take(method, call.caller):
                    messages = inner(call.request, context)
                    if inspect.iscoroutine(messages):
                        # The health service writes to the context instead.
                        await messages
                        return
                    async for message in messages:
                        # Whoever's token was revoked meanwhile gets nothing more.
                        self._admit(call)
                        yield message
            except (asyncio.CancelledError, GeneratorExit):
                self._broken_off(call)
                raise
            except Exception as error:  # noqa: BLE001  # the border: whatever it is, it becomes a Status
                await self._abort(call, error)
            self._audit.done(call.action, call.caller, call.shown.peer, call.request, None)

        return outer

    async def _admitted(self, call: _Call, messages: AsyncIterator[bytes], parse: _Parse) -> AsyncIterator[Any]:
        async for data in messages:
            # From whoever's token was revoked meanwhile nothing more is taken.
            self._admit(call)
            yield _decode(data, parse)

    def _broken_off(self, call: _Call) -> None:
        """Note a call whose answer nobody waits for any more; what it asked for may have been done."""
        self._audit.failed(call.action, call.caller, call.shown.peer, call.request, "BROKEN_OFF", refused=False)

    def _enter(self, call: _Call) -> None:
        structlog.contextvars.bind_contextvars(rpc=call.action, peer=call.shown.peer)
        self._admit(call)
        _caller.set(call.caller)
        structlog.contextvars.bind_contextvars(caller=call.caller.name)
        _check_revision(call.context)

    def _admit(self, call: _Call) -> None:
        if not call.method.startswith(_OPEN):
            call.caller = self._doorkeeper.identify(call.shown)
            require_role(call.method, call.caller)

    async def _abort(self, call: _Call, error: Exception) -> NoReturn:
        if isinstance(error, grpc.aio.AbortError):
            raise error
        refused = isinstance(error, Unauthenticated | PermissionDenied)
        if not isinstance(error, DaemonError):
            incident = secrets.token_hex(4)
            self.incidents += 1
            log.error("handler failed", incident=incident, exc_info=error)
            error = _internal(incident)
        elif not refused and not isinstance(error, Unavailable):
            log.info("answered with an error", reason=error.reason, why=str(error))
        self._audit.failed(call.action, call.caller, call.shown.peer, call.request, error.reason, refused)
        await call.context.abort_with_status(rpc_status.to_status(to_status(error)))
        raise AssertionError("abort_with_status returned")


class _Call:
    """One call, as far as it has come."""

    def __init__(self, method: str, context: Context) -> None:
        self.method = method
        self.action = method.rpartition("/")[2]
        self.context = context
        self.shown = Shown.by(context)
        self.caller = NOBODY
        self.request: Any = None


def _bind_run(request: Any) -> None:
    """Put the run that a call is about on its lines of the log."""
    name = getattr(request, "name", "")
    if isinstance(name, str) and name.startswith("runs/"):
        structlog.contextvars.bind_contextvars(run=id_of(name)[:_WIDEST])


def _decode(data: Any, parse: Callable[[Any], Any]) -> Any:
    try:
        return parse(data)
    except DecodeError:
        raise invalid_field("request", "these bytes are not the message this call takes") from None


async def _decoded(messages: AsyncIterator[bytes], parse: _Parse) -> AsyncIterator[Any]:
    async for data in messages:
        yield _decode(data, parse)


def _check_revision(context: Context) -> None:
    given = dict(context.invocation_metadata() or ()).get("orinbench-api", str(API_REVISION))
    text = given if isinstance(given, str) else given.decode(errors="replace")
    if not text.isdecimal() or len(text) > 9 or int(text) < OLDEST_CLIENT:
        raise FailedPrecondition(
            "API_TOO_OLD",
            f"this client speaks API revision {text[:20]}; the daemon needs {OLDEST_CLIENT} or newer: update orinbench",
            needed=OLDEST_CLIENT,
            found=text[:20],
        )


def _internal(incident: str) -> DaemonError:
    return DaemonError(
        "INTERNAL", f"the daemon failed; its log has the cause under incident {incident}", incident=incident
    )
