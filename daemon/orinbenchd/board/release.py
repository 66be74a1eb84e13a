"""Which software a board runs: L4T, JetPack, CUDA, TensorRT, cuDNN, from the files that say so."""

from __future__ import annotations

import json
import re

from orinbenchd.board.rootfs import Absent, Fact, Root

_L4T = re.compile(r"^# R(\d+) \(release\), REVISION: ([\d.]+), GCID: (\d+), BOARD: (\S+), EABI: (\S+), DATE: (.+)$")

#: NVIDIA publishes which L4T a JetPack holds; the board itself does not say.
JETPACK = {
    "35.4.1": "5.1.2",
    "36.3.0": "6.0",
    "36.4.0": "6.1",
    "36.4.3": "6.2",
    "36.4.4": "6.2.1",
    "36.4.7": "6.2.1",
    "36.5.0": "6.2.2",
    "38.4.0": "7.1",
    "39.2.0": "7.2",
}

_PACKAGES = re.compile(
    r"^Package: (?P<name>libnvinfer\d+|libcudnn\d+(?:-cuda-\d+)?|nvidia-jetpack)\n(?P<rest>(?:.+\n?)*)",
    re.MULTILINE,
)
_VERSION = re.compile(r"^Version: (\S+)$", re.MULTILINE)


def _first_line(root: Root) -> Fact[re.Match[str]]:
    text = root.text("/etc/nv_tegra_release")
    if isinstance(text, Absent):
        return text
    # Vendor images append lines of their own: only the first is NVIDIA's.
    line = text.split("\n", 1)[0].strip()
    found = _L4T.match(line)
    return found or Absent(f"the first line of /etc/nv_tegra_release is not of the known form: {line[:80]!r}")


def l4t_release(root: Root) -> Fact[str]:
    """Return the L4T release, such as `36.4.7`."""
    found = _first_line(root)
    return found if isinstance(found, Absent) else f"{found[1]}.{found[2]}"


def l4t_facts(root: Root) -> dict[str, str]:
    """Return the other parts of the release line that tell images apart: gcid and eabi; empty if unknown."""
    found = _first_line(root)
    return {} if isinstance(found, Absent) else {"l4t_gcid": found[3], "l4t_eabi": found[5]}


def jetpack_version(l4t: Fact[str]) -> Fact[str]:
    """Return the JetPack an L4T release belongs to."""
    if isinstance(l4t, Absent):
        return l4t
    return JETPACK.get(l4t) or Absent(f"L4T {l4t} is not in the table of JetPack releases")


def cuda_versions(root: Root) -> Fact[dict[str, str]]:
    """Return the versions of CUDA's version.json by component name (`cuda` is the toolkit)."""
    text = root.text("/usr/local/cuda/version.json")
    if isinstance(text, Absent):
        return text
    try:
        value = json.loads(text)
        return {name: str(part["version"]) for name, part in value.items()}
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        return Absent(f"/usr/local/cuda/version.json is not of the known form: {error}")


def cuda_version(root: Root) -> Fact[str]:
    """Return the version of the CUDA toolkit on the host."""
    versions = cuda_versions(root)
    if isinstance(versions, Absent):
        return versions
    return versions.get("cuda") or Absent("/usr/local/cuda/version.json names no cuda")


def packages(root: Root) -> Fact[dict[str, str]]:
    """Return the versions of NVIDIA's Debian packages we care for, by package name."""
    status = root.text("/var/lib/dpkg/status")
    if isinstance(status, Absent):
        return status
    found = {}
    for stanza in _PACKAGES.finditer(status):
        version = _VERSION.search(stanza["rest"])
        if version and "\nStatus: deinstall" not in "\n" + stanza["rest"]:
            found[stanza["name"]] = version[1]
    return found


def package_version(installed: Fact[dict[str, str]], prefix: str) -> Fact[str]:
    """Return the version of the package whose name begins with `prefix`."""
    if isinstance(installed, Absent):
        return installed
    versions = [version for name, version in sorted(installed.items()) if name.startswith(prefix)]
    return versions[-1] if versions else Absent(f"no Debian package {prefix}* is installed")
