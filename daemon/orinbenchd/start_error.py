"""The errors of a daemon that cannot start. Alone, so that the command line need not import gRPC to know them."""

from __future__ import annotations


class StartError(Exception):
    """The daemon cannot start. The text says what is wrong, where, and what to do. It never reaches a client."""

    #: EX_CONFIG: systemd is told not to restart on it, for nothing gets better by trying again.
    code = 78


class NoRoomError(StartError):
    """The disk is too full to start."""

    #: EX_TEMPFAIL: systemd tries again.
    code = 75
