"""scripts/make-runtime: what it would do, and what it prints for the daemon's configuration."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jetson_sim.jetpack import first_site, system_python, unpack

SCRIPT = Path(__file__).parents[3] / "scripts" / "make-runtime"


def make(*arguments: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": python}
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, env=environment, timeout=60)


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """The root of a board with an installed daemon."""
    unit = tmp_path / "root/etc/systemd/system/orinbenchd.service"
    unit.parent.mkdir(parents=True)
    unit.write_bytes((SCRIPT.parents[1] / "systemd/orinbenchd.service").read_bytes())
    (tmp_path / "root/etc/nv_tegra_release").write_text("# R36 (release), REVISION: 4.7\n")
    return tmp_path / "root"


@pytest.mark.parametrize(("name", "extra"), [("default", "torch"), ("nemo", "nemo")])
def test_a_dry_run_prints_the_plan_and_does_nothing(tmp_path: Path, name: str, extra: str) -> None:
    """The plan has the environment, the extra and a try, the configuration its interpreter; nothing is made."""
    done = make(name, str(tmp_path / "it"), "--dry-run")

    assert done.returncode == 0, done.stderr
    steps = [line.removeprefix("do     ") for line in done.stdout.splitlines() if line.startswith("do     ")]
    assert steps[0] == f"{sys.executable} -m venv {tmp_path}/it"
    assert steps[1].endswith(f"/source[{extra}]")
    assert steps[2].startswith(f"{tmp_path}/it/bin/python -I -c import orinbench_engines.worker, torch, ")
    assert done.stdout.endswith(f'[runtimes.{name}]\npython = "{tmp_path}/it/bin/python"\n')
    assert not (tmp_path / "it").exists()


def test_where_no_daemon_is_installed_a_runtime_lies_beside_the_project() -> None:
    """Whoever starts a daemon by hand needs no folder, no root and no user `orinbench`."""
    done = make("default", "--dry-run")

    assert done.returncode == 0, done.stderr
    assert f'python = "{SCRIPT.parents[1]}/runtimes/default/bin/python"' in done.stdout
    assert "Set in the daemon's configuration" in done.stdout
    assert "runuser" not in done.stdout


def test_the_installed_daemon_gets_a_runtime_where_it_can_see_it(board: Path, tmp_path: Path) -> None:
    """On a board the place is one that the unit shows its daemon, and the try is the daemon's user's."""
    python = system_python(tmp_path / "usr")
    unpack(first_site(python), "torch", "2.8.0")
    done = make("default", "--dry-run", "--root", str(board), python=str(python))

    assert done.returncode == 0, done.stderr
    made = "/opt/orinbench-runtimes/default"
    assert f"do     {python} -m venv --system-site-packages {made}\n" in done.stdout
    assert f"do     runuser -u orinbench -- {made}/bin/python -I -c import orinbench_engines" in done.stdout
    assert f"Set in {board}/etc/orinbench/orinbenchd.toml" in done.stdout
    assert done.stdout.endswith(f'[runtimes.default]\npython = "{made}/bin/python"\n')


@pytest.mark.parametrize("hidden", ["/home/you/runtime", "/root", "/run/user/1000/runtime"])
def test_a_runtime_that_the_installed_daemon_cannot_see_is_refused(board: Path, tmp_path: Path, hidden: str) -> None:
    """The unit hides homes; the error names the folder and one that works, and the unit is held to it."""
    done = make("default", hidden, "--dry-run", "--root", str(board), python=str(system_python(tmp_path / "usr")))

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert f"not {hidden}, but for example /opt/orinbench-runtimes/default" in done.stderr
    assert "ProtectHome=yes\n" in (board / "etc/systemd/system/orinbenchd.service").read_text()


def test_a_python_that_the_installed_daemon_cannot_see_is_refused(board: Path, tmp_path: Path) -> None:
    """An environment is a link to the Python that it was made of, which may lie in a home itself."""
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\necho /home/you/.pyenv/versions/3.10.12\n")
    python.chmod(0o755)
    done = make("default", "--dry-run", "--root", str(board), python=str(python))

    assert (done.returncode, done.stdout) == (1, "")
    assert f"{python} lies in /home/you/.pyenv/versions/3.10.12: name another with PYTHON" in done.stderr


def test_the_vendors_torch_stays_on_a_jetson(tmp_path: Path) -> None:
    """Where L4T is, the environment sees the system's packages and keeps its torch and NumPy at their very versions."""
    root, site = tmp_path / "root", tmp_path / "site"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "nv_tegra_release").write_text("# R36 (release), REVISION: 4.7\n")
    for name, version in (("torch", "2.8.0a0+nv25.6"), ("numpy", "1.26.4"), ("idna", "3.1")):
        information = site / f"{name}-{version}.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    done = make("default", str(tmp_path / "it"), "--dry-run", "--root", str(root), python=str(python))

    assert done.returncode == 0, done.stderr
    assert f"do     {python} -m venv --system-site-packages {tmp_path}/it\n" in done.stdout
    kept = {line.removeprefix("keep   ") for line in done.stdout.splitlines() if line.startswith("keep   ")}
    assert kept == {"torch===2.8.0a0+nv25.6", "numpy===1.26.4"}
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    without = make("default", str(tmp_path / "it"), "--dry-run", "--root", str(root), python=str(python))
    assert (without.returncode, "has no torch: install NVIDIA's wheel" in without.stderr) == (1, True)


def test_an_unknown_runtime_is_refused() -> None:
    """Only what there is a recipe for is made."""
    done = make("tensorrt")

    assert (done.returncode, done.stdout) == (2, "")
    assert "no runtime is called 'tensorrt'; there are: default, nemo" in done.stderr
