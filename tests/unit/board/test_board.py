"""The board as a whole on simulated Jetsons: identity, preflight, taking and giving back, violations."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from orinbench.v1.board_pb2 import BoardIdentity, GpuClient
from orinbench.v1.record_pb2 import Check, CheckResult, FailureClass, Violation
from orinbench_profiles.loader import load_hardware
from orinbenchd.board.board import Board, BoardRefusedError
from orinbenchd.board.gpu_clients import Family
from orinbenchd.board.rootfs import Absent, Root
from orinbenchd.sandbox import Isolation, Level

from tests.jetson_sim import events, helper
from tests.jetson_sim.boards import BOARDS
from tests.jetson_sim.builder import build
from tests.unit.board.kit import SANDBOX, board_on, by_name, owned, profile_of

PASSED, FAILED, UNKNOWN = (
    CheckResult.CHECK_RESULT_PASSED,
    CheckResult.CHECK_RESULT_FAILED,
    CheckResult.CHECK_RESULT_UNKNOWN,
)


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_every_simulated_board_matches_its_own_profile_and_no_other(tmp_path: Path, name: str) -> None:
    """The profile's conditions hold on its board, and on every other board at least one does not."""
    built = build(tmp_path / "root", name)
    profiles = {board.profile for board in BOARDS.values()}

    matching = {
        profile
        for profile in profiles
        if all(
            check.result == PASSED
            for check in Board(
                built.root,
                load_hardware(profile).declaration,
                helper_socket=None,
                data_dir=tmp_path,
                isolation=SANDBOX,
            ).profile_checks()
        )
    }

    assert matching == {built.board.profile}


def test_identity_of_an_agx_orin(tmp_path: Path) -> None:
    """Module, memory, cores, releases and versions come from the files that say so."""
    identity = board_on(build(tmp_path / "root", "agx-orin-32gb")).identity()

    assert identity.model == "NVIDIA Jetson AGX Orin Developer Kit"
    assert "nvidia,p3701-0004" in identity.compatible
    assert identity.memory_total_bytes == 31_433_556 * 1024
    assert (identity.cpu_count, identity.architecture) == (8, "aarch64")
    assert (identity.l4t_release, identity.jetpack_version) == ("36.4.7", "6.2.1")
    assert (identity.cuda_version, identity.cudnn_version) == ("12.6.11", "9.3.0.75-1")
    assert identity.tensorrt_version == "10.3.0.30-1+cuda12.5"
    assert list(identity.gpus) == ["17000000.gpu"]
    assert dict(identity.absent_reasons) == {}


def test_facts_beyond_the_identity_are_kept(tmp_path: Path) -> None:
    """GCID, compiler version, packages, mode, and how often competitors are looked for go with each run."""
    facts = board_on(build(tmp_path / "root", "agx-orin-32gb")).facts()

    assert facts["l4t_gcid"] == "42132812"
    assert facts["cuda_nvcc"] == "12.6.68"
    assert facts["power_mode"] == "MAXN"
    assert facts["competitor_poll_s"] == "2"
    assert facts["root"] == "simulated"


@pytest.mark.parametrize(
    ("line", "release", "says"),
    [
        (
            "# R36 (release), REVISION: 9.9, GCID: 1, BOARD: generic, EABI: aarch64, DATE: x",
            "36.9.9",
            "not in the table",
        ),
        ("vendor image 7", None, "not of the known form"),
    ],
)
def test_an_unknown_release_leaves_fields_absent_with_a_reason(
    tmp_path: Path, line: str, release: str | None, says: str
) -> None:
    """A release nobody knows: JetPack is absent, not guessed; everything else is still there."""
    built = build(tmp_path / "root", "agx-orin-32gb", options={"l4t_line": line})

    identity = board_on(built).identity()

    assert (identity.l4t_release if identity.HasField("l4t_release") else None) == release
    assert not identity.HasField("jetpack_version")
    assert says in identity.absent_reasons["jetpack_version"]
    assert identity.cpu_count == 8


def test_an_unknown_release_is_no_refusal_but_voids_the_run(tmp_path: Path) -> None:
    """What cannot be read can neither match nor be another: the run goes on and is marked PROFILE_MISMATCH."""
    built = build(tmp_path / "root", "agx-orin-32gb", options={"l4t_line": "vendor image 7"})

    async def run(board: Board) -> tuple[list[Check], list[Violation]]:
        found = await board.acquire()
        await board.release()
        return found, board.start_violations(found)

    with owned(built) as board:
        found, violations = asyncio.run(run(board))

    assert by_name(found)["profile.l4t_release"].result == UNKNOWN
    mismatch = next(made for made in violations if made.reason == "PROFILE_MISMATCH")
    assert "profile.l4t_release" in mismatch.message
    assert len(mismatch.voids) == 4


@pytest.mark.parametrize(
    ("level", "floor", "official", "result", "violated"),
    [
        ("none", "network", True, FAILED, True),
        ("network", "sandbox", True, FAILED, True),
        ("network", "network", True, PASSED, False),
        ("sandbox", "network", True, PASSED, False),
        ("none", "network", False, UNKNOWN, True),
    ],
)
def test_isolation_under_the_floor_refuses_an_official_run_and_marks_any_other(
    tmp_path: Path, level: Level, floor: Level, official: bool, result: CheckResult, violated: bool
) -> None:
    """The check says what is in force and why it is no more; below the floor a run that is not refused is marked."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    profile = profile_of(built, isolation_floor=floor, official=official)
    isolation = Isolation(level, "bwrap is not installed")
    board = Board(built.root, profile, helper_socket=None, data_dir=built.root, isolation=isolation)

    checks = asyncio.run(board.preflight())

    found = by_name(checks)["isolation"]
    assert (found.expected, found.found, found.result) == (f"at least {floor}", level, result)
    assert found.hint == ("" if result == PASSED else "bwrap is not installed")
    reasons = {made.reason: list(made.voids) for made in board.start_violations(checks)}
    assert ("ISOLATION_LOW" in reasons) == violated
    assert not violated or len(reasons["ISOLATION_LOW"]) == 4


def test_every_file_may_be_missing_or_senseless(tmp_path: Path) -> None:
    """An empty root and a root of nonsense: identity and preflight answer, with a reason for every field."""
    fields = {f.name for f in BoardIdentity.DESCRIPTOR.fields} - {"absent_reasons"}
    (tmp_path / "empty").mkdir()
    nonsense = build(tmp_path / "nonsense", "agx-orin-32gb")
    for path in list(nonsense.root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            path.write_bytes(b"\xff\x00 nonsense\n" * 3)
    profile = profile_of(nonsense)
    for root in (tmp_path / "empty", nonsense.root):
        board = Board(root, profile, helper_socket=None, data_dir=tmp_path, isolation=SANDBOX)
        identity, checks = board.identity(), asyncio.run(board.preflight())
        for name in ("l4t_release", "jetpack_version", "cuda_version", "tensorrt_version", "memory_total_bytes"):
            assert not identity.HasField(name)
            assert identity.absent_reasons[name]
        assert set(identity.absent_reasons) <= fields
        assert any(check.result == FAILED for check in checks)


def test_a_folder_in_place_of_a_file_is_unreadable_not_fatal(tmp_path: Path) -> None:
    """Where the kernel answers with an error the field says unreadable."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    events.remove(built, path="/proc/meminfo")
    built.path("/proc/meminfo").mkdir()

    identity = board_on(built).identity()

    assert "unreadable" in identity.absent_reasons["memory_total_bytes"]


def test_this_machine_is_a_board_too(tmp_path: Path) -> None:
    """On any Linux under the development profile: identity from /proc, nothing refused, the run marked."""
    board = Board(
        Path("/"), load_hardware("cpu-dev").declaration, helper_socket=None, data_dir=tmp_path, isolation=SANDBOX
    )
    identity = board.identity()

    assert identity.memory_total_bytes > 0
    assert identity.kernel_release == os.uname().release
    assert identity.boot_id
    assert "l4t_release" in identity.absent_reasons
    found = asyncio.run(board.acquire())
    assert [check.name for check in found] == ["disk_free"]
    assert [made.reason for made in board.start_violations(found)] == ["DEVELOPMENT_PROFILE"]
    assert not board.simulated


def test_a_fit_board_is_switched_to_the_top_mode_and_back(tmp_path: Path) -> None:
    """From MODE_50W: the checks pass and say what will be done; MAXN during the run; MODE_50W after it."""
    built = build(tmp_path / "root", "agx-orin-32gb", mode="MODE_50W")

    async def run(board: Board) -> list[Check]:
        found = await board.acquire()
        assert built.mode() == board.power_mode() == "MAXN"
        await board.release()
        await board.release()
        return found

    with owned(built) as board:
        mode = by_name(asyncio.run(run(board)))["power_mode"]

    assert (mode.result, mode.expected, mode.found) == (PASSED, "MAXN", "MODE_50W")
    assert "helper" in mode.hint
    assert built.mode() == "MODE_50W"


def test_clocks_are_locked_when_the_profile_says_so(tmp_path: Path) -> None:
    """Minimum equals maximum during the run; the old minimum comes back."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    low = built.path("/sys/class/devfreq/17000000.gpu/min_freq")

    async def run(board: Board) -> None:
        await board.acquire()
        assert low.read_text() == "1300500000\n"
        await board.release()

    with owned(built, lock_clocks=True) as board:
        asyncio.run(run(board))

    assert low.read_text() == "306000000\n"


@pytest.mark.parametrize("question", ["by-settings", "always"])
def test_a_mode_that_needs_a_reboot_refuses_the_run(tmp_path: Path, question: str) -> None:
    """Whether it can be foreseen from the configuration or nvpmodel asks: refused as board, "reboot needed" named."""
    mode = "MODE_30W" if question == "by-settings" else "MODE_50W"
    built = build(tmp_path / "root", "agx-orin-32gb", mode=mode, options={"reboot_question": question})

    with owned(built) as board, pytest.raises(BoardRefusedError) as refused:
        asyncio.run(board.acquire())

    failure = refused.value.failure
    assert failure.failure_class == FailureClass.FAILURE_CLASS_BOARD
    assert failure.reason == "PREFLIGHT_FAILED"
    assert "reboot needed" in failure.message
    assert by_name(list(failure.checks))["power_mode"].found == mode
    assert by_name(list(failure.checks))["disk_free"].result == PASSED
    assert built.mode() == mode
    assert not built.path("/sim/rebooted").exists()


def test_without_a_helper_a_wrong_mode_is_refused_and_says_what_to_type(tmp_path: Path) -> None:
    """No helper configured: the hint is the command that sets the mode by hand."""
    built = build(tmp_path / "root", "agx-orin-32gb", mode="MODE_50W")

    check = by_name(asyncio.run(board_on(built).preflight()))["power_mode"]

    assert check.result == FAILED
    assert "sudo nvpmodel -m 0" in check.hint


def test_without_a_helper_a_board_in_its_mode_runs(tmp_path: Path) -> None:
    """Nothing has to be changed, so nothing is asked of the helper that is not there."""
    built = build(tmp_path / "root", "agx-orin-32gb")

    asyncio.run(board_on(built).acquire())

    assert not [call for call in built.calls() if call.startswith("nvpmodel")]


def test_a_helper_that_is_down_does_not_matter_where_nothing_has_to_be_changed(tmp_path: Path) -> None:
    """In its mode already, and on a profile that does not insist on knowing all GPU clients: the run goes on."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    board = board_on(built, tmp_path / "no.sock", official=False)

    found = by_name(asyncio.run(board.acquire()))

    assert found["power_mode"].result == PASSED
    assert found["gpu_clients"].result == UNKNOWN


@pytest.mark.parametrize("mode", ["MAXN", "MODE_50W"])
def test_two_daemons_cannot_have_one_board(tmp_path: Path, mode: str) -> None:
    """While one holds it the other is refused with the first one's pid, whatever the mode; then it gets it."""
    built = build(tmp_path / "root", "agx-orin-32gb", mode=mode)

    async def run(socket: Path) -> str:
        first, second = board_on(built, socket), board_on(built, socket)
        await first.acquire()
        with pytest.raises(BoardRefusedError) as refused:
            await second.acquire()
        assert built.mode() == "MAXN"
        await first.release()
        await second.acquire()
        await second.release()
        return refused.value.failure.message

    with helper.running(built.root) as power:
        message = asyncio.run(run(power.socket))

    assert f"another daemon (pid {os.getpid()}) controls the board" in message
    assert built.mode() == mode


@pytest.mark.parametrize("nvmap", [True, False])
def test_somebody_on_the_gpu_refuses_the_run_by_name(tmp_path: Path, nvmap: bool) -> None:
    """Xorg counts, whether the nvmap table shows it or only its open nodes: class policy, name and pid said."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    events.gpu_client(built, name="Xorg", pid=4711, nvmap=nvmap)

    with owned(built) as board, pytest.raises(BoardRefusedError) as refused:
        asyncio.run(board.acquire())

    assert refused.value.failure.failure_class == FailureClass.FAILURE_CLASS_POLICY
    assert refused.value.failure.reason == "GPU_IN_USE"
    assert "Xorg (pid 4711" in refused.value.failure.message


def test_our_own_worker_is_no_competitor(tmp_path: Path) -> None:
    """A process that descends from the daemon may hold the GPU."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    events.gpu_client(built, name="python3", pid=5000)
    events.process_stat(built, name="python3", pid=5000, parent=4999)
    events.process_stat(built, name="bwrap (x)", pid=4999, parent=os.getpid())

    with owned(built) as board:
        assert asyncio.run(board.competitors()) == []
        everybody = asyncio.run(board.gpu_clients())

    assert not isinstance(everybody, Absent)
    assert [client.pid for client in everybody] == [5000]


def test_a_worker_that_has_ended_is_still_no_competitor(tmp_path: Path) -> None:
    """Its row may outlive it; a stranger that is gone, and one that got the worker's pid, stay strangers."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    events.gpu_client(built, name="python3", pid=5000)
    events.process_stat(built, name="python3", pid=5000, parent=os.getpid(), began=77)
    events.gpu_client(built, name="Xorg", pid=4711)

    with owned(built) as board:

        def others() -> list[int]:
            clients = asyncio.run(board.competitors())
            assert not isinstance(clients, Absent)
            return [client.pid for client in clients]

        assert others() == [4711]
        for pid in (5000, 4711):
            shutil.rmtree(built.path(f"/proc/{pid}"))
        assert others() == [4711]
        events.process_stat(built, name="steam", pid=5000, began=99)
        assert others() == [4711, 5000]


def test_a_worker_that_ends_between_the_list_and_the_look_is_ours() -> None:
    """Real processes: seen before the list was made, gone and reaped when its names are looked at, an orphan too."""
    family = Family(Root(Path("/")), os.getpid())
    script = "import subprocess; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"
    worker = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert worker.stdout is not None
    with worker.stdout as out:
        orphan = int(out.readline())
    listed = [GpuClient(pid=pid, name="python3", source="nvmap") for pid in (worker.pid, orphan, os.getpid(), 1)]

    family.look()
    worker.kill()
    worker.wait()

    try:
        assert [client.pid for client in family.strangers(listed)] == [1]
    finally:
        os.kill(orphan, signal.SIGKILL)


def test_the_poll_tells_our_own_rows_from_others(tmp_path: Path) -> None:
    """Each look for competitors hands on what the worker's process tree holds in the nvmap table, in bytes."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    events.gpu_client(built, name="python3", pid=5000, kb=2048)
    events.process_stat(built, name="python3", pid=5000, parent=os.getpid())
    events.gpu_client(built, name="Xorg", pid=4711, kb=43_008)
    own: list[list[tuple[int, int]]] = []

    async def first(board: Board) -> Violation:
        stream = board.watch(lambda: None, lambda rows: own.append([(row.pid, row.memory_bytes) for row in rows]))
        return await stream.__anext__()

    with owned(built) as board:
        assert asyncio.run(first(board)).reason == "COMPETITOR"

    assert own == [[(5000, 2 << 20)]]


def test_not_to_know_who_uses_the_gpu_is_a_refusal_on_an_official_profile(tmp_path: Path) -> None:
    """A helper that does not answer: an official profile refuses, one for trying only says unknown."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    gone = tmp_path / "no.sock"

    strict = by_name(asyncio.run(board_on(built, gone).preflight()))["gpu_clients"]
    loose = by_name(asyncio.run(board_on(built, gone, official=False).preflight()))["gpu_clients"]

    assert (strict.result, loose.result) == (FAILED, UNKNOWN)
    assert "does not answer" in strict.found


def test_all_that_is_wrong_is_reported_at_once(tmp_path: Path) -> None:
    """Mode, competitor, heat, disk, GPU node: each named, with what was expected and found; the class is board."""
    built = build(tmp_path / "root", "agx-orin-32gb", mode="MODE_30W")
    events.gpu_client(built, name="Xorg", pid=4711)
    events.temperature(built, zone="tj-thermal", degrees_c=97)
    for node in ("/dev/nvgpu/igpu0/ctrl", "/dev/nvhost-ctrl-gpu"):
        events.remove(built, path=node)

    with owned(built, free_disk_gib=1e9, free_memory_gib=1e6) as board, pytest.raises(BoardRefusedError) as refused:
        asyncio.run(board.acquire())

    failed = [check.name for check in refused.value.failure.checks if check.result == FAILED]
    assert failed == ["power_mode", "gpu_node", "gpu_clients", "temperature", "disk_free", "memory_free"]
    assert refused.value.failure.failure_class == FailureClass.FAILURE_CLASS_BOARD
    assert all(check.hint for check in refused.value.failure.checks if check.result == FAILED)


def test_unreadable_rails_cost_energy_not_the_run(tmp_path: Path) -> None:
    """Module power that cannot be read is unknown, not failed."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    events.remove(built, path="/sys/bus/i2c/drivers/ina3221/1-0040")

    check = by_name(asyncio.run(board_on(built).preflight()))["module_power"]

    assert check.result == UNKNOWN
    assert "VDD_GPU_SOC" in check.found
