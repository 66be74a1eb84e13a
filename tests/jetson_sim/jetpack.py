"""A Python with packages below a folder, as JetPack's system Python has them, and wheels for pip to find."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path

#: What of this environment the simulated system lacks: ourselves, and what comes as a stand-in.
_LEFT_OUT = ("orinbench", "__editable__", "numpy", "torch", "transformers", "pip")


def system_python(prefix: Path) -> Path:
    """Make an installation of Python of its own, no virtual environment, below `prefix`; return its interpreter."""
    library = Path(sysconfig.get_path("stdlib"))
    copied = prefix / "lib" / library.name
    copied.mkdir(parents=True)
    for entry in library.iterdir():
        if entry.name not in ("site-packages", "dist-packages"):
            (copied / entry.name).symlink_to(entry)
    for entry in library.parent.glob("libpython*"):
        (prefix / "lib" / entry.name).symlink_to(entry)
    program = prefix / "bin" / "python3"
    program.parent.mkdir()
    shutil.copy2(Path(sys.executable).resolve(), program)
    first_site(program).mkdir(parents=True, exist_ok=True)
    return program


def first_site(python: Path) -> Path:
    """Return the folder of packages that this interpreter looks into first, all users'."""
    asked = [str(python), "-I", "-c", "import site; print(site.getsitepackages()[0])"]
    return Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())


def lend_packages(site: Path) -> None:
    """Let a folder of packages have those of this environment, but for what is ours or comes as a stand-in."""
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(_LEFT_OUT) and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)


def stand_in(name: str, version: str) -> Mapping[str, str]:
    """The files of a package that has a version and nothing else."""
    return {
        f"{name}/__init__.py": f"__version__ = {version!r}\n",
        f"{name}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{name}-{version}.dist-info/RECORD": "",
        f"{name}-{version}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }


def unpack(site: Path, name: str, version: str) -> None:
    """Put a stand-in into a folder of packages."""
    for path, text in stand_in(name, version).items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)


def wheel(folder: Path, name: str, version: str) -> None:
    """Put the wheel of a stand-in into a folder for `--find-links`."""
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in stand_in(name, version).items():
            archive.writestr(path, text)


def repack(folder: Path, name: str) -> None:
    """Put the wheel of a pure package of this environment into a folder for `--find-links`."""
    found = distribution(name)
    with zipfile.ZipFile(folder / f"{name}-{found.version}-py3-none-any.whl", "w") as archive:
        for file in found.files or []:
            if ".." not in file.parts and "__pycache__" not in file.parts:
                archive.write(str(file.locate()), str(file))
