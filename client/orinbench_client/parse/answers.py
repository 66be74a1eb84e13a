"""Upstream's stored answers of many models: read, and checked, from a folder laid out as upstream lays it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from orinbench_profiles import canonical_json

from orinbench_client.bundles.files import read_json
from orinbench_client.errors import BadInput
from orinbench_client.parse.layout import LANGUAGES, STRATEGIES
from orinbench_client.parse.questions import BOOLEAN, MULTICHOICE, TYPES

_PREFIX = "answers_"


@dataclass(frozen=True)
class StoredRun:
    """The answers of one model to the prompts of one language: its file for each type, and the answers by id.

    Of an id that comes twice the last counts. Of what the questions do not know (`strays`) nothing counts.
    """

    model: str
    language: str
    strategy: str
    split: str
    files: Mapping[str, Path]
    answers: Mapping[str, str]
    strays: tuple[str, ...]

    @property
    def run_id(self) -> str:
        """The name of its bundle."""
        return f"{self.model}-{self.language}-{self.strategy}"


def read_answers(directory: Path, strategy: str, splits: Mapping[str, Sequence[str]]) -> list[StoredRun]:
    """Return the answers of every model to the prompts of a strategy, by language.

    `splits` are the ids of the questions of each split: the split of a run is the smallest that holds all it answers.
    Raises BadInput for a model that lacks the file of a type, and for a row that is no answer.
    """
    if strategy not in STRATEGIES:
        raise BadInput(f"no strategy is called {strategy!r}: there are {', '.join(STRATEGIES)}")
    folder = directory / "evaluation" / strategy / "prompt_results"
    if not folder.is_dir():
        there = [name for name in STRATEGIES if (directory / "evaluation" / name / "prompt_results").is_dir()]
        raise BadInput(f"{folder}: no such folder: answers are there to {', '.join(there) or 'no strategy'}")
    runs = [
        _read_run(model, language, strategy, files, splits)
        for language in LANGUAGES
        for model, files in _models(folder, language)
    ]
    if not runs:
        raise BadInput(f"{folder}: no answers in it (expected TYPE/LANGUAGE/{_PREFIX}MODEL.json)")
    return runs


def _models(folder: Path, language: str) -> Iterator[tuple[str, dict[str, Path]]]:
    found: dict[str, dict[str, Path]] = {}
    for type_ in TYPES:
        for path in sorted((folder / type_ / language).glob(f"{_PREFIX}*.json")):
            found.setdefault(path.stem.removeprefix(_PREFIX), {})[type_] = path
    for model, files in sorted(found.items()):
        for type_ in TYPES:
            if type_ not in files:
                path = folder / type_ / language / f"{_PREFIX}{model}.json"
                raise BadInput(f"{path}: missing: {model} has answers to {', '.join(files)} alone")
        yield model, files


def _read_run(
    model: str, language: str, strategy: str, files: dict[str, Path], splits: Mapping[str, Sequence[str]]
) -> StoredRun:
    known = {name: set(ids) for name, ids in splits.items()}
    everything = set().union(*known.values())
    answered: dict[str, str] = {}
    strays: list[str] = []
    for type_, path in files.items():
        stored = read_file(path, type_)
        answered |= {key: answer for key, answer in stored.answers.items() if key in everything}
        strays += [*(key for key in stored.answers if key not in everything), *stored.strays]
    smallest = next(name for name in sorted(known, key=lambda name: len(known[name])) if answered.keys() <= known[name])
    return StoredRun(model, language, strategy, smallest, files, answered, tuple(dict.fromkeys(strays)))


class StoredFile(NamedTuple):
    """The answers of one file by id, each as JSON; `strays` are the ids in it that are of another type."""

    answers: dict[str, str]
    strays: list[str]


def read_file(path: Path, type_: str) -> StoredFile:
    """Return what a file of answers to questions of `type_` holds; of an id that comes twice the last counts.

    Raises BadInput.
    """
    rows = read_json(path)
    if not isinstance(rows, list):
        raise BadInput(f"{path}: must be a list of answers")
    stored = StoredFile({}, [])
    for number, row in enumerate(rows, 1):
        where = f"{path}: row {number}"
        for column in ("id", "predicted_answer"):
            if not isinstance(row, dict) or column not in row:
                raise BadInput(f"{where}: the column {column!r} is missing")
        if not isinstance(row["id"], str):
            raise BadInput(f"{where}: id must be a text")
        _check_answer(f"{where} ({row['id']})", type_, row["predicted_answer"])
        if row["id"].startswith(f"{type_}_"):
            stored.answers[row["id"]] = canonical_json(row["predicted_answer"]).decode()
        else:
            stored.strays.append(row["id"])
    return stored


def _check_answer(where: str, type_: str, answer: Any) -> None:
    if type_ == BOOLEAN:
        sound, wanted = isinstance(answer, bool), "true or false"
    elif type_ == MULTICHOICE:
        sound = isinstance(answer, list) and all(type(item) is int for item in answer)
        wanted = "a list of whole numbers"
    else:
        # A few of upstream's are a bare text, which its program walks letter by letter.
        sound = isinstance(answer, str) or (isinstance(answer, list) and all(isinstance(item, str) for item in answer))
        wanted = "a list of texts"
    if not sound:
        raise BadInput(f"{where}: predicted_answer {answer!r} must be {wanted}")
