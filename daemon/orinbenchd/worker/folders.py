"""Where a worker may write: a scratch folder for one run, and a cache that outlives it, one a model.

A cache is never shared between models: what one model left there, no other model's run will load.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

_LOOK_S = 1.0


@dataclass(frozen=True)
class Folders:
    """The folders of one run, and the bytes that may be in them together."""

    scratch: Path
    cache: Path
    max_bytes: int

    async def overfull(self, pid: int) -> int:
        """Return how many bytes the worker `pid` has in them as soon as that is more than may be."""
        devices = {folder.stat().st_dev for folder in (self.scratch, self.cache)}
        while True:
            used = sum([await asyncio.to_thread(used_bytes, folder) for folder in (self.scratch, self.cache)])
            used += await asyncio.to_thread(removed_bytes, pid, devices)
            if used > self.max_bytes:
                return used
            await asyncio.sleep(_LOOK_S)


@contextmanager
def folders(data_dir: Path, model_digest: str, max_bytes: int, caches_bytes: int) -> Iterator[Folders]:
    """Make the folders of a run; remove its scratch folder at the end.

    Caches of other models go, those not used for longest first, while all together hold more than `caches_bytes`.
    """
    cache = data_dir / "cache" / model_digest.removeprefix("sha256:")
    cache.mkdir(parents=True, exist_ok=True)
    os.utime(cache)
    _make_room(cache, caches_bytes)
    scratch = Path(tempfile.mkdtemp(prefix="worker-", dir=data_dir))
    try:
        (scratch / "tmp").mkdir()
        yield Folders(scratch, cache, max_bytes)
    finally:
        remove_tree(scratch)


def used_bytes(folder: Path) -> int:
    """Return what the files below a folder occupy on the disk."""
    used = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                used += Path(parent, name).lstat().st_blocks * 512
            except OSError:
                continue  # gone while we looked
    return used


def removed_bytes(pid: int, devices: set[int]) -> int:
    """Return what removed files occupy there that a process or a descendant holds open: no folder shows them."""
    try:
        process = psutil.Process(pid)
        pids = [pid, *(child.pid for child in process.children(recursive=True))]
    except psutil.Error:
        return 0
    held: dict[tuple[int, int], int] = {}
    for path in (Path(f"/proc/{each}/fd") for each in pids):
        try:
            for link in path.iterdir():
                # What the descriptor leads to, not what its name says: that is gone.
                found = link.stat()
                if found.st_nlink == 0 and found.st_dev in devices:
                    held[found.st_dev, found.st_ino] = found.st_blocks * 512
        except OSError:
            continue  # gone while we looked
    return sum(held.values())


def remove_tree(folder: Path) -> None:
    """Remove a folder with everything in it, also what its maker has forbidden to remove."""
    if not os.access(folder, os.F_OK):
        return
    folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _make_room(keep: Path, max_bytes: int) -> None:
    sizes = {path: used_bytes(path) for path in keep.parent.iterdir()}
    total = sum(sizes.values())
    for path in sorted(sizes, key=lambda path: path.stat().st_mtime_ns):
        if total > max_bytes and path != keep:
            remove_tree(path)
            total -= sizes[path]
