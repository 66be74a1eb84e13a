"""The installer and the units: the plan on a simulated root, a real install below one, what systemd says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from orinbenchd.sandbox import Hidden, Isolation, Sandbox, View

from tests.jetson_sim.builder import build

REPOSITORY = Path(__file__).parents[2]
UNITS = ("orinbenchd.service", "orinbench-power.service", "orinbench-power.socket")


def script(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Only our own package is installed: what it needs is the package index's matter.
    environment = {**os.environ, "PIP_NO_DEPS": "1"}
    return subprocess.run(
        [REPOSITORY / "scripts" / name, *arguments], capture_output=True, text=True, env=environment, timeout=110
    )


def tree(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def plan(ended: subprocess.CompletedProcess[str]) -> list[str]:
    """The actions alone: neither checks nor the content of files."""
    return [line for line in ended.stdout.splitlines() if line.startswith(("do ", "write ", "keep "))]


@pytest.mark.tool("systemctl")
def test_a_dry_run_prints_the_exact_plan_and_changes_nothing(tmp_path: Path) -> None:
    """Every file with its content and every command, in order; the board's folder is as it was."""
    root = build(tmp_path / "root", "agx-orin-32gb").root
    before = tree(root)

    ended = script("install-jetson", "--dry-run", "--exclusive", "--root", str(root))

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert tree(root) == before
    at, here, source = root, REPOSITORY, root / "opt/orinbench/source"
    parts = ("pyproject.toml", "README.md", "LICENSE", "client", "daemon", "engines", "profiles", "proto")
    pip = "-I -m pip install --quiet --disable-pip-version-check --upgrade --constraint"
    assert plan(ended) == [
        f"write  {at}/etc/sysusers.d/orinbench.conf",
        f"do     systemd-sysusers --root={at} orinbench.conf",
        f"write  {at}/etc/tmpfiles.d/orinbench.conf",
        f"do     systemd-tmpfiles --create --root={at} orinbench.conf",
        f"do     /usr/bin/python3 -m venv --system-site-packages {at}/opt/orinbench",
        f"do     rm -rf {source}",
        f"do     mkdir {source}",
        f"do     cp -r {' '.join(str(here / part) for part in parts)} {source}",
        f"write  {at}/opt/orinbench/constraints.txt",
        f"do     {at}/opt/orinbench/bin/python {pip} {at}/opt/orinbench/constraints.txt {source}[daemon,prepare]",
        f"do     rm -rf {source}",
        f"write  {at}/etc/orinbench/orinbenchd.toml",
        f"write  {at}/etc/systemd/system/orinbenchd.service",
        f"write  {at}/etc/systemd/system/orinbench-power.socket",
        f"write  {at}/etc/systemd/system/orinbench-power.service",
        f"write  {at}/etc/systemd/system/orinbenchd.service.d/devices.conf",
        f"write  {at}/etc/udev/rules.d/99-zz-orinbench-exclusive.rules",
        f"do     systemctl --root={at} enable orinbench-power.socket orinbenchd.service",
    ]
    assert '       | profile = "agx-orin-32gb-maxn"' in ended.stdout
    constraints = subprocess.run(
        ["/usr/bin/python3", "-I", REPOSITORY / "scripts/vendor-constraints"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "numpy" in constraints.stdout
    assert "".join(f"       | {line}\n" for line in constraints.stdout.splitlines()) in ended.stdout
    allowed = [line.split("=")[1] for line in ended.stdout.splitlines() if "| DeviceAllow=" in line]
    assert "/dev/nvmap rw" in allowed
    assert "/dev/dri/renderD128 rw" in allowed
    assert all((root / line.split()[0].lstrip("/")).exists() for line in allowed)


@pytest.mark.tool("systemctl")
def test_an_update_takes_away_the_rules_that_had_no_effect(tmp_path: Path) -> None:
    """Who had asked for `--exclusive` has it still, by rules that work, and the old file goes."""
    root = build(tmp_path / "root", "agx-orin-32gb").root
    old = root / "etc/udev/rules.d/99-orinbench-exclusive.rules"
    old.parent.mkdir(parents=True)
    old.touch()

    steps = plan(script("install-jetson", "--dry-run", "--root", str(root)))

    assert f"do     rm {old}" in steps
    assert f"write  {root}/etc/udev/rules.d/99-zz-orinbench-exclusive.rules" in steps
    assert f"do     rm -r {old}" in plan(script("uninstall-jetson", "--dry-run", "--root", str(root)))


#: In our words what NVIDIA's file does on JetPack 6: user nodes to `video`; what debugs or profiles stays root's.
VENDOR_RULES = """
SUBSYSTEM=="nvidia-gpu-v2", KERNEL=="as|channel|ctrl|tsg", GROUP="video", MODE="0660"
SUBSYSTEM=="nvidia-gpu", KERNEL=="nvhost-*", GROUP="video", MODE="0660"
SUBSYSTEM=="nvidia-gpu-v2-power", KERNEL=="power", GROUP="video", MODE="0660"
KERNEL=="nvmap", GROUP="video", MODE="0660"
"""


def group_of(rules: dict[str, str], subsystem: str, kernel: str) -> str:
    """Apply udev rules as udev(7) says: files by name, a later assignment over an earlier one, `|` between globs."""
    device, group = {"SUBSYSTEM": subsystem, "KERNEL": kernel}, "root"
    for line in "\n".join(rules[name] for name in sorted(rules)).splitlines():
        parts = re.findall(r'(\w+)(==|=)"([^"]*)"', "" if line.startswith("#") else line)
        conditions = [(device[key], value) for key, operator, value in parts if operator == "=="]
        if all(any(fnmatchcase(has, glob) for glob in value.split("|")) for has, value in conditions):
            group = next((value for key, operator, value in parts if (key, operator) == ("GROUP", "=")), group)
    return group


def test_exclusive_rules_have_the_last_word_on_the_nodes_of_users_alone() -> None:
    """Beside NVIDIA's rules each node that work goes through is orinbench's; others stay as they are."""
    rules = {path.name: path.read_text() for path in (REPOSITORY / "systemd/udev").iterdir()}
    rules["99-tegra-devices.rules"] = VENDOR_RULES
    rules["50-udev-default.rules"] = 'SUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="render", MODE="0666"'
    ours = [("nvidia-gpu-v2", name) for name in ("as", "channel", "ctrl", "tsg")]
    ours += [("nvidia-gpu", name) for name in ("nvhost-gpu", "nvhost-as-gpu", "nvhost-ctrl-gpu", "nvhost-tsg-gpu")]
    ours += [("misc", "nvmap"), ("drm", "renderD128")]

    assert {group_of(rules, *node) for node in ours} == {"orinbench"}
    others = [
        ("nvidia-gpu-v2", "dbg"),
        ("nvidia-gpu-v2-power", "power"),
        ("drm", "card0"),
        ("nvidia-gpu", "nvhost-dbg-gpu"),
    ]
    assert [group_of(rules, *node) for node in others] == ["root", "video", "root", "video"]


@pytest.mark.tool("systemctl")
def test_a_machine_that_is_no_jetson_is_refused_before_any_change(tmp_path: Path) -> None:
    """All failed checks are named at once, exit code 1, nothing written."""
    (tmp_path / "root").mkdir()

    ended = script("install-jetson", "--dry-run", "--root", str(tmp_path / "root"))

    assert ended.returncode == 1
    for name in ("board", "profile", "l4t", "gpu-nodes"):
        assert f"check  {name}: FAILED" in ended.stdout
    assert plan(ended) == []
    assert tree(tmp_path / "root") == set()


@pytest.mark.parametrize("name", ["install-jetson", "uninstall-jetson"])
def test_an_unknown_option_shows_how_to_use_it(name: str) -> None:
    """Exit code 2 and the usage on standard error."""
    ended = script(name, "--frobnicate")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"sudo scripts/{name}" in ended.stderr


@pytest.mark.root
@pytest.mark.tool("systemd-sysusers")
@pytest.mark.tool("/usr/bin/python3")
# The environment is filled from a package index, twice.
@pytest.mark.timeout(300)
def test_installing_twice_and_removing_leaves_nothing_but_data(tmp_path: Path) -> None:
    """A real install below a root: programs that start, a second run that writes nothing, a clean removal."""
    root = build(tmp_path / "root", "agx-orin-64gb").root
    for name in ("passwd", "group", "shadow", "gshadow"):
        (root / "etc" / name).write_text("")
    before = tree(root)

    first = script("install-jetson", "--exclusive", "--root", str(root))
    assert first.returncode == 0, first.stdout + first.stderr
    version = subprocess.run(
        [root / "opt/orinbench/bin/orinbench-power", "--help"], capture_output=True, text=True, timeout=60
    )
    assert version.returncode == 0
    assert "numpy" in (root / "opt/orinbench/constraints.txt").read_text()
    config = root / "etc/orinbench/orinbenchd.toml"
    assert 'profile = "agx-orin-64gb-maxn"' in config.read_text()
    assert oct(config.stat().st_mode & 0o777) == "0o640"
    config.write_text(config.read_text() + "# mine\n")

    second = script("install-jetson", "--exclusive", "--root", str(root))
    assert second.returncode == 0, second.stdout + second.stderr
    assert not [line for line in plan(second) if line.startswith("write")]
    assert config.read_text().endswith("# mine\n")

    (root / "var/lib/orinbench/journal.sqlite").write_text("results")
    for path in ("opt/orinbench-runtimes/default", "var/lib/orinbench-power"):
        (root / path).mkdir(parents=True)
    removed = script("uninstall-jetson", "--root", str(root))
    assert removed.returncode == 0, removed.stdout + removed.stderr
    accounts = {"etc/.pwd.lock", "etc/passwd-", "etc/group-", "etc/shadow-", "etc/gshadow-"}
    files = {path for path in tree(root) - before - accounts if not (root / path).is_dir()}
    assert files == {"var/lib/orinbench/journal.sqlite", "var/lib/orinbench/orinbenchd.toml.removed"}
    assert not [path for path in tree(root) if "orinbench" in path and not path.startswith("var/lib/orinbench")]
    assert "orinbench" not in (root / "etc/passwd").read_text() + (root / "etc/group").read_text()
    assert script("uninstall-jetson", "--root", str(root)).returncode == 0


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units, with a program that is there in place of ours, and the device rules of a simulated board."""
    root = build(tmp_path / "root", "agx-orin-32gb").root
    ended = script("install-jetson", "--dry-run", "--root", str(root))
    devices = [line[9:] for line in ended.stdout.splitlines() if "| DeviceAllow=" in line]
    folder = tmp_path / "units"
    (folder / "orinbenchd.service.d").mkdir(parents=True)
    (folder / "orinbenchd.service.d/devices.conf").write_text("\n".join(["[Service]", *devices]))
    for name in UNITS:
        text = (REPOSITORY / "systemd" / name).read_text()
        program = shutil.which("true")
        for ours in ("/opt/orinbench/bin/orinbenchd", "/opt/orinbench/bin/orinbench-power"):
            text = text.replace(f"ExecStart={ours} ", f"ExecStart={program} ")
        (folder / name).write_text(text)
    return folder


@pytest.mark.tool("systemd-analyze")
def test_systemd_finds_no_fault_in_the_units(units: Path) -> None:
    """`systemd-analyze verify` says nothing at all: no unknown directive, no wrong value."""
    ended = subprocess.run(
        ["systemd-analyze", "verify", *(str(units / name) for name in UNITS)],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (ended.returncode, ended.stdout + ended.stderr) == (0, "")


@pytest.mark.root
@pytest.mark.tool("bwrap")
@pytest.mark.parametrize(
    ("covered", "works"),
    [((), True), (("/sys/fs/cgroup",), True), (("/proc/sys/kernel/hostname",), False), (("/proc/sys",), False)],
    ids=["nothing", "ProtectControlGroups", "ProtectHostname", "ProtectKernelTunables"],
)
def test_the_daemons_unit_covers_nothing_that_a_sandbox_needs(covered: tuple[str, ...], works: bool) -> None:
    """What systemd would mount over /proc keeps an ordinary user's bubblewrap from its own; the unit asks for none."""
    mounts = "".join(f"mount -o bind,ro {path} {path} && " for path in covered)
    user = "setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs"
    sandbox = "bwrap --unshare-user --unshare-pid --unshare-net --ro-bind / / --dev /dev --proc /proc true"
    ended = subprocess.run(["unshare", "--mount", "sh", "-c", f"{mounts}exec {user} {sandbox}"], timeout=60)

    assert (ended.returncode == 0) == works
    directives = (REPOSITORY / "systemd/orinbenchd.service").read_text().splitlines()
    (permitted,) = (line.split("=")[1].split() for line in directives if line.startswith("RestrictNamespaces="))
    made = Sandbox(Isolation("sandbox"), Hidden(())).prefix(View(scratch=Path("/"), readable=()))
    assert {option[10:] for option in made if option.startswith("--unshare-")} | {"mnt"} <= set(permitted)
    for name in ("ProtectHostname", "ProtectKernelTunables", "ProtectKernelLogs", "ProcSubset", "PrivateDevices"):
        assert not [line for line in directives if line.startswith(f"{name}=")]


@pytest.mark.tool("systemd-analyze")
@pytest.mark.parametrize("name", ["orinbenchd.service", "orinbench-power.service"])
def test_the_services_stay_as_closed_as_the_documentation_says(units: Path, name: str) -> None:
    """The exposure level stays under 4.0 of 10."""
    ended = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=40", str(units / name)],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 0, ended.stdout[-300:]
