"""The scorer `parsa-1`: grades replies of all sixteen tasks. A sample's reference says which one it is of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from orinbench_profiles import canonical_json, digest_bytes

from orinbench_client.answers import LADDER
from orinbench_client.answers.folding import POLICY
from orinbench_client.errors import BadInput
from orinbench_client.metrics.overlap import signatures
from orinbench_client.parsa.figures import METRICS, floors
from orinbench_client.parsa.kinds import KINDS, Kind, Translation
from orinbench_client.scoring.diagnostics import ZWNJ_JOIN
from orinbench_client.scoring.grades import Contrast, Floor, Grade, Metric
from orinbench_client.text import get_normalizer

#: A task's dimension and name, and the figure it is ranked by.
AXES = ("dimension", "task", "metric")
_BESIDE = {name: code.figures for code in KINDS.values() for name in code.figures}


class _Sample(NamedTuple):
    """What a reference says of its sample: where it stands in the tables, and how replies are held against it."""

    place: tuple[str, ...]
    kind: Kind


class ParsaScorer:
    """See orinbench_client.scoring.grades.Scorer."""

    def __init__(self, name: str) -> None:
        self.name = name
        rules = {
            "name": name,
            "ladder": LADDER,
            "normalizers": [get_normalizer(policy).digest for policy in (POLICY, ZWNJ_JOIN)],
            "figures": {kind: list(code.figures) for kind, code in KINDS.items()},
        }
        self.digest = digest_bytes(canonical_json(rules))
        self.axes = AXES
        self.tables = {"tasks": AXES}
        self.contrasts = (Contrast("audio-minus-text", "condition", "zero-shot", "text-only"),)

    def grade(self, sample_id: str, text: str, reference: str) -> Grade:
        """Grade a reply. Raises BadInput for a reference of another kind of suite."""
        place, kind = _sample(reference)
        reading = kind.read(text)
        try:
            stats = kind.stats(reading.value)
        except BadInput as error:
            raise BadInput(f"sample {sample_id}: {error}") from None
        state = reading.state if reading.state != "ok" or kind.earned(stats) else "wrong"
        return Grade(sample_id, place, state, reading.rule, reading.value, stats)

    def metrics(self, labels: Mapping[str, str]) -> Sequence[Metric]:
        """Return the figures of a task. There are none of all tasks together: they are measured by different things."""
        if not labels:
            return []
        headline = labels["metric"]
        return [METRICS[name] for name in sorted(_BESIDE[headline], key=lambda name: name != headline)]

    def floors(self, references: Mapping[str, str]) -> Sequence[Floor]:
        """Return what an empty reply, the most frequent class and a guess come to in every task."""
        tasks: dict[tuple[str, ...], list[Kind]] = {}
        for reference in references.values():
            place, kind = _sample(reference)
            tasks.setdefault(place, []).append(kind)
        found = []
        for place, members in tasks.items():
            labels = dict(zip(AXES, place, strict=True))
            found += [Floor(labels, answer, value) for answer, value in floors(members, self.metrics(labels)[0])]
        return found

    def details(self, labels: Mapping[str, str], value: float) -> Mapping[str, Any]:
        """Return nothing: the figure says it all."""
        del labels, value
        return {}

    def made_with(self, references: Mapping[str, str]) -> Mapping[str, str]:
        """Return the digest of the references, and sacreBLEU's signatures, by task, of the translations there are."""
        tasks = {place[1]: kind for place, kind in map(_sample, references.values()) if isinstance(kind, Translation)}
        found = {"references": digest_bytes(canonical_json(dict(references)))}
        for task, kind in tasks.items():
            found |= {f"{task} {figure}": text for figure, text in signatures(kind.tokenizer).items()}
        return found


# Every sample is looked up for its grade, for the floors and for the signatures.
@lru_cache(maxsize=1 << 15)
def _sample(reference: str) -> _Sample:
    try:
        value = json.loads(reference)
        kind = KINDS[value["kind"]](value)
        return _Sample((value["dimension"], value["task"], value["metric"]), kind)
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"{reference[:80]!r} is no reference of this scorer: another suite's?") from None
