"""Answers out of a closed set: labels, yes or no, the options of a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from orinbench_client.answers.folding import fold
from orinbench_client.answers.letters import CONNECTIVE, Letters, plain
from orinbench_client.answers.reading import Reading, drop_thinking, explicit_answer
from orinbench_client.answers.refusals import refusal_in

# A sign between two digits ends nothing: 3.5 is no 3.
_END = re.compile(r"\n|(?<!\d)[.,;:!?،؛؟]|[.,;:!?،؛؟](?!\d)")
_BETWEEN = re.compile(rf"{_END.pattern}|[/|&]|{CONNECTIVE}", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_DECIMAL = re.compile(r"(?<=\d)[.,:/٫٬](?=\d)")
#: Stands for the sign within a number: a character for private use, which folding keeps.
_POINT = "\ue000"
# In the middle of a name: ruba'i, do-beyti. With the letters that transcribe ع and ء.
_JOINTS = "['’‘`´ʻʼʽʾʿ‐-]"
_JOINT = re.compile(rf"(?<=[^\W\d_]){_JOINTS}(?=[^\W\d_])")
_COMPOUND = re.compile(rf"[^\W\d_]+(?:{_JOINTS}[^\W\d_]+)+")
#: English words so common that a reply that holds them has not named a label that has them too.
_COMMON = frozenset({"a", "i", "on"})


class Label(NamedTuple):
    """A label, its other names, and, where numbers stand for it, the first and last of them."""

    name: str
    aliases: tuple[str, ...] = ()
    numbers: tuple[int, int] | None = None


class ClosedSet:
    """A set of at least one label. `lettered`: they are options, and ``B``, ``ب`` or ``2`` stands for the second."""

    def __init__(self, labels: Sequence[Label], lettered: bool = False) -> None:
        self._labels = tuple(labels)
        names = [(label.name, *label.aliases) for label in labels]
        # Options are whole texts, in which a hyphen joins no name.
        self._joined = {} if lettered else _spellings([name for group in names for name in group])
        apart = "|".join(map(re.escape, self._joined))
        self._apart = re.compile(rf"(?<!\S)(?:{apart})(?!\S)") if apart else None
        self._plain = _unique([{plain(name) for name in group} for group in names])
        self._folded = _unique([{self._fold(name) for name in group} - {""} for group in names])
        self._words = [[frozenset(self._fold(name).split()) for name in group if fold(name)] for group in names]
        unions = [frozenset[str]().union(*group) for group in self._words]
        self._foreign = [
            frozenset[str]().union(*unions[:place], *unions[place + 1 :]) - union - _COMMON
            for place, union in enumerate(unions)
        ]
        self._letters = Letters(len(self._labels), self._plain) if lettered else None

    @classmethod
    def options(cls, texts: Sequence[str]) -> ClosedSet:
        """Return the set of a question's options, in their order."""
        return cls([Label(text) for text in texts], lettered=True)

    @property
    def size(self) -> int:
        """How many labels there are."""
        return len(self._labels)

    def strict(self, text: str) -> tuple[str, int] | None:
        """Return the rule and place of a label that the text gives and nothing else: its name or its letter."""
        return _first(text, (("label", self._equal), ("letter", self._letter)))

    def loose(self, text: str) -> tuple[str, int] | None:
        """Return the rule and place of a label that the text gives among other words."""
        return _first(text, (("leading", self._leading), ("words", self._by_words), ("numbers", self._by_numbers)))

    def listed(self, line: str) -> int | None:
        """Return the place of a label that is all a line holds, with its letter or without."""
        found = None if self._letters is None else self._letters.listed(line)
        if found is not None and (not found[1] or self._equal(found[1]) == found[0]):
            return found[0]
        return self._equal(line)

    def _fold(self, text: str) -> str:
        """Return a text folded, but with decimals as one word, and with one spelling of names like ruba'i."""
        words = fold(_DECIMAL.sub(_POINT, _JOINT.sub(" ", text)))
        return words if self._apart is None else self._apart.sub(lambda found: self._joined[found[0]], words)

    def _equal(self, text: str) -> int | None:
        place = self._plain.get(plain(text))
        return self._folded.get(self._fold(text)) if place is None else place

    def _letter(self, text: str) -> int | None:
        return None if self._letters is None else self._letters.place(text)

    def _leading(self, text: str) -> int | None:
        """Return the label a text begins with, if no other one stands in a list with it."""
        first, *rest = _END.split(text.strip().lstrip("*_\"'«( "), maxsplit=1)
        place = self._folded.get(self._fold(first))
        if place is None or not rest:
            return place
        # A list of labels is soon at its end; a reply may be a megabyte long.
        listed = islice(filter(str.strip, _BETWEEN.split(rest[0])), self.size)
        return None if any(self._folded.get(self._fold(other), place) != place for other in listed) else place

    def _by_words(self, text: str) -> int | None:
        """Return the label whose words are all there, if no word is there that only others have (MMAU's rule)."""
        said = frozenset(self._fold(text).split())
        hits = [
            place
            for place, group in enumerate(self._words)
            if any(words <= said for words in group) and not said & self._foreign[place]
        ]
        return hits[0] if len(hits) == 1 else None

    def _by_numbers(self, text: str) -> int | None:
        ranges = [(place, label.numbers) for place, label in enumerate(self._labels) if label.numbers]
        numbers = [int(digits) for digits in _DIGITS.findall(fold(text)) if len(digits) < 7]
        hits = {next((place for place, (first, last) in ranges if first <= number <= last), None) for number in numbers}
        return hits.pop() if len(hits) == 1 else None


def read_closed(reply: str, labels: ClosedSet) -> Reading:
    """Return the place of the label a reply gives, or that it is unparsable or a refusal."""
    said = drop_thinking(reply)
    if said is None:
        return Reading(None, "unfinished-thinking", "unparsable")
    span = explicit_answer(said)
    if span is not None:
        hits = [_explicit(part, labels) for part in span.parts]
        if hits and hits[0] and all(hit and hit[1] == hits[0][1] for hit in hits):
            return Reading(hits[0][1], f"{span.rule}/{hits[0][0]}")
    elif hit := labels.strict(said):
        return Reading(hit[1], hit[0])
    if language := refusal_in(said):
        return Reading(None, f"refusal-{language}", "refused")
    if span is None and (hit := labels.loose(said)):
        return Reading(hit[1], hit[0])
    return Reading(None, "none", "unparsable")


def _explicit(text: str, labels: ClosedSet) -> tuple[str, int] | None:
    """Return the rule and place of a label given as the answer: in the first line, if no other line lists another."""
    first, *others = text.splitlines() or [""]
    hit = labels.strict(first) or labels.loose(first)
    if hit is None:
        return labels.strict(text) or labels.loose(text)
    listed = map(labels.listed, islice(filter(str.strip, others), labels.size))
    return None if any(place not in (None, hit[1]) for place in listed) else hit


def _first(text: str, matchers: Sequence[tuple[str, Callable[[str], int | None]]]) -> tuple[str, int] | None:
    for rule, matcher in matchers:
        place = matcher(text)
        if place is not None:
            return rule, place
    return None


def _unique(groups: Sequence[set[str]]) -> dict[str, int]:
    """Return the place of each name that only one label has."""
    places: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        for name in group:
            places.setdefault(name, []).append(place)
    return {name: found[0] for name, found in places.items() if len(found) == 1}


def _spellings(names: Sequence[str]) -> dict[str, str]:
    """Return how a compound such as ruba'i is spelled as one word, by its folded spelling as several."""
    compounds = [compound for name in names for compound in _COMPOUND.findall(name)]
    return {fold(_JOINT.sub(" ", compound)): fold(_JOINT.sub("", compound)) for compound in compounds}
