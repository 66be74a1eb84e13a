"""The questions of Parse as upstream's files hold them, each checked before anything is run.

A file is three levels of objects, type → approach → subtype, around lists of questions. It is walked by hand, so that
whatever is wrong is named with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from orinbench_client.errors import BadInput

Answer = bool | str | list[str] | None
BOOLEAN, FACTOID, MULTICHOICE = "boolean", "factoid", "multichoice"
#: What there is, in the order of the published tables.
TYPES: Mapping[str, tuple[str, ...]] = {
    BOOLEAN: ("comparative", "negation", "simple"),
    MULTICHOICE: ("multi", "non_answerable", "single"),
    FACTOID: ("listbased", "nonanswerable", "simple"),
}
APPROACHES = ("multihop", "reasoning")
DIFFICULTIES = ("Easy", "Medium", "Hard")
OPTIONS = 4
_COLUMNS = {"id", "question", "answer", "difficulty"}
_decoder = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


class Question(NamedTuple):
    """One question with its right answer: true or false, one text, several, or None where there is no answer."""

    id: str
    type: str
    approach: str
    subtype: str
    difficulty: str
    text: str
    answer: Answer
    options: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Where it stands: in the order of the published tables, then by number."""
        subtypes = TYPES[self.type]
        place = (list(TYPES).index(self.type), APPROACHES.index(self.approach), subtypes.index(self.subtype))
        return (*place, int(self.id.rpartition("_")[2]))


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a file. Raises BadInput naming the file, the line and what is wrong there."""
    return [_question(where, labels, value) for where, labels, value in _walk(path)]


def _walk(path: Path) -> Iterator[tuple[str, tuple[str, str, str], Any]]:
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 at byte {error.start}") from None
    walker = _Walker(path, text)
    for type_ in walker.entries():
        for approach in walker.entries():
            for subtype in walker.entries():
                for where, value in walker.values():
                    yield where, (type_, approach, subtype), value
    walker.end()


class _Walker:
    """Goes through nested JSON objects one key at a time, and through a list one value at a time."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text
        self._at = 0
        self._line, self._counted = 1, 0

    def entries(self) -> Iterator[str]:
        """Yield the keys of the object that begins here; the value is to be taken before the next is asked for."""
        for _ in self._members("{", "}"):
            where, key = self._value()
            if not isinstance(key, str):
                raise BadInput(f"{where}: a key must be a text")
            self._expect(":")
            yield key

    def values(self) -> Iterator[tuple[str, Any]]:
        """Yield the values of the list that begins here, each with its place."""
        for _ in self._members("[", "]"):
            yield self._value()

    def end(self) -> None:
        """Raise BadInput when anything follows."""
        if self._peek():
            raise BadInput(f"{self._where()}: more text after the end of the questions")

    def _members(self, opening: str, closing: str) -> Iterator[None]:
        self._expect(opening)
        if self._peek() == closing:
            self._at += 1
            return
        while True:
            yield
            if self._peek() == closing:
                self._at += 1
                return
            self._expect(",")

    def _value(self) -> tuple[str, Any]:
        self._peek()
        where = self._where()
        try:
            value, self._at = _decoder.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            raise BadInput(f"{self._path}: line {error.lineno}: not valid JSON: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{where}: not valid JSON: {error}") from None
        return where, value

    def _peek(self) -> str:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._text[self._at : self._at + 1]

    def _expect(self, sign: str) -> None:
        found = self._peek()
        if found != sign:
            raise BadInput(f"{self._where()}: expected {sign!r}, found {found or 'the end of the file'!r}")
        self._at += 1

    def _where(self) -> str:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return f"{self._path}: line {self._line}"


def _question(where: str, labels: tuple[str, str, str], value: Any) -> Question:
    type_, approach, subtype = labels
    for name, label, known in (
        ("type", type_, list(TYPES)),
        ("approach", approach, list(APPROACHES)),
        ("subtype", subtype, list(TYPES.get(type_, ()))),
    ):
        if label not in known:
            raise BadInput(f"{where}: {name} {label!r} is none of {', '.join(known)}")
    if not isinstance(value, dict):
        raise BadInput(f"{where}: a question must be an object")
    columns = _COLUMNS | ({"options"} if type_ == MULTICHOICE else set())
    if missing := columns - set(value):
        raise BadInput(f"{where}: the column {min(missing)!r} is missing")
    if unknown := set(value) - columns:
        raise BadInput(f"{where}: {min(unknown)!r} is no column of a {type_} question")
    if not _is_text(value["question"]):
        raise BadInput(f"{where}: question must be a text")
    if value["difficulty"] not in DIFFICULTIES:
        raise BadInput(f"{where}: difficulty {value['difficulty']!r} is none of {', '.join(DIFFICULTIES)}")
    prefix = re.escape("_".join(labels))
    if not isinstance(value["id"], str) or not re.fullmatch(rf"{prefix}_[0-9]{{1,6}}", value["id"]):
        raise BadInput(f"{where}: id {value['id']!r} must be {'_'.join(labels)}_ and a number")
    options = _options(where, value.get("options", []))
    _check_answer(where, labels, value["answer"], options)
    return Question(value["id"], *labels, value["difficulty"], value["question"], value["answer"], options)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _options(where: str, value: Any) -> tuple[str, ...]:
    if value and not (_are_texts(value) and len(set(value)) == len(value) == OPTIONS):
        raise BadInput(f"{where}: options must be {OPTIONS} different texts")
    return tuple(value)


def _check_answer(where: str, labels: tuple[str, str, str], answer: Any, options: tuple[str, ...]) -> None:
    type_, _, subtype = labels
    if type_ == BOOLEAN:
        sound, wanted = isinstance(answer, bool), "true or false"
    elif subtype == "nonanswerable":
        sound, wanted = answer is None, "null"
    elif type_ == MULTICHOICE and subtype == "multi":
        sound, wanted = _are_texts(answer) and set(answer) <= set(options), "a list of options"
    elif type_ == MULTICHOICE:
        sound, wanted = answer in options, "one of the options"
    elif subtype == "listbased":
        sound, wanted = _are_texts(answer), "a list of texts"
    else:
        sound, wanted = _is_text(answer), "a text"
    if not sound:
        raise BadInput(f"{where}: answer {answer!r} must be {wanted}")
