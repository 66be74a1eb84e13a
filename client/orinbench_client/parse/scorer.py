"""The scorers of Parse: the headline as upstream's program scores, and others under their own names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

from orinbench_profiles import canonical_json, digest_bytes
from pydantic import BaseModel, ConfigDict, ValidationError

from orinbench_client.errors import BadInput
from orinbench_client.parse import rules
from orinbench_client.parse.questions import BOOLEAN, FACTOID, MULTICHOICE
from orinbench_client.parse.replies import DEFINITION, Reply, read_reply
from orinbench_client.scoring.grades import Floor, Grade, Metric, State, fraction_metric, stats_of
from orinbench_client.text import get_normalizer

#: Answers that need no understanding: what they earn is the floor of a cell.
CONSTANTS: Mapping[str, Mapping[str, Any]] = {
    BOOLEAN: {"true": True, "false": False},
    MULTICHOICE: {"[1,2,3,4]": [1, 2, 3, 4], "[1]": [1]},
    FACTOID: {"[]": []},
}
#: How texts are folded by the strict scorer.
STRICT_NORMALIZER = "fa-v1"
_METRIC = fraction_metric("score")
_AXES = ("type", "approach", "subtype", "difficulty")


class Rule(NamedTuple):
    """A scorer's rule, in words for its digest, and whether it leaves out the questions of the few-shot prompts."""

    score: Callable[[rules.Gold, Any], rules.Fraction]
    words: str
    leaves_out_examples: bool = False


def _strict(gold: rules.Gold, answer: Any) -> rules.Fraction:
    return rules.strict(gold, answer, get_normalizer(STRICT_NORMALIZER))


_UPSTREAM = (
    "boolean: equal. multichoice: the empty answer earns nothing; multi |G∩P|/|G∪P|; single and non_answerable the"
    " first number. factoid: nonanswerable the empty list; else different answers that contain a right one"
    " / max(|G|, |P|)"
)
RULES = {
    "parse-upstream": Rule(rules.upstream, _UPSTREAM),
    "parse-upstream-no-examples": Rule(rules.upstream, _UPSTREAM, leaves_out_examples=True),
    "parse-paper": Rule(
        rules.paper,
        "boolean: equal. multichoice: multi |G∩P|/|G∪P|; single and non_answerable the set. factoid: nonanswerable the"
        " empty list; simple 1 if an answer contains the right one; listbased |G∩P|/|G∪P| of texts",
    ),
    "parse-strict": Rule(
        _strict,
        "boolean: equal. multichoice: the set. factoid: nonanswerable the empty list; else 2|G∩P|/(|G|+|P|) of texts"
        f" normalised by {STRICT_NORMALIZER}",
    ),
}


class _Reference(BaseModel):
    """What a suite's reference says of a question: see orinbench_client.parse.suite.reference_of."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str
    approach: str
    subtype: str
    difficulty: str
    answer: bool | str | list[str] | None
    options: list[str]
    strategy: str
    example: bool
    stored: bool

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return (self.type, self.approach, self.subtype, self.difficulty)

    @cached_property
    def gold(self) -> rules.Gold:
        return rules.gold_of(self.type, self.subtype, self.answer, self.options)


class ParseScorer:
    """One of the scorers, by name: see Scorer for what each member is."""

    axes = _AXES
    tables: Mapping[str, tuple[str, ...]] = {"cells": _AXES[:3], "difficulty": _AXES}

    def __init__(self, name: str) -> None:
        self.name = name
        self._rule = RULES[name]

    @cached_property
    def digest(self) -> str:
        """Digest of the rules, of how replies are read, and of the normaliser."""
        content = {
            "name": self.name,
            "score": self._rule.words,
            "replies": DEFINITION,
            "leaves_out_examples": self._rule.leaves_out_examples,
            "normalizer": get_normalizer(STRICT_NORMALIZER).digest if self.name == "parse-strict" else None,
        }
        return digest_bytes(canonical_json(content))

    def grade(self, sample_id: str, text: str, reference: str) -> Grade | None:
        """Grade a reply, or an answer as upstream stored it."""
        known = _parse_reference(sample_id, reference)
        if known.example and self._rule.leaves_out_examples:
            return None
        reply = _stored(text) if known.stored else read_reply(known.type, known.strategy, text)
        if reply.answer is None:
            return Grade(sample_id, known.labels, "unparsable", reply.rule, None, rules.WRONG)
        hits, of = self._rule.score(known.gold, reply.answer)
        state: State = "ok" if hits else "wrong"
        return Grade(sample_id, known.labels, state, reply.rule, reply.answer, (hits, of))

    def metrics(self, labels: Mapping[str, str]) -> Sequence[Metric]:
        """Return the mean score, which every cell has."""
        del labels
        return (_METRIC,)

    def floors(self, references: Mapping[str, str]) -> list[Floor]:
        """Return what the constant answers earn: those of its type in a cell, one of each type over all."""
        found = {key: _parse_reference(key, reference) for key, reference in references.items()}
        known = [one for one in found.values() if not (one.example and self._rule.leaves_out_examples)]
        earned = {
            type_: {name: partial(self._earn, answer) for name, answer in constants.items()}
            for type_, constants in CONSTANTS.items()
        }
        floors: list[Floor] = []
        for axes in ((), *self.tables.values()):
            for labels, members in _cells(known, axes):
                types = list(dict.fromkeys(one.type for one in members))
                # Over all together a constant answer is one of each type.
                for names in product(*(earned[type_] for type_ in types)):
                    chosen = dict(zip(types, names, strict=True))
                    stats = [earned[one.type][chosen[one.type]](one.gold) for one in members]
                    floors.append(Floor(labels, ", ".join(names), _METRIC.value(stats_of(stats))))
        return floors

    def _earn(self, answer: Any, gold: rules.Gold) -> rules.Fraction:
        return self._rule.score(gold, answer)

    @property
    def contrasts(self) -> tuple[()]:
        """No variants are compared."""
        return ()

    def made_with(self, references: Mapping[str, str]) -> dict[str, str]:
        """Return nothing: the rules are all there is."""
        del references
        return {}

    def details(self, labels: Mapping[str, str], value: float) -> dict[str, str]:
        """Return the score with two decimals as the published table of its type rounds it."""
        return {"score_2dp": rules.two_decimals(labels["type"], value)} if "type" in labels else {}


@lru_cache(maxsize=1 << 15)
def _parse_reference(sample_id: str, reference: str) -> _Reference:
    try:
        return _Reference.model_validate_json(reference)
    except ValidationError:
        raise BadInput(f"sample {sample_id}: its reference is no question of Parse: invalid suite data") from None


def _stored(text: str) -> Reply:
    return Reply(json.loads(text), "as stored") if text else Reply(None, "no answer stored")


def _cells(known: Sequence[_Reference], axes: Sequence[str]) -> Iterator[tuple[dict[str, str], list[_Reference]]]:
    cells: dict[tuple[str, ...], list[_Reference]] = {}
    for one in known:
        cells.setdefault(tuple(getattr(one, axis) for axis in axes), []).append(one)
    for labels, members in cells.items():
        yield dict(zip(axes, labels, strict=True)), members
