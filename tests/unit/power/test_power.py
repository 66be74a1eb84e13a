"""The root helper, as a real process on a simulated board: what it changes, and that it puts it back."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.jetson_sim import events
from tests.jetson_sim.builder import SimulatedBoard, build
from tests.jetson_sim.helper import ENVIRONMENT, Client, Helper, ask_as, running

#: Becomes the helper with a socket as descriptor 3, the way systemd does it.
AS_SYSTEMD = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3);"
    "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
    "os.execv(sys.executable, [sys.executable, '-m', 'orinbench_power', *sys.argv[2:]])"
)


@pytest.fixture
def board(tmp_path: Path) -> SimulatedBoard:
    """A board in a mode from which the top one is reached without a reboot."""
    return build(tmp_path / "root", "agx-orin-32gb", mode="MODE_50W")


@pytest.fixture
def helper(board: SimulatedBoard) -> Iterator[Helper]:
    """The helper on that board."""
    with running(board.root) as started:
        yield started


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does; fail after ten seconds."""
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end, f"did not happen: {what}"
        time.sleep(0.01)


def test_status_names_the_mode_in_force_and_the_top_mode(helper: Helper) -> None:
    """`status` reads nvpmodel's answer past its warning, finds the top mode by name, and changes nothing."""
    answer = helper.ask("status")

    assert answer["mode"] == {"id": 4, "name": "MODE_50W"}
    assert answer["top"] == {"id": 0, "name": "MAXN"}
    assert answer["changed"] is False
    assert answer["controller"] is None


def test_top_mode_is_found_by_name_not_by_id(tmp_path: Path) -> None:
    """On a board whose top mode has id 2, mode 2 is set."""
    board = build(tmp_path / "root", "orin-nano-8gb-super", mode="15W")
    with running(board.root) as helper, Client(helper.socket) as client:
        assert client.ask("set-top-mode")["mode"] == {"id": 2, "name": "MAXN_SUPER"}
        assert board.mode() == "MAXN_SUPER"


def test_hanging_up_puts_the_mode_back(board: SimulatedBoard, helper: Helper) -> None:
    """The connection is the lease: when it closes, the mode is the one from before."""
    with Client(helper.socket) as client:
        assert client.ask("set-top-mode")["ok"] is True
        assert board.mode() == "MAXN"

    until(lambda: board.mode() == "MODE_50W", "the mode is put back")


def test_a_killed_daemon_loses_its_lease(board: SimulatedBoard, helper: Helper) -> None:
    """A controlling process that is killed without warning leaves no trace on the board."""
    program = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        's.sendall(b\'{"verb": "set-top-mode"}\\n\'); print(s.recv(999), flush=True); s.recv(1)'
    )
    daemon = subprocess.Popen([sys.executable, "-c", program, str(helper.socket)], stdout=subprocess.PIPE)
    assert daemon.stdout is not None
    with daemon.stdout as out:
        assert b'"ok": true' in out.readline()
    assert board.mode() == "MAXN"

    daemon.send_signal(signal.SIGKILL)
    daemon.wait()

    until(lambda: board.mode() == "MODE_50W", "the mode is put back")


def test_a_killed_helper_puts_back_when_it_starts_again(board: SimulatedBoard, helper: Helper) -> None:
    """What was changed stands on disk, so a helper killed in mid-run restores mode and clocks at its start."""
    limits = board.path("/sys/class/devfreq/17000000.gpu/min_freq").read_text()
    with Client(helper.socket) as client:
        client.ask("set-top-mode")
        assert client.ask("lock-clocks")["ok"] is True
        assert board.path("/sys/class/devfreq/17000000.gpu/min_freq").read_text() == "1300500000\n"

        helper.restart()

        assert board.mode() == "MODE_50W"
        assert board.path("/sys/class/devfreq/17000000.gpu/min_freq").read_text() == limits


def test_after_a_power_loss_the_mode_is_put_back_and_the_clocks_are_left_alone(
    board: SimulatedBoard, helper: Helper
) -> None:
    """nvpmodel brings back the mode we set, a boot frees the clocks: only what outlived it is put back."""
    low = board.path("/sys/class/devfreq/17000000.gpu/min_freq")
    limits = low.read_text()
    with Client(helper.socket) as client:
        client.ask("set-top-mode")
        assert client.ask("lock-clocks")["ok"] is True
        helper.process.kill()
        helper.process.wait()

        events.write_file(board, path="/proc/sys/kernel/random/boot_id", text="7d0e1f00-0000-4000-8000-000000000000\n")
        low.write_text(limits)
        helper.restart()

    assert board.mode() == "MODE_50W"
    assert not [call for call in board.calls() if "--restore" in call]
    assert helper.ask("status")["changed"] is False
    assert [path.name for path in helper.state.iterdir()] == ["changes.json"]


def test_clocks_that_cannot_be_restored_do_not_keep_the_mode(board: SimulatedBoard, helper: Helper) -> None:
    """Each is put back as far as it can be; the answer names what failed, which stays noted."""
    with Client(helper.socket) as client:
        client.ask("set-top-mode")
        client.ask("lock-clocks")
        for stored in helper.state.glob("clocks-*"):
            stored.unlink()

        answer = client.ask("restore")

        assert (answer["ok"], answer["code"]) == (False, "failed")
        assert "jetson_clocks --restore" in answer["message"]
        assert board.mode() == "MODE_50W"
        assert client.ask("status")["changed"] is True


def test_a_stopped_helper_puts_back_before_it_ends(board: SimulatedBoard, helper: Helper) -> None:
    """SIGTERM restores, then ends with 0."""
    with Client(helper.socket) as client:
        client.ask("set-top-mode")

        assert helper.stop() == 0
        assert board.mode() == "MODE_50W"


def test_locked_clocks_are_stored_to_a_fresh_file_each_time(board: SimulatedBoard, helper: Helper) -> None:
    """Locking twice never asks jetson_clocks to overwrite, and restoring gives the old limits back."""
    low = board.path("/sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq")
    before = low.read_text()
    for _ in range(2):
        with Client(helper.socket) as client:
            assert client.ask("lock-clocks")["ok"] is True
            assert low.read_text() != before
            assert client.ask("restore")["ok"] is True
            assert low.read_text() == before

    stores = [call.split()[-1] for call in board.calls() if "--store" in call]
    assert len(set(stores)) == 2
    assert not any(Path(path).exists() for path in stores)


@pytest.mark.parametrize("mode", ["MODE_30W", "MODE_15W"])
def test_the_reboot_question_is_reported_and_never_answered(tmp_path: Path, mode: str) -> None:
    """A change that needs a reboot is refused as such, with standard input closed, and nothing is changed."""
    board = build(tmp_path / "root", "agx-orin-32gb", mode=mode)
    with running(board.root) as helper:
        answer = helper.ask("set-top-mode")

        assert (answer["ok"], answer["code"]) == (False, "reboot-needed")
        assert "reboot needed" in answer["message"]
        assert board.mode() == mode
        assert not board.path("/sim/rebooted").exists()
        assert helper.ask("status")["changed"] is False


def test_a_board_in_its_top_mode_is_left_alone(tmp_path: Path) -> None:
    """nvpmodel may ask for a reboot even for the active mode, so it is not called with -m then."""
    board = build(tmp_path / "root", "agx-orin-32gb", options={"reboot_question": "always"})
    with running(board.root) as helper:
        assert helper.ask("set-top-mode")["mode"]["name"] == "MAXN"

    assert not [call for call in board.calls() if " -m " in call]


def test_a_mode_set_by_hand_meanwhile_is_not_overruled(board: SimulatedBoard, helper: Helper) -> None:
    """Only what is still as we left it is put back."""
    with Client(helper.socket) as client:
        client.ask("set-top-mode")
        events.set_mode(board, mode="MODE_40W")

    until(lambda: helper.ask("status")["changed"] is False, "the lease ends")
    assert board.mode() == "MODE_40W"
    assert "somebody set it to MODE_40W" in helper.log.read_text()


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (b'{"verb": "reboot"}\n', "unknown-verb"),
        (b'{"verb": "set-top-mode", "mode": 3}\n', "bad-request"),
        (b'{"verb": ["status"]}\n', "unknown-verb"),
        (b'{"Verb": "status"}\n', "bad-request"),
        (b"set-top-mode\n", "bad-request"),
        (b"\x00\xff\xfe\n", "bad-request"),
        (b"[]\n", "bad-request"),
        (b"\n", "bad-request"),
        (b'{"verb": "set-top-mode"' + b" " * 200 + b"}\n", "bad-request"),
        (b"x" * 100_000, "bad-request"),
    ],
)
def test_what_is_no_verb_is_refused_logged_and_changes_nothing(
    board: SimulatedBoard, helper: Helper, request_bytes: bytes, code: str
) -> None:
    """A wrong verb, a parameter, an oversized or senseless message: one refusal, the end, and no program run."""
    with Client(helper.socket) as client:
        client.send(request_bytes)
        answer = json.loads(client.line())

        assert (answer["ok"], answer["code"]) == (False, code)
        assert client.line() == b""
    assert board.calls() == []
    assert f": {code}: " in helper.log.read_text()
    assert helper.ask("status")["ok"] is True


def test_an_unfinished_request_is_refused(helper: Helper, board: SimulatedBoard) -> None:
    """A client that hangs up in the middle of a line has asked nothing."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(helper.socket))
        raw.sendall(b'{"verb": "set-top-mode"}')
        raw.shutdown(socket.SHUT_WR)

        assert b"bad-request" in raw.recv(999)
    assert board.calls() == []


def test_a_second_daemon_is_refused_while_one_controls(board: SimulatedBoard, helper: Helper) -> None:
    """The board has one master: the second is told its pid, may look, and may not change or restore."""
    with Client(helper.socket) as first, Client(helper.socket) as second:
        assert first.ask("set-top-mode")["ok"] is True

        assert second.ask("status")["controller"] == os.getpid()
        answer = second.ask("set-top-mode")
        assert (answer["ok"], answer["code"]) == (False, "busy")
        assert str(os.getpid()) in answer["message"]
        assert board.mode() == "MAXN"
        for verb in ("lock-clocks", "restore"):
            with Client(helper.socket) as third:
                assert third.ask(verb)["code"] == "busy"
        assert board.mode() == "MAXN"


@pytest.mark.root
def test_only_members_of_the_group_are_heard(board: SimulatedBoard) -> None:
    """The kernel's word on the peer decides, whatever the mode of the socket file: outside the group nothing runs."""
    group, nobody = 54_321, 65_534
    with running(board.root, group) as helper:
        helper.socket.parent.chmod(0o755)
        helper.socket.chmod(0o666)

        outside = ask_as(helper.socket, "set-top-mode", nobody, [])
        assert (outside["ok"], outside["code"]) == (False, "forbidden")
        assert board.calls() == []
        assert "uid 65534): forbidden" in helper.log.read_text()

        inside = ask_as(helper.socket, "status", nobody, [group])
        assert inside["mode"]["name"] == "MODE_50W"


@pytest.mark.root
def test_the_socket_is_closed_to_others(board: SimulatedBoard) -> None:
    """The socket file is 0660 root:group."""
    with running(board.root, 54_321) as helper:
        status = helper.socket.stat()

        assert (status.st_mode & 0o777, status.st_uid, status.st_gid) == (0o660, 0, 54_321)


def test_tegrastats_is_streamed_and_ended_by_signal(board: SimulatedBoard, helper: Helper) -> None:
    """Lines come until we hang up; then the process is gone, and `--stop`, which ends everybody's, was not used."""
    with Client(helper.socket) as client:
        client.send(b'{"verb": "tegrastats"}\n')
        assert b" RAM " in client.line()
        assert b"GR3D_FREQ" in client.line()
        (pid,) = [int(path.name) for path in board.path("/sim/tegrastats").iterdir()]

    until(lambda: not Path(f"/proc/{pid}").exists(), "tegrastats ends")
    assert board.calls() == ["tegrastats --interval 500"]


def test_a_tegrastats_that_ends_says_so(tmp_path: Path) -> None:
    """When the program dies, the stream ends with a line that is no line of tegrastats."""
    board = build(tmp_path / "root", "agx-orin-32gb", options={"tegrastats_dies_after": 1})
    with running(board.root) as helper, Client(helper.socket) as client:
        client.send(b'{"verb": "tegrastats"}\n')

        assert b" RAM " in client.line()
        assert json.loads(client.line())["code"] == "ended"


def test_gpu_clients_are_told_raw(board: SimulatedBoard, helper: Helper) -> None:
    """The nvmap table is passed on as it stands, with the processes that hold a GPU node open."""
    events.gpu_client(board, name="Xorg", pid=4711)

    answer = helper.ask("gpu-clients")

    assert "Xorg" in answer["nvmap"]
    assert answer["holders"] == [{"pid": 4711, "name": "Xorg"}]


def test_a_board_without_a_top_mode_is_refused(board: SimulatedBoard, helper: Helper) -> None:
    """No MAXN in nvpmodel.conf: said so, nothing called with -m."""
    conf = board.path("/etc/nvpmodel/nvpmodel_simulated.conf")
    conf.write_text(conf.read_text().replace("MAXN", "MODE_TOP"))

    assert helper.ask("set-top-mode")["code"] == "no-top-mode"
    assert not [call for call in board.calls() if " -m " in call]


def test_missing_programs_are_an_answer_not_a_crash(board: SimulatedBoard, helper: Helper) -> None:
    """A board without nvpmodel: the verb fails with the reason, the helper lives."""
    events.remove(board, path="/usr/sbin/nvpmodel")

    answer = helper.ask("set-top-mode")

    assert answer["code"] == "failed"
    assert "/usr/sbin/nvpmodel cannot be started" in answer["message"]
    assert helper.ask("gpu-clients")["ok"] is True


def test_it_serves_the_socket_systemd_passes(board: SimulatedBoard, tmp_path: Path) -> None:
    """With LISTEN_FDS it takes descriptor 3, notes changes where the unit says, and leaves the file to systemd."""
    path, state = tmp_path / "s", tmp_path / "state"
    unit = (Path(__file__).parents[3] / "systemd/orinbench-power.service").read_text().splitlines()
    assert "StateDirectory=orinbench-power" in unit  # below /var/lib: what is in /run is gone when the power was
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        arguments = ["--root", str(board.root), "--group", str(os.getgid())]
        process = subprocess.Popen(
            [sys.executable, "-c", AS_SYSTEMD, str(listener.fileno()), *arguments],
            pass_fds=[listener.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**ENVIRONMENT, "STATE_DIRECTORY": str(state)},
        )
    try:
        with Client(path) as client:
            assert client.ask("set-top-mode")["before"]["name"] == "MODE_50W"
            assert (state / "changes.json").exists()
    finally:
        process.terminate()
        assert process.wait(30) == 0
    assert path.is_socket()  # systemd listens on, and starts the helper with the next connection


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--socket", "x.sock", "--group", "no-such-group"], "there is no group no-such-group"),
        (["--group", "0"], "no socket"),
        (["--socket", "/no/such/folder/x.sock", "--group", "0"], "cannot start"),
    ],
)
def test_a_wrong_start_is_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], says: str) -> None:
    """What stands in the way is said in one line; the exit code tells systemd not to try again."""
    ended = subprocess.run(
        [sys.executable, "-m", "orinbench_power", *arguments, "--state-dir", str(tmp_path / "state")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=ENVIRONMENT,
        timeout=30,
    )

    assert ended.returncode == 2
    assert says in ended.stderr
    assert ended.stderr.count("\n") == 1
