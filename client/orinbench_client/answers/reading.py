"""What was read out of a reply, and the steps all kinds of answers share."""

from __future__ import annotations

import json
import re
from typing import Any, Literal, NamedTuple

from orinbench_client.text.surrogates import replace_halves

State = Literal["ok", "unparsable", "refused"]

#: Only so many openings of JSON are tried, from the end: an answer stands there, and a reply may be a megabyte long.
_TRIES = 64
_CLOSED_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_MARK = r"(?:(?:final\s+)?answer|(?:پاسخ|جواب)(?:\s+نهایی)?)[*_\s]*[:：][*_\s]*"
_ANYWHERE = re.compile(rf"(?<!\w){_MARK}", re.IGNORECASE)
_AT_LINE_START = re.compile(rf"^[*_# \t]*{_MARK}", re.IGNORECASE | re.MULTILINE)
_decoder = json.JSONDecoder()


class Reading(NamedTuple):
    """An answer as read, None where there is none; the name of the rule that decided it; what it is."""

    value: Any
    rule: str
    state: State = "ok"


class Span(NamedTuple):
    """The part of a reply that says to be the answer, or the items of a list that does, and the rule by which."""

    rule: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it."""
        return ", ".join(self.parts)


def drop_thinking(reply: str) -> str | None:
    """Return what was said after the thinking; None when the thinking has no end, and so no answer came."""
    said = _CLOSED_THOUGHT.sub("", reply, count=1)
    return None if _OPEN_THOUGHT.search(said) else said


def explicit_answer(text: str, whole_lines: bool = False) -> Span | None:
    """Return the answer that a reply names as such: the last JSON object's, or what follows the last mark.

    `whole_lines` takes a mark only where a line begins, for answers in which it might be one of the words.
    """
    for value in json_values(text, "{"):
        if isinstance(value, dict) and ("answer" in value or "answers" in value):
            answer = value.get("answer", value.get("answers"))
            return Span("json", tuple(map(_as_text, answer if isinstance(answer, list) else [answer])))
    marks = list((_AT_LINE_START if whole_lines else _ANYWHERE).finditer(text))
    rest = text[marks[-1].end() :].strip() if marks else ""
    return Span("mark", (rest,)) if rest else None


def json_values(text: str, opening: str) -> list[Any]:
    """Return the JSON values that begin with `opening`, the last one first; what is nested counts too."""
    found = []
    text = replace_halves(text)
    place = len(text)
    for _ in range(_TRIES):
        place = text.rfind(opening, 0, place)
        if place < 0:
            break
        try:
            found.append(_decoder.raw_decode(text, place)[0])
        except (ValueError, RecursionError):
            continue
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_as_text(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
