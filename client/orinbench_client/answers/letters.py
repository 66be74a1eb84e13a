"""The letters and numbers by which replies name the options of a question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from orinbench_client.text import rules

LETTERS = "ABCDEFGH"
#: The letters that number the options of a Persian question; a second spelling of the first.
PERSIAN_LETTERS = ("الف", "ب", "ج", "د", "ه", "و", "ز", "ح")

# Minus signs and dashes are one: "−1" is how a person writes -1.
_SPELLING: dict[int, int | str] = {**rules.LETTERS, **rules.DIGITS, rules.ZWNJ: " ", 0x2212: "-", 0x2013: "-"}

_OPEN, _CLOSE = r"[(\[*_«\"'`]*", r"[)\]*_»\"'`]*"
_SIGN = r"[)\].:;،؛,*_»\"'`-]"
_OPTION = r"(?:\boption|گزینه(?: ی)?)\s+"
#: What stands between the last two of a list.
CONNECTIVE = r"(?:\b(?:or|and)\b|(?<!\w)(?:یا|و)(?!\w))"
_NOUN = r"(?:\banswer|\bchoice|\b(?:correct|right|best) option|پاسخ|جواب|گزینه(?: ی)?(?= (?:درست|صحیح)))"
_DENIAL = (
    rf"(?!{_CLOSE}\s+(?:isn|(?:is|was)\s+(?:not|wrong|incorrect|false)\b"
    r"|(?:(?:درست|صحیح)\s+)?(?:نیست|نمی|نادرست|غلط|اشتباه)(?!\w)))"
)


class Letters:
    """The names of so many options. `texts`: the options' own texts, plain, by which a number may be meant instead."""

    def __init__(self, count: int, texts: Mapping[str, int]) -> None:
        self._forms = _forms(count)
        self._texts = texts

    def place(self, text: str) -> int | None:
        """Return the place of the one option that a text names; None where it names none or several.

        "The answer is B" outweighs the rest, and the last one counts. Then comes a letter at the very start, if no
        other stands in the same way elsewhere; then "option B", if there is no other.
        """
        lines = "\n".join(line for line in map(plain, text.splitlines()) if line)
        stated = [self._stated(match, lines) for match in self._forms.stated.finditer(lines)]
        if stated:
            return stated[-1]
        return self._one(self._by_word(lines)) if (found := self._leading(lines)) is None else found

    def listed(self, line: str) -> tuple[int, str] | None:
        """Return the place of the letter a line begins with, as a list of options does, and what follows it."""
        found = plain(line)
        match = self._forms.item.match(found)
        return match and (self._place(match), found[match.end() :].lstrip(" )].:-"))

    def _leading(self, lines: str) -> int | None:
        items = list(self._forms.item.finditer(lines))
        if not items or items[0].start() > 0:
            return None
        kind = _kind(items[0])
        return self._one(self._place(item) for item in items if _kind(item) == kind)

    def _by_word(self, lines: str) -> Iterator[int | None]:
        return (self._stated(match, lines) for match in self._forms.option.finditer(lines))

    def _stated(self, match: re.Match[str], lines: str) -> int | None:
        """Return the place of an option that is said to be the answer, None if another one follows: "B or C"."""
        place = self._place(match)
        more = self._forms.more.match(lines, match.end(_group(match)))
        return place if more is None or self._place(more) == place else None

    def _one(self, places: Iterator[int | None]) -> int | None:
        found = set(places)
        return found.pop() if len(found) == 1 else None

    def _place(self, match: re.Match[str]) -> int:
        name = match[_group(match)]
        if not name.isdigit():
            return PERSIAN_LETTERS.index(name) if name in PERSIAN_LETTERS else LETTERS.lower().index(name)
        number = int(name) - 1
        # Where options are numbers themselves, "the answer is 4" is the option that says 4, "option 4" the fourth.
        return number if _group(match) in ("numbered", "bracketed", "inner") else self._texts.get(name, number)


class _Forms(NamedTuple):
    """How options are named in plain lines; the one group that matched is the letter."""

    stated: re.Pattern[str]
    option: re.Pattern[str]
    more: re.Pattern[str]
    item: re.Pattern[str]


@cache
def _forms(count: int) -> _Forms:
    safe = "|".join((*LETTERS[1:count].lower(), *PERSIAN_LETTERS[:count]))
    # "The answer is a man's voice", "the answer is 2 metres": these must end there to be the name of an option.
    doubtful = "|".join(("a", *map(str, range(1, count + 1))))
    word_end, sign_end = rf"(?={_SIGN}*(?:\s|\Z))", rf"(?={_SIGN}+(?:\s|\Z)|\s*\Z)"
    listed_end = rf"(?={_SIGN}+(?:\s|\Z)|\s*\Z|\s+(?:{CONNECTIVE}|(?:are|است|هستند)(?!\w)))"
    any_ = f"{safe}|{doubtful}"
    option = rf"{_OPTION}{_OPEN}(?P<numbered>{any_}){word_end}{_DENIAL}"
    ended = rf"(?<!\w){_OPEN}(?P<ended>(?:{safe}){word_end}|(?:{doubtful}){sign_end}){_DENIAL}"
    # In Persian the verb stands last.
    before_verb = rf"(?<!\w){_OPEN}(?P<verb>{any_}){_CLOSE}\s+(?:است|هست|می ?باشد|خواهد بود)(?!\w)"
    # "B is the correct answer", "ب درست است": where a sentence begins, so that "A or B is" names none.
    rightness = r"(?:is\s+(?:the\s+)?(?:correct|right|best|answer)|(?:پاسخ\s+|جواب\s+)?(?:درست|صحیح)\s+است)(?!\w)"
    alone = rf"(?:^|(?<=[.:;!،؛] )){_OPEN}(?P<alone>{any_}){_CLOSE}\s+{rightness}"
    subject = rf"{_NOUN}(?:\s+(?!(?:not|never|cannot)\b)\w+){{0,2}}?\s*"
    verb = r"(?:\bis|\bbe|:|=)"
    more = rf"(?:[,،;؛/&]\s*{CONNECTIVE}?|{CONNECTIVE})\s*"
    beside = rf"(?:{safe}){word_end}|(?:{doubtful}){listed_end}"
    item_end = r"(?= ?(?:[.:;،؛,*_»/-]+(?:\s|\Z)|$))"
    return _Forms(
        re.compile(rf"{subject}(?:{verb}?\s*{option}|{verb}\s*{ended}|{before_verb})|{alone}", re.MULTILINE),
        re.compile(option),
        re.compile(rf"{_CLOSE}\.?\s*{more}(?:{option}|{_OPEN}(?P<beside>{beside}){_DENIAL})"),
        re.compile(
            rf"(?:^|[,،;؛/&] ?|{CONNECTIVE} ?){_OPEN}(?:(?P<bracketed>{any_})(?= ?[)\]])|(?P<item>{any_}){item_end})"
            rf"{_DENIAL}|(?<![\w.-])(?P<inner>{any_})(?=[)\]]){_DENIAL}",
            re.MULTILINE,
        ),
    )


def _group(match: re.Match[str]) -> str:
    return str(match.lastgroup)


def _kind(match: re.Match[str]) -> str:
    """Return the alphabet of a letter: where letters are the names, numbers beside them are something else."""
    name = match[_group(match)]
    return "digits" if name.isdigit() else "persian" if name in PERSIAN_LETTERS else "latin"


def plain(text: str) -> str:
    """Return a text with one spelling of letters and digits, its punctuation kept: "−1" and "1" stay two options."""
    letters = rules.nfkc(text).translate(_SPELLING)
    return " ".join(letters.casefold().split()).strip("*_`\"'«» ").rstrip(".").rstrip()
