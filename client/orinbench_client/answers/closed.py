"""Answers out of a closed set: labels, yes or no, the options of a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from orinbench_client.answers.folding import fold
from orinbench_client.answers.reading import Reading, drop_thinking, explicit_answer
from orinbench_client.answers.refusals import refusal_in
from orinbench_client.text import rules

LETTERS = "ABCDEFGH"
#: The letters that number the options of a Persian question; a second spelling of the first.
PERSIAN_LETTERS = ("الف", "ب", "ج", "د", "ه", "و", "ز", "ح")

_ENDS = ".,;:!?،؛؟\n"
# Minus signs and dashes are one: "−1" is how a person writes -1.
_SPELLING: dict[int, int | str] = {**rules.LETTERS, **rules.DIGITS, rules.ZWNJ: " ", 0x2212: "-", 0x2013: "-"}
_DIGITS = re.compile(r"\d+")


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
        self._plain = _unique([{_plain(name) for name in group} for group in names])
        self._folded = _unique([{fold(name) for name in group} - {""} for group in names])
        self._words = [[frozenset(fold(name).split()) for name in group if fold(name)] for group in names]
        unions = [frozenset[str]().union(*group) for group in self._words]
        self._foreign = [
            frozenset[str]().union(*unions[:place], *unions[place + 1 :]) - union for place, union in enumerate(unions)
        ]
        self._letters = _letter_patterns(len(self._labels)) if lettered else None

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

    def _equal(self, text: str) -> int | None:
        place = self._plain.get(_plain(text))
        return self._folded.get(fold(text)) if place is None else place

    def _letter(self, text: str) -> int | None:
        if self._letters is None:
            return None
        plain = _plain(text)
        for letters in self._letters:
            places = [_letter_place(match[1]) for match in letters.pattern.finditer(plain)]
            if places and (letters.last_counts or len(set(places)) == 1):
                return places[-1]
        return None

    def _leading(self, text: str) -> int | None:
        stripped = text.strip().lstrip("*_\"'«( ")
        ends = (place for place, character in enumerate(stripped) if character in _ENDS)
        end = next(ends, len(stripped))
        return self._folded.get(fold(stripped[:end]))

    def _by_words(self, text: str) -> int | None:
        """Return the label whose words are all there, if no word is there that only others have (MMAU's rule)."""
        said = frozenset(fold(text).split())
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
        for part in (span.text.partition("\n")[0], span.text):
            if hit := labels.strict(part) or labels.loose(part):
                return Reading(hit[1], f"{span.rule}/{hit[0]}")
    elif hit := labels.strict(said):
        return Reading(hit[1], hit[0])
    if language := refusal_in(said):
        return Reading(None, f"refusal-{language}", "refused")
    if span is None and (hit := labels.loose(said)):
        return Reading(hit[1], hit[0])
    return Reading(None, "none", "unparsable")


def _first(text: str, matchers: Sequence[tuple[str, Callable[[str], int | None]]]) -> tuple[str, int] | None:
    for rule, matcher in matchers:
        place = matcher(text)
        if place is not None:
            return rule, place
    return None


def _plain(text: str) -> str:
    """Return a text with one spelling of letters and digits, its punctuation kept: "−1" and "1" stay two options."""
    letters = rules.nfkc(text).translate(_SPELLING)
    return " ".join(letters.casefold().split()).strip("*_`\"'«» ").rstrip(".").rstrip()


def _unique(groups: Sequence[set[str]]) -> dict[str, int]:
    """Return the place of each name that only one label has."""
    places: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        for name in group:
            places.setdefault(name, []).append(place)
    return {name: found[0] for name, found in places.items() if len(found) == 1}


class _Letters(NamedTuple):
    """Ways to name an option in plain text, the surest first; the first group is its letter.

    Of several such places the last counts, if that is how people say it, or else they must agree.
    """

    pattern: re.Pattern[str]
    last_counts: bool


def _letter_patterns(count: int) -> tuple[_Letters, ...]:
    safe = "|".join((*LETTERS[1:count].lower(), *PERSIAN_LETTERS[:count]))
    # "The answer is a man's voice", "the answer is 2 metres": these must end there to be the name of an option.
    doubtful = "|".join(("a", *map(str, range(1, count + 1))))
    sign, option = r"[)\].:،,*-]", r"(?:option|گزینه(?: ی)?)\s+[(\[*]*"
    answer = r"(?:\banswer|\bchoice|پاسخ|جواب)(?:\s+\w+){0,2}?\s*"
    whole = rf"({safe}|{doubtful})(?={sign}*(?:\s|\Z))"
    ended = rf"((?:{safe})(?={sign}*(?:\s|\Z))|(?:{doubtful})(?={sign}+(?:\s|\Z)|\s*\Z))"
    return (
        _Letters(re.compile(rf"\A[(\[*]*({safe}|{doubtful})\s?(?:[)\]]|[.:،,*-]+(?=\s|\Z)|\Z)"), False),
        _Letters(re.compile(rf"{answer}(?:is|be|:|=)?\s*{option}{whole}"), True),
        _Letters(re.compile(rf"{answer}(?:is|be|:|=)\s*[(\[*]*{ended}"), True),
        _Letters(re.compile(rf"\b{option}{whole}"), False),
    )


def _letter_place(letter: str) -> int:
    if letter.isdigit():
        return int(letter) - 1
    return PERSIAN_LETTERS.index(letter) if letter in PERSIAN_LETTERS else LETTERS.lower().index(letter)
