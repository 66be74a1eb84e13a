"""From a reply to an answer, by upstream's rules, each reply asked once.

Upstream asks again until a reply can be read, so its files hold no unreadable one. Here that is an outcome of its own:
were it taken for an empty list, it would be right where the right answer is that there is none.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from orinbench_client.parse.questions import BOOLEAN, MULTICHOICE, OPTIONS
from orinbench_client.text.surrogates import replace_halves

CHAIN_OF_THOUGHT = "chain_of_thought"
YES = ("yes", "بله")
NO = ("no", "خیر", "خير", "نه")
MOST_ANSWERS = 4
#: Rules, in words: part of every scorer's digest.
DEFINITION = {
    "json": "the last of all matches of { to the first } after it, not overlapping, read as JSON",
    "boolean": f"answer, a text, lower case and stripped, one of {', '.join(YES + NO)}",
    "multichoice": f"answer, a list of numbers or texts of numbers; those outside 1-{OPTIONS} dropped; ascending",
    "factoid": f"answers, a list of texts, the first {MOST_ANSWERS}",
    "factoid, chain of thought": 'unless the reply ends in ]}, "]} is put to its end first; numbers become texts',
    "unparsable": "anything else: wrong, and no empty list",
}

Answer = bool | list[int] | list[str]


class Reply(NamedTuple):
    """What was read. `answer` is None where nothing could be; `rule` says how it was read, or why not."""

    answer: Answer | None
    rule: str


def read_reply(type_: str, strategy: str, text: str) -> Reply:
    """Read a reply to a question of a type, asked by a strategy. Never raises."""
    lists_numbers = type_ == "factoid" and strategy == CHAIN_OF_THOUGHT
    if lists_numbers and not text.endswith("]}"):
        text += '"]}'
    block = _last_block(text)
    if block is None:
        return Reply(None, "no JSON object")
    try:
        value = json.loads(replace_halves(block))
    except (ValueError, RecursionError):
        return Reply(None, "not valid JSON")
    if type_ == BOOLEAN:
        return _boolean(value)
    return _options(value) if type_ == MULTICHOICE else _texts(value, lists_numbers)


def _last_block(text: str) -> str | None:
    """Return the last match of ``{.*?}`` over lines, found in one pass whatever the text."""
    found, at = None, 0
    while (start := text.find("{", at)) >= 0 and (end := text.find("}", start)) >= 0:
        found, at = text[start : end + 1], end + 1
    return found


def _boolean(value: Any) -> Reply:
    answer = value.get("answer")
    if not isinstance(answer, str):
        return Reply(None, "answer missing, or no text")
    word = answer.lower().strip()
    if word not in YES + NO:
        return Reply(None, "answer neither yes nor no")
    return Reply(word in YES, "yes or no")


def _options(value: Any) -> Reply:
    answer = value.get("answer")
    if not isinstance(answer, list):
        return Reply(None, "answer missing, or no list")
    numbers = []
    for item in answer:
        if type(item) not in (str, int):
            return Reply(None, "an option is no number")
        try:
            numbers.append(int(item))
        except ValueError:
            return Reply(None, "an option is no number")
    return Reply(sorted(number for number in numbers if 1 <= number <= OPTIONS), "numbers of options")


def _texts(value: Any, numbers_too: bool) -> Reply:
    answers = value.get("answers")
    if not isinstance(answers, list):
        return Reply(None, "answers missing, or no list")
    if numbers_too and answers and all(type(item) is int for item in answers):
        answers = [str(item) for item in answers]
    if not all(isinstance(item, str) for item in answers):
        return Reply(None, "an answer is no text")
    return Reply(answers[:MOST_ANSWERS], "list of texts")
