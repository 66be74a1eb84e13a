"""Plays a power curve: a process that rewrites the rails' currents, so that the true energy is known.

Usage: player.py ROOT. The curve stands in ROOT/sim/curve.json. On a busy machine a step comes late, so what was really
played, and when, goes into ROOT/sim/played.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

#: Seconds between two steps of the player: far shorter than any interval of a reader.
STEP_S = 0.01


@dataclass(frozen=True)
class Curve:
    """Module power in watts: mean + amplitude · sin(2π (t − t0) / period), t on CLOCK_MONOTONIC in seconds."""

    mean_w: float
    amplitude_w: float
    period_s: float
    t0_s: float

    def power_w(self, at_s: float) -> float:
        """Return the power at a moment."""
        return self.mean_w + self.amplitude_w * math.sin(2 * math.pi * (at_s - self.t0_s) / self.period_s)

    def energy_j(self, start_s: float, end_s: float) -> float:
        """Return the exact energy between two moments."""
        omega = 2 * math.pi / self.period_s
        waves = math.cos(omega * (start_s - self.t0_s)) - math.cos(omega * (end_s - self.t0_s))
        return self.mean_w * (end_s - start_s) + self.amplitude_w / omega * waves


def played_j(root: Path, start_s: float, end_s: float) -> float:
    """Return the energy in joules of what was played between two moments of CLOCK_MONOTONIC."""
    steps = [tuple(map(float, line.split())) for line in (root / "sim/played").read_text().splitlines()]
    ends = [at_s for at_s, _ in steps[1:]] + [end_s]
    spans = (
        (min(after, end_s) - max(at_s, start_s), power_w) for (at_s, power_w), after in zip(steps, ends, strict=True)
    )
    return sum(span_s * power_w for span_s, power_w in spans if span_s > 0)


def save(root: Path, curve: Curve) -> None:
    """Note the curve for the player to play."""
    (root / "sim/curve.json").write_text(json.dumps(asdict(curve)))


def _set(path: Path, milliampere: int) -> None:
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(f"{milliampere}\n")
    temporary.replace(path)


def play(root: Path, curve: Curve, channels: Iterable[Path]) -> None:
    """Spread the module power evenly over the rails that make it up, for ever."""
    files = list(channels)
    with (root / "sim/played").open("w", buffering=1) as played:
        print("playing", flush=True)
        while True:
            power_w = curve.power_w(time.monotonic())
            for path in files:
                _set(path, round(power_w / len(files) * 1000))  # the rails are at 1 V
            played.write(f"{time.monotonic()} {power_w}\n")
            time.sleep(STEP_S)


def _module_rails(root: Path) -> list[Path]:
    """The rails that make up module power: the first chip on AGX, VDD_IN alone on the small boards."""
    chip = next((root / "sys/bus/i2c/drivers/ina3221/1-0040/hwmon").glob("hwmon*"))
    labels = {(chip / f"in{n}_label").read_text().strip(): chip / f"curr{n}_input" for n in (1, 2, 3)}
    return [labels["VDD_IN"]] if "VDD_IN" in labels else list(labels.values())


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    play(folder, Curve(**json.loads((folder / "sim/curve.json").read_text())), _module_rails(folder))
