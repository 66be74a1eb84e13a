"""Is this the board the profile speaks of? By module, cores, memory and releases, never by a marketing name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orinbench.v1.board_pb2 import BoardIdentity
from orinbench.v1.record_pb2 import Check
from orinbench_profiles.schema import HardwareProfile

from orinbenchd.board.checks import decide, gib
from orinbenchd.board.rootfs import Absent, Fact

#: All names here begin with this.
PREFIX = "profile."

_GIB = 2**30


def profile_checks(profile: HardwareProfile, identity: BoardIdentity) -> list[Check]:
    """Compare what the board is with what the profile says; what it does not say is not checked."""
    return [*_machine(profile, identity), *_software(profile, identity)]


def _machine(profile: HardwareProfile, identity: BoardIdentity) -> Iterator[Check]:
    other = f"this board is not the one of profile {profile.id}: name its own profile in the configuration"
    if profile.compatible:
        wanted, names = set(profile.compatible), _fact(identity, "compatible")
        expected = " or ".join(profile.compatible)
        yield decide(f"{PREFIX}module", expected, names, lambda n: not wanted.isdisjoint(n), hint=other, show=" ".join)
    if profile.cpu_count is not None:
        cores = _fact(identity, "cpu_count")
        yield decide(f"{PREFIX}cpu_count", str(profile.cpu_count), cores, profile.cpu_count.__eq__, hint=other)
    if profile.memory_gib_min is not None or profile.memory_gib_max is not None:
        low, high = profile.memory_gib_min or 0.0, profile.memory_gib_max or float("inf")
        total = _fact(identity, "memory_total_bytes")
        expected = f"{low:g} to {high:g} GiB"
        yield decide(f"{PREFIX}memory", expected, total, lambda n: low <= n / _GIB <= high, hint=other, show=gib)


def _software(profile: HardwareProfile, identity: BoardIdentity) -> Iterator[Check]:
    wanted = profile.l4t_release
    if wanted is not None:
        hint = f"install L4T {wanted}, or use a profile of the release that is installed"
        yield decide(f"{PREFIX}l4t_release", wanted, _fact(identity, "l4t_release"), wanted.__eq__, hint=hint)
    cuda = profile.cuda_version
    if cuda is not None:
        found = _fact(identity, "cuda_version")
        hint = f"install CUDA {cuda} on the host (package cuda-toolkit)"
        yield decide(f"{PREFIX}cuda_version", cuda, found, lambda n: _same(n, cuda), hint=hint)


def _same(version: str, wanted: str) -> bool:
    """`12.6.11` is a `12.6`; `12.60` is not."""
    return version == wanted or version.startswith(wanted + ".")


def _fact(identity: BoardIdentity, name: str) -> Fact[Any]:
    if name in identity.absent_reasons:
        return Absent(identity.absent_reasons[name])
    return getattr(identity, name)
