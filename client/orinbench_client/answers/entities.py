"""Answers that are lists of entities, each a type and a value."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from orinbench_client.answers.folding import fold
from orinbench_client.answers.reading import Reading, drop_thinking, json_values
from orinbench_client.answers.refusals import refusal_in

#: MASSIVE's way to write a sentence with its entities.
_ANNOTATION = re.compile(r"\[([^\[\]:]*):([^\[\]]*)\]")
_LONGEST_TYPE, _LONGEST_VALUE = 80, 400
_NONE = frozenset(map(fold, ("none", "no entities", "no entity", "there are no entities", "هیچ", "ندارد", "هیچ کدام")))


class Entity(NamedTuple):
    """An entity: what it is, and its words."""

    type: str
    value: str

    def folded(self) -> Entity:
        """Return the entity with both parts folded, as entities are compared."""
        return Entity(fold(self.type), fold(self.value))


def read_entities(reply: str) -> Reading:
    """Return the entities a reply lists, folded; the list may be empty."""
    said = drop_thinking(reply)
    if said is None:
        return Reading(None, "unfinished-thinking", "unparsable")
    lists = [found for value in json_values(said, "[") if (found := listed_entities(value)) is not None]
    if lists:
        # The last list that holds something; an empty one may be nested in it.
        return _folded(next((found for found in lists if found), []), "json")
    if annotated := annotation_entities(said):
        return _folded(annotated, "annotation")
    if fold(said) in _NONE:
        return Reading([], "none-said")
    if language := refusal_in(said):
        return Reading(None, f"refusal-{language}", "refused")
    return Reading(None, "none", "unparsable")


def annotation_entities(text: str) -> list[Entity]:
    """Return the entities of a sentence in MASSIVE's notation, ``wake me at [time : nine]``."""
    found = [Entity(kind.strip(), value.strip()) for kind, value in _ANNOTATION.findall(text)]
    return [one for one in found if 0 < len(one.type) <= _LONGEST_TYPE and 0 < len(one.value) <= _LONGEST_VALUE]


def listed_entities(value: Any) -> list[Entity] | None:
    """Return the entities of a JSON list of types and values; None if it is something else."""
    if not isinstance(value, list):
        return None
    found = []
    for item in value:
        kind = item.get("type", item.get("label")) if isinstance(item, dict) else None
        words = item.get("value", item.get("text")) if isinstance(item, dict) else None
        if not isinstance(kind, str) or not isinstance(words, str | int | float):
            return None
        found.append(Entity(kind, str(words)))
    return found


def _folded(entities: list[Entity], rule: str) -> Reading:
    return Reading([entity.folded() for entity in entities], rule)
