"""Reads the tables of a user's copy: one folder a task, ``<Task>/<Task>.csv`` and its audio beside it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from orinbench_client.answers import ClosedSet, Label, fold
from orinbench_client.answers.entities import Entity, annotation_entities, listed_entities
from orinbench_client.answers.letters import LETTERS, PERSIAN_LETTERS
from orinbench_client.bundles.files import stays_inside
from orinbench_client.errors import BadInput
from orinbench_client.parsa.settings import (
    ANSWERS,
    Kind,
    ParsaSettings,
    Role,
    TaskSettings,
    data_labels,
)

_ID = re.compile(r"[A-Za-z0-9._-]{1,80}\Z")
_MOST_OPTIONS = 8
#: What stands between the names of options, and what may stand before one.
_BETWEEN = re.compile(r"[\s,،;/]+")
_OPTION = ("", "option", "گزینه", "گزینه ی", "ی")


@dataclass(frozen=True)
class Row:
    """One sample as its table has it. `kind` is the task's, or `choice` where there are options.

    `answer` is the right one: text, the name of a label or option, or a list of entities.
    """

    task: str
    sample_id: str
    kind: Kind
    audio: Path
    transcript: str | None
    question: str | None
    options: tuple[str, ...]
    answer: Any
    where: str


class _Table(NamedTuple):
    path: Path
    columns: Mapping[Role, str]
    kind: Kind


def read_tables(settings: ParsaSettings, source: Path) -> Iterator[Row]:
    """Yield the rows of every task, in the order of the settings. Raises BadInput naming file and line."""
    for task in settings.tasks:
        yield from _read_task(settings, task, source / task.folder.value)


def _read_task(settings: ParsaSettings, task: TaskSettings, folder: Path) -> Iterator[Row]:
    path = folder / f"{folder.name}.csv"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            table = _open_table(settings, task, path, list(reader.fieldnames or []))
            seen: dict[str, int] = {}
            for number, cells in enumerate(reader, 1):
                where = f"{path}:{reader.line_num}"
                row = _Reader(task, table, where, cells).row(number)
                if row.sample_id in seen:
                    raise BadInput(f"{where}: {row.sample_id!r} was there before, in line {seen[row.sample_id]}")
                seen[row.sample_id] = reader.line_num
                yield row
    except OSError as error:
        raise BadInput(f"{path}: the table of task {task.id} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: not a UTF-8 CSV table: {error}") from None
    if not seen:
        raise BadInput(f"{path}: the table of task {task.id} has no rows")


def _open_table(settings: ParsaSettings, task: TaskSettings, path: Path, header: list[str]) -> _Table:
    by_name = {name.strip().casefold(): name for name in header}
    columns: dict[Role, str] = {}
    for role in settings.columns.value:
        found = next((by_name[name] for name in _looked_for(settings, task, role) if name in by_name), None)
        if found is not None:
            columns[role] = found
    kind: Kind = "choice" if task.kind == "answer" and "options" in columns else task.kind
    needed: list[Role] = ["audio", ANSWERS[kind]]
    needed += ["options"] if kind == "choice" else []
    needed += ["question"] if "{question}" in task.prompt else []
    for role in needed:
        if role not in columns:
            names = ", ".join(_looked_for(settings, task, role))
            raise BadInput(
                f"{path}:1: no column for the {role} (looked for {names}; there are {', '.join(header) or 'none'}): "
                f"name yours under columns.{role} of task {task.id} in a declaration of your own"
            )
    return _Table(path, columns, kind)


def _looked_for(settings: ParsaSettings, task: TaskSettings, role: Role) -> list[str]:
    names = [*task.columns.get(role, []), *settings.columns.value.get(role, [])]
    return [name.casefold() for name in names]


class _Reader:
    """Reads one row of one table."""

    def __init__(self, task: TaskSettings, table: _Table, where: str, cells: Mapping[str, str]) -> None:
        self._task, self._table, self._where, self._cells = task, table, where, cells

    def row(self, number: int) -> Row:
        if None in self._cells or None in self._cells.values():
            raise BadInput(f"{self._where}: more or fewer cells than the header has")
        options = self._options() if self._table.kind == "choice" else ()
        return Row(
            self._task.id,
            self._sample_id(number),
            self._table.kind,
            self._audio(),
            self._cell("transcript") or None,
            self._question(),
            options,
            self._answer(options),
            self._where,
        )

    def _cell(self, role: Role) -> str:
        column = self._table.columns.get(role)
        return "" if column is None else self._cells[column].strip()

    def _given(self, role: Role) -> str:
        if text := self._cell(role):
            return text
        raise BadInput(f"{self._where}: the {role} is empty")

    def _sample_id(self, number: int) -> str:
        if "id" not in self._table.columns:
            return f"{self._task.id}.{number:05}"
        own = self._given("id")
        if not _ID.match(own):
            raise BadInput(f"{self._where}: id {own[:80]!r} must be 1 to 80 of A-Z a-z 0-9 . _ -")
        return f"{self._task.id}.{own}"

    def _audio(self) -> Path:
        name = self._given("audio")
        if not stays_inside(name):
            raise BadInput(f"{self._where}: audio {name!r} lies outside the task's folder")
        folder = self._table.path.parent
        for path in (folder / name, folder / "Audios" / name, folder.parent / name):
            if path.is_file():
                return path
        raise BadInput(f"{self._where}: audio {name!r} is neither in {folder} nor in its folder Audios")

    def _question(self) -> str | None:
        return self._given("question") if "{question}" in self._task.prompt else None

    def _options(self) -> tuple[str, ...]:
        text = self._given("options")
        try:
            found = json.loads(text)
        except ValueError:
            found = text.split("|")
        if not (isinstance(found, list) and all(isinstance(item, str) and item.strip() for item in found)):
            raise BadInput(f"{self._where}: options must be a JSON list of texts, or texts with | between")
        options = tuple(item.strip() for item in found)
        if not 2 <= len(options) <= _MOST_OPTIONS or len(set(options)) < len(options):
            raise BadInput(f"{self._where}: options must be 2 to {_MOST_OPTIONS}, all different")
        return options

    def _answer(self, options: tuple[str, ...]) -> Any:
        text = self._given(ANSWERS[self._table.kind])
        if self._table.kind == "choice":
            return options[self._option(text, options)]
        if self._table.kind == "label":
            return self._label(text)
        if self._table.kind == "entities":
            return [self._known(entity) for entity in _entities(text, self._where)]
        if not fold(text):
            raise BadInput(f"{self._where}: {ANSWERS[self._table.kind]} {text!r} holds no word")
        return text

    def _option(self, text: str, options: tuple[str, ...]) -> int:
        places = _named_options(text, options)
        if len(places) == 1:
            return places.pop()
        if not places:
            raise BadInput(f"{self._where}: answer {text!r} is none of the options: {', '.join(options)}")
        named = "; ".join(f"{LETTERS[place]}: {options[place]}" for place in sorted(places))
        raise BadInput(f"{self._where}: answer {text!r} names several options ({named}): give the letter of one")

    def _label(self, text: str, what: str = "label") -> str:
        labels = self._task.labels.value if self._task.labels else []
        place = data_labels(tuple(labels)).strict(text)
        if place is None:
            raise BadInput(
                f"{self._where}: {what} {text!r} is not in the set: {', '.join(label.name for label in labels)}"
            )
        return labels[place[1]].name

    def _known(self, entity: Entity) -> Entity:
        return entity._replace(type=self._label(entity.type, "entity type"))


def _named_options(text: str, options: tuple[str, ...]) -> set[int]:
    """Return the places of the options that an answer names: by text, by letter or number, or by both together."""
    texts = ClosedSet([Label(option) for option in options])
    words = [word for word in _BETWEEN.split(text) if fold(word) not in _OPTION]
    signs = [_place_of(word, len(options)) for word in words]
    named = texts.strict(text)
    if None not in signs:
        return {place for place in signs if place is not None} | ({named[1]} if named else set())
    if named:
        return {named[1]}
    behind = texts.strict(" ".join(words[1:]))
    return {signs[0], behind[1]} if signs[0] is not None and behind else set()


def _place_of(word: str, count: int) -> int | None:
    """Return the place of the option whose letter or number a word is, in brackets or with a full stop at most."""
    bare = word.strip("()[]*.:")
    signs = zip(LETTERS.lower(), map(fold, PERSIAN_LETTERS), map(str, range(1, count + 1)), strict=False)
    # "-1" and "1.5" are texts.
    return next((place for place, names in enumerate(signs) if bare.isalnum() and fold(bare) in names), None)


def _entities(text: str, where: str) -> list[Entity]:
    """Return the entities of a cell: a JSON list of type and value, or a sentence in MASSIVE's notation."""
    try:
        value = json.loads(text)
    except ValueError:
        return annotation_entities(text)
    found = listed_entities(value)
    if found is None:
        raise BadInput(f"{where}: entities must be a JSON list of objects with type and value")
    return found
