"""The error of a daemon that cannot start. Alone, so that the command line need not import gRPC to know it."""

from __future__ import annotations


class StartError(Exception):
    """The daemon cannot start. The text says what is wrong, where, and what to do. It never reaches a client."""
