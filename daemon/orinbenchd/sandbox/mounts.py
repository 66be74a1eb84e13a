"""What a worker sees of the file system in the sandbox, as arguments of bubblewrap.

The whole system is there, read-only. Hidden are the folders where people and services keep what is theirs: homes,
sockets, the daemon's data. What a worker needs and lies in one of these is shown again, at its own path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

_PRIVATE = (Path("/home"), Path("/root"), Path("/run"), Path("/var/tmp"))  # noqa: S108  hidden, not written to
_TMP = Path("/tmp")  # noqa: S108

# Nodes that CUDA opens: of an integrated GPU (Tegra), of a card, and the render nodes of both.
_GPU_NODES = (
    "nvmap", "nvhost-*", "nvgpu", "host1x-fence", "nvsciipc", "dri/renderD*",
    "nvidia[0-9]*", "nvidiactl", "nvidia-uvm*", "nvidia-caps",
)  # fmt: skip


@dataclass(frozen=True)
class View:
    """What one worker needs: folders it may write to, files and folders it must see, and whether it uses the GPU.

    `scratch` is its home and holds its private /tmp.
    """

    scratch: Path
    readable: tuple[Path, ...]
    writable: tuple[Path, ...] = ()
    gpu: bool = False


@dataclass(frozen=True)
class Hidden:
    """What no worker may see: folders, and single files that may lie anywhere (keys, sockets)."""

    folders: tuple[Path, ...]
    files: tuple[Path, ...] = field(default=())


@dataclass(frozen=True)
class _Mount:
    kind: Literal["hide", "show", "write"]
    arguments: list[str]


def mount_arguments(hidden: Hidden, view: View) -> list[str]:
    """Return bubblewrap's arguments for a view."""
    mounts = {folder: _Mount("hide", ["--tmpfs", str(folder)]) for folder in _hidden_folders(hidden)}
    for path in view.readable:
        for shown, arguments in _shown(path):
            mounts.setdefault(shown, _Mount("show", arguments))
    for path in (view.scratch, *view.writable):
        mounts[path.resolve()] = _Mount("write", _bind("--bind", path.resolve()))
    private_tmp = view.scratch / "tmp"
    mounts[_TMP] = _Mount("hide", ["--bind", str(private_tmp), str(_TMP)])
    kept = _needed(mounts)
    arguments = ["--ro-bind", "/", "/", "--dev", "/dev", *_nodes(view.gpu), "--proc", "/proc"]
    for mount in kept.values():
        arguments += mount.arguments
    for file in hidden.files:
        if os.path.lexists(file):
            arguments += ["--ro-bind", "/dev/null", str(file.resolve())]
    for folder, mount in kept.items():
        if mount.kind == "hide" and folder != _TMP:
            arguments += ["--remount-ro", str(folder)]
    return [*arguments, "--chdir", str(view.scratch.resolve())]


def _hidden_folders(hidden: Hidden) -> set[Path]:
    folders = {folder.resolve() for folder in (*_PRIVATE, Path.home(), *hidden.folders) if os.access(folder, os.F_OK)}
    # Somebody without a home of his own has the root as his.
    return folders - {Path("/")}


def _shown(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield what makes a path visible: every symbolic link on the way, and where it leads in the end."""
    path = Path(os.path.normpath(path))
    for _ in range(40):  # what the kernel follows, too
        found = _first_link(path)
        if found is None:
            break
        link, target = found
        yield link, ["--symlink", str(target), str(link)]
        path = Path(os.path.normpath(link.parent / target / path.relative_to(link)))
    yield path, _bind("--ro-bind", path)


def _first_link(path: Path) -> tuple[Path, Path] | None:
    for part in (*reversed(path.parents), path):
        with suppress(OSError):  # no link, or not even ours to look at
            return part, part.readlink()
    return None


def _needed(mounts: dict[Path, _Mount]) -> dict[Path, _Mount]:
    """Return them from the outermost inwards, without those that show what is visible anyway."""
    kept: dict[Path, _Mount] = {}
    for path in sorted(mounts):
        mount = mounts[path]
        above = next((kept[parent] for parent in path.parents if parent in kept), None)
        if mount.kind != "show" or (above is not None and above.kind == "hide"):
            kept[path] = mount
    return kept


def _nodes(gpu: bool) -> Iterable[str]:
    if gpu:
        for pattern in _GPU_NODES:
            for node in sorted(Path("/dev").glob(pattern)):
                yield from _bind("--dev-bind", node)


def _bind(option: str, path: Path) -> list[str]:
    return [option, str(path), str(path)]
