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

_LOOK_S = 1.0


@dataclass(frozen=True)
class Folders:
    """The folders of one run, and the bytes that may be in them together."""

    scratch: Path
    cache: Path
    max_bytes: int

    async def overfull(self) -> int:
        """Return how many bytes are in them as soon as that is more than may be."""
        while True:
            used = sum([await asyncio.to_thread(used_bytes, folder) for folder in (self.scratch, self.cache)])
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
