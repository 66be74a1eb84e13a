"""scripts/make-runtime: what it would do, and what it prints for the daemon's configuration."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jetson_sim.jetpack import first_site, lend_packages, repack, system_python, unpack, wheel

SCRIPT = Path(__file__).parents[2] / "scripts" / "make-runtime"


#: As NVIDIA calls its builds: by the order of versions a pre-release, before 2.6.
VENDORS = "2.6.0a0+ecf3bae40a.nv25.01"
OFFERED = [
    ("torch", "2.9.0"),
    ("torch", "2.14.0rc1"),
    ("numpy", "1.26.4"),
    ("numpy", "2.2.6"),
    ("transformers", "5.1.0"),
    ("safetensors", "0.5.0"),
]


def make(*arguments: str, python: str = sys.executable, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": python, **more}
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, env=environment, timeout=240)


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


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A system's Python that has NVIDIA's torch, and apt's NumPy further back on its path."""
    python, apt = system_python(tmp_path / "usr"), tmp_path / "apt"
    site = first_site(python)
    (site / "apt.pth").write_text(f"{apt}\n")
    unpack(apt, "numpy", "1.21.5")
    unpack(site, "torch", VENDORS)
    return python


def of_home(home: Path, python: Path) -> Path:
    """Return where this interpreter looks for what one user alone has."""
    return home / ".local/lib" / first_site(python).parent.name / "site-packages"


def kept(system: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script that says what pip must keep, for torch."""
    return subprocess.run(
        [system, "-I", SCRIPT.parent / "vendor-constraints", "torch"],
        capture_output=True, text=True, env={**os.environ, **environment}, timeout=60,
    )  # fmt: skip


def test_of_shadowed_packages_the_one_that_is_imported_is_kept(system: Path) -> None:
    """apt's NumPy is too old for us and leaves only a bound; one over it that pip installed stays as it is."""
    assert kept(system).stdout.split() == [f"torch=={VENDORS}", "numpy<2"]

    unpack(first_site(system), "numpy", "1.26.4")

    assert kept(system).stdout.split() == [f"torch=={VENDORS}", "numpy==1.26.4"]


def test_a_torch_of_one_user_alone_is_none(system: Path, tmp_path: Path) -> None:
    """Workers run as another user: what the caller's home has is not there, and the error says so."""
    for path in first_site(system).glob("torch*"):
        shutil.rmtree(path)
    home = tmp_path / "home"
    unpack(of_home(home, system), "torch", VENDORS)
    elsewhere = tmp_path / "elsewhere"
    unpack(elsewhere, "torch", VENDORS)

    without = kept(system, HOME=str(home), PYTHONPATH=str(elsewhere))

    assert (without.returncode, without.stdout) == (1, "")
    assert "has no torch for all users (what lies in ~/.local is yours alone)" in without.stderr


def test_a_torch_that_is_too_old_is_one_clear_error(system: Path) -> None:
    """JetPack 6.1's wheel is below what the project declares; pip would only speak of an impossible resolution."""
    shutil.rmtree(first_site(system) / f"torch-{VENDORS}.dist-info")
    unpack(first_site(system), "torch", "2.5.0a0+872d972e41.nv24.08")

    old = kept(system)

    assert (old.returncode, old.stdout, old.stderr.count("\n")) == (1, "", 1)
    assert "torch 2.5.0a0+872d972e41.nv24.08 of " in old.stderr
    assert "is too old: install NVIDIA's wheel of one >2.5.1" in old.stderr


# Half a minute of work, of which the making of an environment is the most.
@pytest.mark.timeout(300)
def test_pip_makes_a_runtime_over_a_jetsons_packages(system: Path, tmp_path: Path) -> None:
    """pip itself, offered newer builds and a home's: torch stays NVIDIA's, NumPy below 2, and workers can start."""
    lend_packages(first_site(system))
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/nv_tegra_release").write_text("# R36 (release), REVISION: 4.7\n")
    offered = tmp_path / "wheels"
    for name, version in OFFERED:
        wheel(offered, name, version)
    unpack(of_home(tmp_path / "home", system), "transformers", "5.9.0")
    made = tmp_path / "it"
    repack(offered, "setuptools")  # our own build wants it
    pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_COMPILE": "1", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(offered)}

    done = make(
        "default", str(made), "--root", str(tmp_path / "root"),
        python=str(system), HOME=str(tmp_path / "home"), **pip,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    look = "import torch, numpy, transformers as t; print(torch.__version__, numpy.__version__, t.__version__)"
    seen = subprocess.run([made / "bin/python", "-I", "-c", look], capture_output=True, text=True, timeout=60)
    assert seen.stdout.split() == [VENDORS, "1.26.4", "5.1.0"]
    # Elsewhere a release is taken, not a newer pre-release that is offered too.
    declared = re.search(r'"(torch>[^"]+)"', (SCRIPT.parents[1] / "pyproject.toml").read_text())
    assert declared is not None
    ask = ["-I", "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps"]
    chosen = subprocess.run(
        [made / "bin/python", *ask, declared[1]], capture_output=True, text=True, env={**os.environ, **pip}, timeout=60
    )
    assert "Would install torch-2.9.0\n" in chosen.stdout


def test_an_unknown_runtime_is_refused() -> None:
    """Only what there is a recipe for is made."""
    done = make("tensorrt")

    assert (done.returncode, done.stdout) == (2, "")
    assert "no runtime is called 'tensorrt'; there are: default, nemo" in done.stderr
