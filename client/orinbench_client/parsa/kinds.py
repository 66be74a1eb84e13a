"""The kinds of tasks: how a reply is read, and which whole numbers an answer comes to."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

from orinbench_client.answers import ClosedSet, Entity, Label, Reading, fold, read_closed, read_entities, read_free
from orinbench_client.answers.folding import POLICY
from orinbench_client.errors import BadInput
from orinbench_client.metrics import EditCounts, character_edits, word_edits
from orinbench_client.metrics.overlap import Tokenizer, bleu_counts, chrf_counts
from orinbench_client.scoring.diagnostics import ZWNJ_JOIN
from orinbench_client.text import get_normalizer, rules


class Kind(ABC):
    """One sample's right answer, and how replies are held against it.

    `figures` are the names of what a task of the kind is measured by. `stats` are whole numbers that add up to them.
    """

    figures: ClassVar[tuple[str, ...]]

    def __init__(self, reference: dict[str, Any]) -> None:
        self.answer = reference["answer"]

    @abstractmethod
    def read(self, reply: str) -> Reading:
        """Return the answer in a reply."""

    @abstractmethod
    def stats(self, answer: Any) -> tuple[int, ...]:
        """Return the stats of an answer as read, None where there is none."""

    @abstractmethod
    def earned(self, stats: tuple[int, ...]) -> bool:
        """Tell whether an answer with these stats is worth anything."""


class _Free(Kind):
    def read(self, reply: str) -> Reading:
        """Return the answer in a reply."""
        return read_free(reply, self.answer)


class Transcript(_Free):
    """Word edits and words, character edits and characters, and the words again with ZWNJ joined."""

    figures = ("wer", "cer", "wer-zwnj-joined")

    def stats(self, answer: Any) -> tuple[int, ...]:
        """Return the counts the class's docstring names."""
        return (*self._edits(answer, POLICY, word_edits, character_edits), *self._edits(answer, ZWNJ_JOIN, word_edits))

    def _edits(self, answer: str | None, policy: str, *counters: Any) -> Iterable[int]:
        normalize = get_normalizer(policy).normalize
        expected, found = normalize(self.answer), normalize(answer or "")
        if not expected:
            raise BadInput(f"reference {self.answer!r} is empty after {policy}: invalid suite data")
        for counter in counters:
            counts: EditCounts = counter(expected, found)
            yield from (counts.edits, counts.units)

    def earned(self, stats: tuple[int, ...]) -> bool:
        """Tell whether there are fewer edits than words."""
        return stats[0] < stats[1]


class Translation(_Free):
    """The counts of BLEU and of chrF++. Persian is spelled one way first; its ZWNJ and punctuation stay."""

    figures = ("bleu", "chrf++")

    def __init__(self, reference: dict[str, Any]) -> None:
        super().__init__(reference)
        self.tokenizer: Tokenizer = reference["tokenizer"]

    def stats(self, answer: Any) -> tuple[int, ...]:
        """Return the counts the class's docstring names."""
        expected, found = self._spelled(self.answer), self._spelled(answer or "")
        return (*bleu_counts(found, expected, self.tokenizer), *chrf_counts(found, expected))

    def _spelled(self, text: str) -> str:
        return rules.nfkc(text).translate(rules.LETTERS) if self.tokenizer == "intl" else text

    def earned(self, stats: tuple[int, ...]) -> bool:
        """Tell whether a word is right."""
        return stats[2] > 0


class Answer(_Free):
    """SQuAD's token F1 (Rajpurkar et al. 2016) over folded words, without its rule for English articles."""

    figures = ("token-f1",)

    def stats(self, answer: Any) -> tuple[int, ...]:
        """Return the counts the class's docstring names."""
        expected, found = Counter(fold(self.answer).split()), Counter(fold(answer or "").split())
        if not expected:
            raise BadInput(f"reference {self.answer!r} holds no word: invalid suite data")
        return 2 * sum((found & expected).values()), sum(found.values()) + sum(expected.values())

    def earned(self, stats: tuple[int, ...]) -> bool:
        """Tell whether anything is right."""
        return stats[0] > 0


class Closed(Kind):
    """A class out of a set: whether it is right, 1, the place of the right one, and of the one given or −1."""

    figures: ClassVar[tuple[str, ...]] = ("accuracy", "macro-f1")

    def __init__(self, reference: dict[str, Any]) -> None:
        super().__init__(reference)
        self.labels, self.names = self._set(reference)

    def _set(self, reference: dict[str, Any]) -> tuple[ClosedSet, Sequence[str]]:
        labels = json.dumps(reference["labels"])
        return _label_set(labels)

    def read(self, reply: str) -> Reading:
        """Return the answer in a reply."""
        reading = read_closed(reply, self.labels)
        return reading if reading.value is None else reading._replace(value=self.names[reading.value])

    def stats(self, answer: Any) -> tuple[int, ...]:
        """Return the counts the class's docstring names."""
        right = self.names.index(self.answer)
        return int(answer == self.answer), 1, right, -1 if answer is None else self.names.index(answer)

    def earned(self, stats: tuple[int, ...]) -> bool:
        """Tell whether anything is right."""
        return stats[0] > 0


class Choice(Closed):
    """An option of a question: as a class, but every question has its own."""

    figures: ClassVar[tuple[str, ...]] = ("choice-accuracy",)

    def _set(self, reference: dict[str, Any]) -> tuple[ClosedSet, Sequence[str]]:
        return ClosedSet.options(reference["options"]), reference["options"]


class Entities(Kind):
    """Twice the entities that are right in type and words, all found and expected, and the same of words alone."""

    figures = ("micro-f1", "value-f1")

    def read(self, reply: str) -> Reading:
        """Return the answer in a reply."""
        return read_entities(reply)

    def stats(self, answer: Any) -> tuple[int, ...]:
        """Return the counts the class's docstring names."""
        found, expected = Counter(answer or ()), Counter(Entity(*entity).folded() for entity in self.answer)
        values = [Counter(entity.value for entity in side.elements()) for side in (found, expected)]
        listed = sum(found.values()) + sum(expected.values())
        return 2 * sum((found & expected).values()), listed, 2 * sum((values[0] & values[1]).values()), listed

    def earned(self, stats: tuple[int, ...]) -> bool:
        """Tell whether an entity is right. To find nothing where there is nothing is right too."""
        return stats[0] > 0 or stats[1] == 0


KINDS: dict[str, type[Kind]] = {
    "transcript": Transcript,
    "translation": Translation,
    "label": Closed,
    "choice": Choice,
    "entities": Entities,
    "answer": Answer,
}


@cache
def _label_set(labels: str) -> tuple[ClosedSet, Sequence[str]]:
    read = [Label(name, tuple(aliases), numbers and tuple(numbers)) for name, aliases, numbers in json.loads(labels)]
    return ClosedSet(read), [label.name for label in read]
