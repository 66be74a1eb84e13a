"""The input of a chat model, and what is read out of its reply. No ML framework here."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from orinbench_profiles.schema import Declaration
from pydantic import Field, ValidationError

from orinbench_engines.audio import SAMPLE_RATE, Audio, decode
from orinbench_engines.contract import Sample
from orinbench_engines.failures import WorkerFailure, input_failure
from orinbench_engines.validation import first_problem

MEDIA_TYPE = "application/vnd.orinbench.chat+json"
_THINKING = ("<think>", "</think>")


class TextPart(Declaration):
    """A piece of text."""

    type: Literal["text"]
    text: str


class AudioPart(Declaration):
    """A recording: the sample's attachment of this number, from 0."""

    type: Literal["audio"]
    attachment: Annotated[int, Field(ge=0)]


class Message(Declaration):
    """One turn."""

    role: Literal["system", "user", "assistant"]
    content: Annotated[list[Annotated[TextPart | AudioPart, Field(discriminator="type")]], Field(min_length=1)]


class Greedy(Declaration):
    """The most likely token each time."""

    strategy: Literal["greedy"] = "greedy"


class Sampling(Declaration):
    """Draws from the most likely tokens that together have probability `top_p`; every sample starts at `seed`."""

    strategy: Literal["sample"]
    top_p: Annotated[float, Field(gt=0, le=1)]
    temperature: Annotated[float, Field(gt=0)]
    seed: Annotated[int, Field(ge=0, lt=2**63)]


Decoding = Greedy | Sampling


class Conversation(Declaration):
    """What a sample asks: the messages, and how the reply is decoded."""

    messages: Annotated[list[Message], Field(min_length=1)]
    decoding: Annotated[Decoding, Field(discriminator="strategy")] = Greedy()

    def turns(self, text_only: bool) -> list[dict[str, Any]]:
        """Return the messages as chat templates take them: content as one text, or as a list of parts."""
        return [
            {"role": message.role, "content": _joined(message) if text_only else _parts(message)}
            for message in self.messages
        ]

    def recordings(self, sample: Sample) -> list[Audio]:
        """Return the audio of the conversation in order. Raises WorkerFailure (input)."""
        parts = (part for message in self.messages for part in message.content)
        return [_recording(sample, part.attachment) for part in parts if isinstance(part, AudioPart)]


class Reply(NamedTuple):
    """New tokens, how many the prompt had, nanoseconds to the first new token, whether the limit cut it short."""

    tokens: list[int]
    prompt_tokens: int
    first_token_ns: int | None
    cut: bool


def read_conversation(sample: Sample) -> Conversation:
    """Read a sample: a conversation, or plain text, which is one user message. Raises WorkerFailure (input)."""
    try:
        if sample.media_type == "text/plain":
            return Conversation(
                messages=[Message(role="user", content=[TextPart(type="text", text=sample.data.decode())])]
            )
        if sample.media_type == MEDIA_TYPE:
            return Conversation.model_validate_json(sample.data)
    except ValidationError as error:
        raise _refuse(sample, "CHAT_INVALID", first_problem(error)) from None
    except UnicodeDecodeError as error:
        raise _refuse(sample, "CHAT_INVALID", f"not UTF-8: {error}") from None
    raise _refuse(sample, "MEDIA_TYPE", f"{sample.media_type}; a chat model takes {MEDIA_TYPE} or text/plain")


def require_text(sample: Sample, conversation: Conversation) -> None:
    """Refuse audio for a model that only reads. Raises WorkerFailure (input)."""
    if any(isinstance(part, AudioPart) for message in conversation.messages for part in message.content):
        raise _refuse(sample, "MEDIA_TYPE", "audio; this model takes text alone")


def split_reply(text: str, cut: bool) -> dict[str, Any]:
    """Return what is recorded beside the reply: how it ended and, of a model that thinks aloud, the two parts.

    Thinking that never ends leaves no answer. Some templates open the thinking themselves, so that only its end
    stands in the reply.
    """
    found: dict[str, Any] = {"finish_reason": "length" if cut else "stop"}
    begin, end = _THINKING
    if begin not in text and end not in text:
        return found
    thinking, closed, answer = text.rpartition(end)
    if not closed:
        thinking, answer = answer, ""
    return {**found, "thinking": thinking.replace(begin, "", 1).strip(), "answer_text": answer.strip()}


def seconds(recordings: list[Audio]) -> float | None:
    """Return the length of all recordings together; None without any."""
    return float(np.sum([len(audio) for audio in recordings])) / SAMPLE_RATE if recordings else None


def _joined(message: Message) -> str:
    return "".join(part.text for part in message.content if isinstance(part, TextPart))


def _parts(message: Message) -> list[dict[str, str]]:
    # Templates differ in what they look for in a recording; none reads it.
    return [
        {"type": "text", "text": part.text} if isinstance(part, TextPart) else {"type": "audio", "audio_url": "-"}
        for part in message.content
    ]


def _recording(sample: Sample, number: int) -> Audio:
    if number >= len(sample.attachments):
        raise _refuse(sample, "ATTACHMENT_MISSING", f"attachment {number} of {len(sample.attachments)}")
    attached = sample.attachments[number]
    name = f"{sample.sample_id}, attachment {number}"
    return decode(replace(sample, sample_id=name, data=attached.data, media_type=attached.media_type))


def _refuse(sample: Sample, reason: str, problem: str) -> WorkerFailure:
    return input_failure(reason, f"sample {sample.sample_id}: {problem}: prepare the suite again")
