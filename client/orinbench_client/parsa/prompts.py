"""What a model is asked: the messages of a sample under each condition, in English as the paper has it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from orinbench_profiles import canonical_json

from orinbench_client.answers.letters import LETTERS
from orinbench_client.errors import BadInput
from orinbench_client.parsa.prepared import PreparedRow
from orinbench_client.parsa.settings import SLOT, ParsaSettings, TaskSettings
from orinbench_client.suites.chat import Message, Part, audio, text


class Asker:
    """Builds the messages of one task under one condition.

    With examples each sample is preceded by the same few others of its task, never by itself: the first of `rows` in
    the order of the SHA-256 of their ids, as long as there are any with an answer that is not yet among them.
    """

    def __init__(
        self, settings: ParsaSettings, task: TaskSettings, condition: str, rows: Sequence[PreparedRow]
    ) -> None:
        self._settings = settings
        self._task = task
        self._heard = condition != "text-only"
        self.thinks = condition in ("cot", "few-shot-cot")
        count = settings.shots.value if condition in ("few-shot", "few-shot-cot") else 0
        if count >= len(rows):
            raise BadInput(
                f"task {task.id}: {count} examples and a question need {count + 1} samples, it has {len(rows)}"
            )
        self._pool = _choose(rows, count + 1) if count else []

    def ask(self, row: PreparedRow) -> tuple[list[Message], list[PreparedRow]]:
        """Return the messages of a sample, and the rows whose recordings they refer to, in the order of attachments."""
        shots = [shot for shot in self._pool if shot.sample_id != row.sample_id][: max(0, len(self._pool) - 1)]
        messages = []
        for place, shot in enumerate(shots):
            # The data hold no reasoning, so examples answer at once, also where the question asks for steps.
            messages.append(Message("user", self._question(shot, place, thinks=False)))
            messages.append(Message("assistant", [text(_answer(shot))]))
        messages.append(Message("user", self._question(row, len(shots), self.thinks)))
        return messages, [*shots, row] if self._heard else []

    def _question(self, row: PreparedRow, attachment: int, thinks: bool) -> list[Part]:
        prompts = self._settings.prompts
        prompt = SLOT.sub(lambda slot: self._filled(slot[1], row), self._task.prompt).strip()
        ending = prompts.direct[row.kind]
        wanted = f"{prompt}\n{ending}\n{prompts.steps}" if thinks else f"{prompt}\n{ending}"
        if self._heard:
            return [audio(attachment), text(f"{prompts.recording} {wanted}")]
        if row.transcript is None:
            return [text(f"{prompts.no_transcript} {wanted}")]
        return [text(f"{prompts.transcript} {wanted}\n\n{row.transcript}")]

    def _filled(self, slot: str, row: PreparedRow) -> str:
        if slot == "labels" and self._task.labels is not None:
            return ", ".join(label.name for label in self._task.labels.value)
        if slot == "options":
            return "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, row.options, strict=False))
        if slot == "question" and row.question:
            return row.question
        raise BadInput(f"sample {row.sample_id}: the prompt of task {self._task.id} has the slot {slot!r}, it has none")


def _answer(row: PreparedRow) -> str:
    """Return the right answer as a model should give it."""
    if row.kind == "choice":
        return LETTERS[row.options.index(str(row.answer))]
    if isinstance(row.answer, list):
        return canonical_json([entity._asdict() for entity in row.answer]).decode().strip()
    return row.answer


def _choose(rows: Sequence[PreparedRow], count: int) -> list[PreparedRow]:
    ordered = sorted(rows, key=lambda row: hashlib.sha256(row.sample_id.encode()).digest())
    chosen: list[PreparedRow] = []
    for row in ordered:
        if len(chosen) < count and all(_answer(row) != _answer(other) for other in chosen):
            chosen.append(row)
    chosen += [row for row in ordered if row not in chosen][: count - len(chosen)]
    return chosen
