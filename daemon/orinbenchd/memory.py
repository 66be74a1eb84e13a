"""The daemon's own memory goes back to the system, because on a Jetson the model lives in the same memory.

glibc opens an arena for nearly every thread and keeps in each what was freed there between blocks that are in use;
docs/adr/0032 has the figures.
"""

from __future__ import annotations

import asyncio
import ctypes

_M_ARENA_MAX = -8
_ARENAS = 2
_PERIOD_S = 30.0


def share_arenas() -> None:
    """Have all threads share a few arenas; before the first thread. Workers, started by exec, are left alone."""
    _glibc("mallopt", _M_ARENA_MAX, _ARENAS)


async def give_back_forever() -> None:
    """Give free pages back to the system now and then, until cancelled."""
    while True:
        await asyncio.sleep(_PERIOD_S)
        await asyncio.to_thread(_glibc, "malloc_trim", 0)


def _glibc(function: str, *arguments: int) -> None:
    """Call a function of glibc that takes and returns integers; another C library has other ways and none of these."""
    found = getattr(ctypes.CDLL(None), function, None)
    if found is not None:
        found(*arguments)
