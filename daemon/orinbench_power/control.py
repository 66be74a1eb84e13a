"""Changes the board and puts it back. What was changed is on disk before it is done."""

from __future__ import annotations

import json
import logging
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orinbench_power import programs
from orinbench_power.programs import Mode

_NVPMODEL = "/usr/sbin/nvpmodel"
_JETSON_CLOCKS = "/usr/bin/jetson_clocks"

_log = logging.getLogger("orinbench-power")


class ControlError(Exception):
    """A verb that could not be done. `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Changes:
    """What must be put back: the mode that was in force, the one we set, the file of the stored clocks.

    The mode outlives a reboot, the clocks do not: `clocks_boot` is the boot they were locked in, empty if unknown.
    """

    mode_before: int | None = None
    mode_set: int | None = None
    clocks_file: str | None = None
    clocks_boot: str = ""

    @property
    def any(self) -> bool:
        """Whether there is anything to put back."""
        return self.mode_before is not None or self.clocks_file is not None


class Control:
    """The board below `root`. `state_dir` holds what has to be put back when helper or board start again: on disk."""

    def __init__(self, root: Path, state_dir: Path) -> None:
        self._root = root
        self._state_dir = state_dir
        self._state_file = state_dir / "changes.json"
        self.changes = self._load()
        if self.changes.clocks_file is not None and self._clocks_of_another_boot():
            self._forget_clocks(self.changes.clocks_file)

    async def status(self) -> dict[str, Any]:
        """Return the mode in force, the top mode, and what is changed."""
        current, top = await self._query(), self._top()
        return {
            "mode": asdict(current) if current else None,
            "top": asdict(top) if top else None,
            "changed": self.changes.any,
        }

    async def set_top_mode(self) -> dict[str, Any]:
        """Put the board into its top mode. Raises ControlError; on `reboot-needed` nothing was changed."""
        current, top = await self._query(), self._top()
        if top is None:
            raise ControlError("no-top-mode", "nvpmodel.conf names neither MAXN_SUPER nor MAXN")
        if current is None:
            raise ControlError("mode-unknown", "nvpmodel -q does not say which mode is in force")
        # nvpmodel can ask for a reboot even for the mode that is in force: leave it alone then.
        if current.id != top.id:
            await self._change_mode(current, top)
        return {"mode": asdict(top), "before": asdict(current)}

    async def lock_clocks(self) -> dict[str, Any]:
        """Fix all clocks at their maximum, after storing what they were."""
        if self.changes.clocks_file is not None:
            return {}
        # A fresh name: jetson_clocks asks before it overwrites.
        path = self._state_dir / f"clocks-{time.time_ns()}"
        await self._must(_JETSON_CLOCKS, "--store", str(path))
        if not os.access(path, os.R_OK):
            raise ControlError("failed", "jetson_clocks --store wrote nothing")
        self.changes.clocks_file, self.changes.clocks_boot = str(path), programs.boot_id(self._root)
        self._save()
        await self._must(_JETSON_CLOCKS)
        _log.info("clocks locked")
        return {}

    async def restore(self) -> dict[str, Any]:
        """Put back what was changed. Raises ControlError; what could not be put back stays noted."""
        failed = []
        for put_back in (self._restore_clocks, self._restore_mode):
            try:
                await put_back()
            except ControlError as error:
                failed.append(str(error))
        if failed:
            raise ControlError("failed", "; ".join(failed))
        return {}

    def gpu_clients(self) -> dict[str, Any]:
        """Return who uses the GPU: the nvmap table as it stands and the holders of GPU nodes."""
        return {"nvmap": programs.nvmap_table(self._root), "holders": programs.node_holders(self._root)}

    async def _change_mode(self, current: Mode, top: Mode) -> None:
        if self.changes.mode_before is None:
            self.changes.mode_before = current.id
        self.changes.mode_set = top.id
        self._save()
        ended = await self._run(_NVPMODEL, "-m", str(top.id))
        now = await self._query()
        _log.info("nvpmodel -m %d: exit code %s, mode now %s", top.id, ended.code, now)
        if now is not None and now.id == top.id:
            return
        if now is not None and now.id == self.changes.mode_before:
            self.changes.mode_before = self.changes.mode_set = None
            self._save()
        if programs.asks_for_reboot(ended.text):
            raise ControlError(
                "reboot-needed",
                f"reboot needed: {current.name} to {top.name} cannot be done without one "
                f"(sudo nvpmodel -m {top.id}, and let it reboot)",
            )
        raise ControlError("failed", f"nvpmodel -m {top.id} ended with {ended.code}; the mode is still {current.name}")

    async def _restore_clocks(self) -> None:
        path = self.changes.clocks_file
        if path is None:
            return
        await self._must(_JETSON_CLOCKS, "--restore", path)
        self._forget_clocks(path)
        _log.info("clocks restored")

    def _clocks_of_another_boot(self) -> bool:
        then, now = self.changes.clocks_boot, programs.boot_id(self._root)
        return bool(then and now) and then != now

    def _forget_clocks(self, path: str) -> None:
        Path(path).unlink(missing_ok=True)
        self.changes.clocks_file, self.changes.clocks_boot = None, ""
        self._save()

    async def _restore_mode(self) -> None:
        before = self.changes.mode_before
        if before is None:
            return
        now = await self._query()
        if now is not None and now.id != self.changes.mode_set:
            _log.warning("mode not restored: somebody set it to %s meanwhile", now.name)
        else:
            ended = await self._run(_NVPMODEL, "-m", str(before))
            now = await self._query()
            if now is None or now.id != before:
                raise ControlError("failed", f"nvpmodel -m {before} ended with {ended.code}: the mode was not restored")
            _log.info("mode restored to %s", now.name)
        self.changes.mode_before = self.changes.mode_set = None
        self._save()

    async def _query(self) -> Mode | None:
        return programs.parse_query((await self._run(_NVPMODEL, "-q")).text)

    def _top(self) -> Mode | None:
        try:
            return programs.top_mode(self._root)
        except OSError as error:
            raise ControlError("failed", f"/etc/nvpmodel.conf cannot be read: {error.strerror}") from None

    async def _run(self, program: str, *arguments: str) -> programs.Finished:
        try:
            return await programs.run(self._root, program, *arguments)
        except OSError as error:
            raise ControlError("failed", f"{program} cannot be started: {error.strerror}") from None

    async def _must(self, program: str, *arguments: str) -> None:
        ended = await self._run(program, *arguments)
        if ended.code != 0:
            raise ControlError("failed", f"{program} {' '.join(arguments)} ended with {ended.code}")

    def _load(self) -> Changes:
        try:
            value = json.loads(self._state_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Changes()
        except (OSError, ValueError) as error:
            _log.error("%s is unreadable and is ignored: %s", self._state_file, error)
            return Changes()
        get = value.get
        return Changes(get("mode_before"), get("mode_set"), get("clocks_file"), get("clocks_boot", ""))

    def _save(self) -> None:
        temporary = self._state_file.with_suffix(".new")
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(asdict(self.changes), file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._state_file)
        folder = os.open(self._state_dir, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name outlives a power loss only with its folder
        finally:
            os.close(folder)
