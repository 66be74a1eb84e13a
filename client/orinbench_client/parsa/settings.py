"""What a declaration of this kind says in its `settings`. Whatever the paper leaves open is here, and says so."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Generic, Literal, TypeVar

from orinbench_profiles import SuiteDeclaration, canonical_json, digest_bytes
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from orinbench_client.answers import LADDER, ClosedSet, Label
from orinbench_client.errors import BadInput

T = TypeVar("T")
Kind = Literal["transcript", "translation", "label", "choice", "entities", "answer"]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
#: What a row of a task's table may hold.
Role = Literal["id", "audio", "transcript", "translation", "label", "question", "options", "answer", "entities"]
CONDITIONS = ("zero-shot", "few-shot", "cot", "few-shot-cot", "text-only")
VARIANT = "condition"
#: The figures each kind of task can be ranked by.
METRICS: dict[Kind, tuple[str, ...]] = {
    "transcript": ("wer", "cer"),
    "translation": ("bleu", "chrf++"),
    "label": ("accuracy", "macro-f1"),
    "choice": ("choice-accuracy",),
    "entities": ("micro-f1",),
    "answer": ("token-f1",),
}
#: The role that holds the right answer.
ANSWERS: dict[Kind, Role] = {
    "transcript": "transcript",
    "translation": "translation",
    "label": "label",
    "choice": "answer",
    "entities": "entities",
    "answer": "answer",
}
SLOT = re.compile(r"\{(\w+)\}")
_SLOTS = {"labels", "question", "options"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Setting(_Strict, Generic[T]):
    """A value, and where it is from: the paper says it, or it is a convention of this suite."""

    value: T
    provenance: Literal["paper", "convention"]


class LabelSetting(_Strict):
    """A label, other names of it in replies, how else the data write it, and the numbers that stand for it."""

    name: str
    aliases: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    numbers: tuple[int, int] | None = None


@cache
def data_labels(labels: tuple[LabelSetting, ...]) -> ClosedSet:
    """Return the labels as the data may write them."""
    return ClosedSet([Label(label.name, (*label.aliases, *label.values)) for label in labels])


class TaskSettings(_Strict):
    """One task. `columns` are names of columns that only this task's table has, looked for first.

    A task of kind `answer` whose table has options is one of kind `choice`, and ranked as such.
    """

    id: Name
    title: str
    dimension: Name
    kind: Kind
    folder: Setting[str]
    samples: Setting[int]
    metric: Setting[str]
    prompt: str
    labels: Setting[list[LabelSetting]] | None = None
    tokenizer: Setting[Literal["13a", "intl"]] | None = None
    columns: dict[Role, list[str]] = {}

    @model_validator(mode="after")
    def _is_whole(self) -> TaskSettings:
        if self.metric.value not in METRICS[self.kind]:
            raise ValueError(f"metric {self.metric.value!r}: a task of kind {self.kind} has {METRICS[self.kind]}")
        if (self.labels is not None) != (self.kind in ("label", "entities")):
            raise ValueError("labels are for tasks of the kinds label and entities, which need them")
        if (self.tokenizer is not None) != (self.kind == "translation"):
            raise ValueError("a tokenizer is for translations, which need one")
        if unknown := set(SLOT.findall(self.prompt)) - _SLOTS:
            raise ValueError(f"the prompt has the slots {sorted(unknown)}: there are {sorted(_SLOTS)}")
        labels = tuple(self.labels.value) if self.labels else ()
        for place, label in enumerate(labels):
            if (found := data_labels(labels).strict(label.name)) is None or found[1] != place:
                raise ValueError(f"label {label.name!r}: another label has that name too, or it has no letters")
        if "{labels}" in self.prompt and self.labels is None:
            raise ValueError("the prompt has the slot 'labels', the task has none")
        return self


class Prompts(_Strict):
    """The texts around a task's own prompt. `digest` binds all texts a model is shown: see prompts_digest."""

    digest: str
    recording: str
    transcript: str
    no_transcript: str
    direct: dict[Kind, str]
    steps: str


class ParsaSettings(_Strict):
    """All settings. `max_tokens` is for answers as such and for answers that think first."""

    tasks: Annotated[list[TaskSettings], Field(min_length=1)]
    prompts: Prompts
    prompt_language: Setting[Literal["en"]]
    temperature: Setting[Literal[0]]
    refusals: Setting[Literal["incorrect"]]
    extraction: Setting[str]
    shots: Setting[Annotated[int, Field(ge=1, le=16)]]
    max_tokens: Setting[dict[Literal["direct", "steps"], Annotated[int, Field(ge=1)]]]
    columns: Setting[dict[Role, list[str]]]

    @model_validator(mode="after")
    def _is_sound(self) -> ParsaSettings:
        ids = [task.id for task in self.tasks]
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"tasks named twice: {', '.join(twice)}")
        if self.extraction.value != LADDER:
            raise ValueError(f"extraction {self.extraction.value!r}: this version has {LADDER}")
        if set(self.max_tokens.value) != {"direct", "steps"}:
            raise ValueError("max_tokens must say direct and steps")
        found = prompts_digest(self)
        if self.prompts.digest != found:
            raise ValueError(
                f"prompts.digest: the texts have {found}: another wording is another suite: give it an id of its own "
                "and this digest"
            )
        return self


def read_settings(declaration: SuiteDeclaration) -> ParsaSettings:
    """Return the settings of a declaration. Raises BadInput naming what is wrong."""
    variants = declaration.variants or {}
    if list(variants) != [VARIANT] or not set(variants[VARIANT]) <= set(CONDITIONS):
        raise BadInput(f"suite {declaration.id}: variants must be [{VARIANT}] with any of {', '.join(CONDITIONS)}")
    try:
        return ParsaSettings.model_validate(declaration.settings)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in ("settings", *problem["loc"]))
        raise BadInput(f"suite {declaration.id}: {where}: {problem['msg']}") from None


def prompts_digest(settings: ParsaSettings) -> str:
    """Return the digest of every text a model is shown."""
    around = settings.prompts.model_dump(mode="json", exclude={"digest"})
    return digest_bytes(canonical_json({**around, "tasks": {task.id: task.prompt for task in settings.tasks}}))
