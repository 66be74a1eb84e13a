"""Answers that are a text: a transcript, a translation, a short answer."""

from __future__ import annotations

import re

from orinbench_client.answers.reading import Reading, drop_thinking, explicit_answer
from orinbench_client.answers.refusals import refusal_in

_FENCE = "```"
_OPENING = re.compile(rf"{_FENCE}\w*(\s*)")
_LEAD_IN = re.compile(
    r"\A[*_#\s]*(?:(?:the\s+)?(?:transcript(?:ion)?|translation|text)|متن|رونویسی|ترجمه|answer|پاسخ)[*_\s]*[:：][*_\s]*",
    re.IGNORECASE,
)
_QUOTES = {'"': '"', "“": "”", "«": "»", "'": "'"}


def read_free(reply: str, reference: str) -> Reading:
    """Return the text a reply gives as its answer; a refusal has none.

    Words of refusal that the right answer holds as well are taken for an answer.
    """
    said = drop_thinking(reply)
    if said is None:
        return Reading(None, "unfinished-thinking", "unparsable")
    span = explicit_answer(said, whole_lines=True)
    text, rule = (said.strip(), "text") if span is None else (span.text.strip(), span.rule)
    if (fenced := _in_fence(text)) is not None:
        text, rule = fenced.strip(), f"{rule}/fence"
    if lead := _LEAD_IN.match(text):
        text, rule = text[lead.end() :].strip(), f"{rule}/lead-in"
    text = _unquoted(text)
    if not text:
        return Reading(None, "empty", "unparsable")
    language = refusal_in(text, free=True)
    if language and not refusal_in(reference, free=True):
        return Reading(None, f"refusal-{language}", "refused")
    return Reading(text, rule)


def _in_fence(text: str) -> str | None:
    """Return what a code fence around all of a text holds; None if there is none."""
    opening = _OPENING.match(text)
    if opening is None or "\n" not in opening[1] or not text.endswith(_FENCE):
        return None
    return text[opening.end() : -len(_FENCE)] if len(text) - opening.end() >= len(_FENCE) else None


def _unquoted(text: str) -> str:
    """Return a text without the quotation marks around all of it."""
    if len(text) > 1 and text[-1] == _QUOTES.get(text[0]) and text[0] not in text[1:-1] and text[-1] not in text[1:-1]:
        return text[1:-1].strip()
    return text
