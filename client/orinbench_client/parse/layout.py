"""Upstream's folder: where its files are, that they are the pinned ones, and the prompts with their slots."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from orinbench_profiles import SuiteDeclaration
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from orinbench_client.errors import BadInput
from orinbench_client.parse.questions import MULTICHOICE, OPTIONS, TYPES, Question, read_questions

LANGUAGES = ("persian", "english")
STRATEGIES = ("zero_shot", "few_shot", "chain_of_thought")
#: Which files hold the questions of a split.
SPLITS: Mapping[str, tuple[str, ...]] = {"test": ("test",), "full": ("train", "test")}
_SLOT = re.compile(r"<[A-Z]\w*>")


class Sampling(BaseModel):
    """How the variant `sampled` decodes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    top_p: Annotated[float, Field(gt=0, le=1)]
    temperature: Annotated[float, Field(gt=0)]
    seed: int


class Settings(BaseModel):
    """The settings of a Parse suite.

    `max_tokens` by strategy; `samples` by split: how many there must be. `blobs` are the git blob ids of upstream's
    files at the pinned commit: whatever is named there is verified.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_tokens: dict[str, Annotated[int, Field(ge=1)]]
    samples: dict[str, Annotated[int, Field(ge=1)]]
    sampling: Sampling
    blobs: dict[str, Annotated[str, StringConstraints(pattern="^[0-9a-f]{40}$")]] = {}


def settings_of(declaration: SuiteDeclaration) -> Settings:
    """Return the settings of a suite. Raises BadInput."""
    try:
        return Settings.model_validate(declaration.settings)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        raise BadInput(f"suite {declaration.id}: settings.{key}: {problem['msg']}") from None


def dataset_file(name: str) -> str:
    """Return the path of a file of questions in the folder."""
    return f"dataset/{name}.json"


def prompt_file(strategy: str, language: str, type_: str) -> str:
    """Return the path of a prompt in the folder."""
    return f"evaluation/{strategy}/utils/{language}_prompt/{type_}.txt"


def layout_files() -> list[str]:
    """Return the paths of every file a suite is made of."""
    prompts = [
        prompt_file(strategy, language, type_) for strategy in STRATEGIES for language in LANGUAGES for type_ in TYPES
    ]
    return [*map(dataset_file, SPLITS["full"]), *prompts]


def blob_id(data: bytes) -> str:
    """Return the git blob id of a content: SHA-1 over ``blob``, its length and itself (git hash-object)."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def verify_files(folder: Path, blobs: Mapping[str, str], files: Sequence[str]) -> None:
    """Raise BadInput for a file that is missing or not the pinned one."""
    for name in files:
        found = blob_id(_read(folder / name))
        if name in blobs and found != blobs[name]:
            _read_through(folder / name)
            raise BadInput(
                f"{folder / name}: its git blob id is {found}, the suite says {blobs[name]}: the file was changed, or"
                " is of another commit"
            )


def _read_through(path: Path) -> None:
    """Raise BadInput if the content says itself what is wrong with it: that names the line."""
    if path.suffix == ".json":
        read_questions(path)
    else:
        Prompt(path, path.stem)


def read_split(folder: Path, split: str) -> list[Question]:
    """Return the questions of a split in order. Raises BadInput, for an id that comes twice too."""
    questions: dict[str, Question] = {}
    for name in SPLITS[split]:
        path = folder / dataset_file(name)
        for question in read_questions(path):
            if question.id in questions:
                raise BadInput(f"{path}: id {question.id!r} is there twice")
            questions[question.id] = question
    return sorted(questions.values(), key=lambda question: question.order)


class Prompt:
    """A prompt with its slots. Raises BadInput for one that lacks a slot, or has one that nothing fills."""

    def __init__(self, path: Path, type_: str) -> None:
        try:
            self.text = _read(path).decode()
        except UnicodeDecodeError as error:
            raise BadInput(f"{path}: not UTF-8 at byte {error.start}") from None
        slots = ["<Question>"]
        if type_ == MULTICHOICE:
            slots += [f"<Option_{number}>" for number in range(1, OPTIONS + 1)]
        for found in _SLOT.finditer(self.text):
            if found.group() not in slots:
                line = self.text.count("\n", 0, found.start()) + 1
                raise BadInput(f"{path}: line {line}: nothing fills the slot {found.group()}")
        for slot in slots:
            if slot not in self.text:
                raise BadInput(f"{path}: the slot {slot} is missing: the question would not be asked")

    def fill(self, question: Question) -> str:
        """Return the prompt of a question."""
        values = {"<Question>": question.text}
        values |= {f"<Option_{number}>": text for number, text in enumerate(question.options, 1)}
        # One pass: a question that holds what looks like a slot stays as it is.
        return _SLOT.sub(lambda slot: values[slot.group()], self.text)


def read_prompts(folder: Path, strategy: str, language: str) -> dict[str, Prompt]:
    """Return the prompts of a strategy and language by type. Raises BadInput."""
    return {type_: Prompt(folder / prompt_file(strategy, language, type_), type_) for type_ in TYPES}


def example_ids(folder: Path, questions: Sequence[Question]) -> set[str]:
    """Return the questions that stand solved in a few-shot prompt: found there by their text."""
    prompts = [prompt.text for language in LANGUAGES for prompt in read_prompts(folder, "few_shot", language).values()]
    everything = "\n".join(prompts)
    return {question.id for question in questions if question.text in everything}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
