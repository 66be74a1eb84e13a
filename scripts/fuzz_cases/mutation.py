"""Hostile messages: valid ones of the surface with hostile values in them, and bytes that are nearly messages."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_TEXTS = (
    "",
    "runs/../../etc/passwd",
    "../" * 50,
    "/etc/passwd",
    "sha256:" + "0" * 64,
    "sha256:../../" + "0" * 58,
    "sha256:" + "0" * 64 + "\n",
    "'; DROP TABLE runs; --",
    "a\0b",
    "\u202eevil\u2066",
    "سلام",
    "%s%s%n{0.__class__}",
    "x" * 100_000,
    "9" * 400,
    "-1",
)
_WHOLE = (0, 1, -1, 255, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63), 2**64 - 1)
_BROKEN = (float("nan"), float("inf"), float("-inf"), -0.0, 1e308, 5e-324, -1.0)
_BOUNDS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


def hostile(rng: random.Random, example: Message) -> bytes:
    """Return bytes made of an example: some fields with hostile values, and then perhaps not a message any more."""
    message = type(example)()
    message.CopyFrom(example)
    if rng.random() < 0.7:
        _spoil(rng, message, 0)
    data = message.SerializeToString()
    return rng.choice(_DAMAGES)(rng, data) if rng.random() < 0.5 else data


def _spoil(rng: random.Random, message: Any, depth: int) -> None:
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.6 or depth > 4:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            getattr(message, field.name).update({rng.choice(_TEXTS): rng.choice(_TEXTS)})
        elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            value = getattr(message, field.name)
            _spoil(rng, value.add() if hasattr(value, "add") else value, depth + 1)
        elif hasattr(getattr(message, field.name), "extend"):
            getattr(message, field.name).extend(_value(rng, field) for _ in range(rng.choice((1, 3, 1500))))
        else:
            setattr(message, field.name, _value(rng, field))


def _value(rng: random.Random, field: FieldDescriptor) -> Any:
    kind = field.cpp_type
    if kind in _BOUNDS:
        low, high = _BOUNDS[kind]
        return rng.choice([number for number in _WHOLE if low <= number <= high])
    if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return rng.choice(_BROKEN)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return rng.random() < 0.5
    text = rng.choice(_TEXTS)
    return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text


def _flip(rng: random.Random, data: bytes) -> bytes:
    spoiled = bytearray(data or b"\0")
    for _ in range(rng.randint(1, 8)):
        spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
    return bytes(spoiled)


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert(rng: random.Random, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.randbytes(rng.randint(1, 64)) + data[place:]


def _endless_number(rng: random.Random, data: bytes) -> bytes:
    return data + bytes([rng.randrange(1, 16) << 3]) + b"\xff" * rng.randint(9, 40)


def _lying_length(rng: random.Random, data: bytes) -> bytes:
    return data + bytes([(rng.randrange(1, 16) << 3) | 2]) + b"\xff\xff\xff\xff\x0f"


def _nest(rng: random.Random, _: bytes) -> bytes:
    """A field in a field in a field: deeper than any parser should follow."""
    tag, inner = (rng.randrange(1, 8) << 3) | 2, b""
    for _level in range(rng.choice((50, 200, 2000))):
        length, size = len(inner), b""
        while length > 127:
            size += bytes([length & 127 | 128])
            length >>= 7
        inner = bytes([tag]) + size + bytes([length]) + inner
    return inner


def _no_text(rng: random.Random, data: bytes) -> bytes:
    return data + bytes([(rng.randrange(1, 4) << 3) | 2, 4]) + b"\xff\xfe\xc0\x80"


def _random(rng: random.Random, _: bytes) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 10, 1000)))


_DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _flip,
    _cut,
    _insert,
    _endless_number,
    _lying_length,
    _nest,
    _no_text,
    _random,
)
