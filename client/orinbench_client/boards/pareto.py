"""Pareto fronts: what no other run beats on error and cost at once, and which victories the samples support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orinbench_client.boards.figures import Figure, Figures


@dataclass(frozen=True)
class Point:
    """A run with what is minimised: its CER and a cost (GiB, real-time factor, joules)."""

    run_id: str
    model: str
    cer: float
    cost: float


def dominates(one: Point, other: Point) -> bool:
    """Tell whether `one` is nowhere worse than `other` and somewhere better."""
    return one.cer <= other.cer and one.cost <= other.cost and (one.cer, one.cost) != (other.cer, other.cost)


def front(points: Sequence[Point], cost: str, figures: Figures) -> Figure:
    """Return the points by CER, whether each is on the front, and an edge for each pair of which one dominates.

    An edge is `supported` only if the paired 95 % interval of the CER difference stays below zero.
    """
    ordered = sorted(points, key=lambda point: (point.cer, point.cost, point.run_id))
    pairs = [(one, other) for one in ordered for other in ordered if dominates(one, other)]
    beaten = {other.run_id for _, other in pairs}
    return {
        "cost": cost,
        "points": [
            {
                "model_id": point.model,
                "run_id": point.run_id,
                "cer": point.cer,
                cost: point.cost,
                "on_front": point.run_id not in beaten,
            }
            for point in ordered
        ],
        "dominance": [_edge(one, other, figures) for one, other in pairs],
    }


def _edge(one: Point, other: Point, figures: Figures) -> Figure:
    interval = figures.cer_difference(one.run_id, other.run_id)
    return {
        "dominating": one.model,
        "dominated": other.model,
        "cer_difference": one.cer - other.cer,
        "ci": list(interval),
        "supported": interval.hi < 0,
    }
