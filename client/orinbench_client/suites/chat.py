"""The input of a chat model: messages and how to decode, as canonical JSON. One builder for every suite that asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from orinbench_profiles import canonical_json

MEDIA_TYPE = "application/vnd.orinbench.chat+json"
Part = Mapping[str, Any]


@dataclass(frozen=True)
class Greedy:
    """The most likely token each time."""

    strategy: Literal["greedy"] = "greedy"


@dataclass(frozen=True)
class Sampling:
    """Draws from the most likely tokens that together have probability `top_p`; every sample starts at `seed`."""

    top_p: float
    temperature: float
    seed: int
    strategy: Literal["sample"] = "sample"


Decoding = Greedy | Sampling
GREEDY = Greedy()


@dataclass(frozen=True)
class Message:
    """One turn."""

    role: Literal["system", "user", "assistant"]
    content: Sequence[Part]


def text(content: str) -> Part:
    """Return a piece of text."""
    return {"type": "text", "text": content}


def audio(attachment: int) -> Part:
    """Return a recording: the sample's attachment of this number, from 0, in the inputs manifest."""
    return {"type": "audio", "attachment": attachment}


def chat_input(messages: Sequence[Message], decoding: Decoding = GREEDY) -> bytes:
    """Return the input of a sample. How many tokens the answer may have stands in the inputs manifest."""
    turns = [{"role": message.role, "content": list(message.content)} for message in messages]
    return canonical_json({"messages": turns, "decoding": asdict(decoding)})
