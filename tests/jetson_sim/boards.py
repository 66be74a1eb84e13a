"""The boards that can be simulated: facts of each module, as the daemon would read them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mode:
    """A power mode: id, name, cores that stay on, GPU limit, CPU limit, and the mask of GPU units switched off."""

    id: int
    name: str
    cores: int
    gpu_mhz: float
    cpu_mhz: float
    tpc_mask: int = 0


@dataclass(frozen=True)
class SimBoard:
    """One module. `rails` gives the idle power of each rail in mW, by INA3221 chip."""

    name: str
    profile: str
    model: str
    compatible: tuple[str, ...]
    cores: int
    memory_kb: int
    modes: tuple[Mode, ...]
    default_mode: str
    rails: dict[str, dict[str, int]]
    gpcs: int
    l4t: str = "36.4.7"
    swap_kb: int = 0
    zones: dict[str, float] = field(
        default_factory=lambda: {
            "cpu-thermal": 48.5,
            "gpu-thermal": 46.25,
            "soc0-thermal": 45.0,
            "soc1-thermal": 45.5,
            "soc2-thermal": 44.75,
            "tj-thermal": 48.5,
        }
    )


_AGX_RAILS = {
    "1-0040": {"VDD_GPU_SOC": 4000, "VDD_CPU_CV": 1200, "VIN_SYS_5V0": 4400},
    "1-0041": {"NC": 0, "VDDQ_VDD2_1V8AO": 400, "NC ": 0},
}
_SMALL_RAILS = {"1-0040": {"VDD_IN": 5200, "VDD_CPU_GPU_CV": 600, "VDD_SOC": 1400}}


def _agx_modes(cores: int, *extra: Mode) -> tuple[Mode, ...]:
    return (
        Mode(0, "MAXN", cores, 1300.5, 2201.6),
        Mode(1, "MODE_15W", 4, 420.75, 1113.6, tpc_mask=252),
        Mode(2, "MODE_30W", min(8, cores - 2), 624.75, 1728.0, tpc_mask=240),
        *extra,
    )


def _agx(name: str, profile: str, part: str, cores: int, memory_kb: int, modes: tuple[Mode, ...]) -> SimBoard:
    return SimBoard(
        name=name,
        profile=profile,
        model="NVIDIA Jetson AGX Orin Developer Kit",
        compatible=(f"nvidia,p3737-0000+{part}", f"nvidia,{part}", "nvidia,tegra234"),
        cores=cores,
        memory_kb=memory_kb,
        modes=modes,
        default_mode="MAXN",
        rails=_AGX_RAILS,
        gpcs=2,
    )


def _small(
    name: str, profile: str, part: str, cores: int, memory_mb: int, modes: tuple[Mode, ...], top: str
) -> SimBoard:
    return SimBoard(
        name=name,
        profile=profile,
        model=f"NVIDIA Jetson {'Orin NX' if 'nx' in name else 'Orin Nano'} Engineering Reference Developer Kit Super",
        compatible=(f"nvidia,p3768-0000+{part}-super", f"nvidia,{part}", "nvidia,tegra234"),
        cores=cores,
        memory_kb=memory_mb * 1024,
        modes=modes,
        default_mode=top,
        rails=_SMALL_RAILS,
        gpcs=1,
        swap_kb=memory_mb * 512,
    )


_50W = Mode(3, "MODE_50W", 12, 816.0, 1497.6)

_BOARDS = (
    # The module has a 40 W mode at id 3 where the devkit has 50 W. A 50 W mode is added so that one scenario
    # (switch without a reboot) reads alike on every AGX board; no real module has it at id 4.
    _agx(
        "agx-orin-32gb",
        "agx-orin-32gb-maxn",
        "p3701-0004",
        8,
        31_433_556,
        _agx_modes(8, Mode(3, "MODE_40W", 8, 816.0, 1497.6), Mode(4, "MODE_50W", 8, 828.75, 1728.0)),
    ),
    _agx("agx-orin-32gb-devkit", "agx-orin-32gb-devkit-maxn", "p3701-0000", 12, 31_433_556, _agx_modes(12, _50W)),
    _agx("agx-orin-64gb", "agx-orin-64gb-maxn", "p3701-0005", 12, 64_349_376, _agx_modes(12, _50W)),
    _small(
        "orin-nx-16gb",
        "orin-nx-16gb",
        "p3767-0000",
        8,
        15_656,
        (
            Mode(0, "MAXN_SUPER", 8, 1173.0, 1984.0),
            Mode(1, "10W", 4, 612.0, 1190.4, tpc_mask=240),
            Mode(2, "15W", 4, 612.0, 1420.8, tpc_mask=240),
            Mode(3, "25W", 8, 408.0, 1497.6),
            Mode(4, "40W", 8, 918.0, 1497.6),
        ),
        "MAXN_SUPER",
    ),
    # The top mode is neither first nor id 0 here.
    _small(
        "orin-nano-8gb-super",
        "orin-nano-8gb-super",
        "p3767-0005",
        6,
        7_620,
        (
            Mode(0, "15W", 6, 612.0, 1497.6),
            Mode(1, "25W", 6, 918.0, 1344.0),
            Mode(2, "MAXN_SUPER", 6, 1020.0, 1728.0),
            Mode(3, "7W", 4, 408.0, 960.0, tpc_mask=240),
        ),
        "15W",
    ),
)

BOARDS = {board.name: board for board in _BOARDS}
