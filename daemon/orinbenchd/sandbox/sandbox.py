"""The command that puts a worker into its isolation."""

from __future__ import annotations

from dataclasses import dataclass

from orinbenchd.sandbox.levels import Isolation
from orinbenchd.sandbox.mounts import Hidden, View, mount_arguments

# Own users too, for root as for anybody: its capabilities are then worth nothing outside.
_BWRAP = (
    "--unshare-user", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
    "--cap-drop", "ALL", "--die-with-parent",
)  # fmt: skip
_UNSHARE = ("--user", "--map-current-user", "--net")


@dataclass(frozen=True)
class Sandbox:
    """An isolation and what makes it. `program` is bwrap or unshare."""

    isolation: Isolation
    hidden: Hidden
    program: str = ""

    @property
    def has_monitor(self) -> bool:
        """Whether a process of bubblewrap stands between the daemon and the worker.

        Then the exit code of a worker that a signal ended is 128 + that signal.
        """
        return self.isolation.level == "sandbox"

    def prefix(self, view: View, info_fd: int | None = None) -> list[str]:
        """Return what comes before a command. On `info_fd` bubblewrap writes the pid of the sandbox's first process."""
        if self.isolation.level == "none":
            return []
        if self.isolation.level == "network":
            return [self.program, *_UNSHARE, "--"]
        info = [] if info_fd is None else ["--info-fd", str(info_fd)]
        return [self.program, *_BWRAP, *info, *mount_arguments(self.hidden, view), "--"]
