"""Tells who a caller is, and whether they may: by the file mode of the Unix socket, by token, by certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import grpc

from orinbenchd.config import Config
from orinbenchd.doors.roles import LOCAL, ROLES, Caller
from orinbenchd.doors.tokens import TokenFile
from orinbenchd.errors import PermissionDenied, Unauthenticated
from orinbenchd.start_error import StartError

Context = grpc.aio.ServicerContext[Any, Any]
_SCHEME = "Bearer "
_NAMES = ("x509_subject_alternative_name", "x509_common_name")


@dataclass(frozen=True)
class Shown:
    """What a caller shows: the address, the header `authorization`, the names in the certificate.

    Read once, as the call comes in: gRPC crashes when it is asked about a call that is over.
    """

    peer: str
    authorization: str
    names: frozenset[str]

    @classmethod
    def by(cls, context: Context) -> Shown:
        """Return what the caller of a call shows."""
        given = dict(context.invocation_metadata() or ()).get("authorization", "")
        shown = context.auth_context()
        return cls(
            context.peer(),
            given if isinstance(given, str) else given.decode(errors="replace"),
            frozenset(name.decode(errors="replace") for key in _NAMES for name in shown.get(key, ())),
        )


class Doorkeeper:
    """Knows callers. A token that was sent decides alone; without one the client's certificate does."""

    def __init__(self, config: Config, tokens: TokenFile) -> None:
        """Raises StartError for a TCP door that nobody could come in by."""
        self._tokens = tokens
        self._clients = config.tls.clients if config.tls is not None else []
        if config.tcp is not None and not tokens.read() and not self._clients:
            raise StartError(
                "tcp: nobody could come in: make a token with 'orinbenchd token create --name NAME', or name "
                "clients by their certificates in [[tls.clients]]"
            )

    def identify(self, shown: Shown) -> Caller:
        """Return who calls. Raises Unauthenticated."""
        if shown.peer.startswith("unix:"):
            return LOCAL
        if shown.authorization:
            token = self._tokens.find(shown.authorization.removeprefix(_SCHEME))
            if token is not None:
                return Caller(token.name, token.role)
            raise _unknown("the token is not known here, or was revoked")
        for client in self._clients:
            if client.name in shown.names:
                return Caller(client.name, client.role)
        if shown.names:
            named = ", ".join(sorted(shown.names))[:200]
            raise _unknown(f"no token was sent, and [[tls.clients]] has none of {named}")
        raise _unknown("no token was sent")


def require_role(method: str, caller: Caller) -> None:
    """Raise PermissionDenied unless the caller may use the method."""
    needed = ROLES[method]
    if not caller.may(needed):
        raise PermissionDenied(
            "ROLE_INSUFFICIENT",
            f"{caller.name} has the role {caller.role!r}; this needs {needed!r}",
            role=caller.role,
            needed=needed,
        )


def _unknown(what: str) -> Unauthenticated:
    return Unauthenticated("TOKEN_INVALID", f"{what}: set ORINBENCH_TOKEN to one that the board's operator made")
