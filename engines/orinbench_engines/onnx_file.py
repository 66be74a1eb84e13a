"""What an ONNX file holds: operators, the types of its weights, the data files beside it.

Read off the protobuf's wire format in place: the library that knows the format would take the weights into memory
with it, and no runtime tells the types of weights. Only lengths and short fields are touched, so that the size of a
file does not matter. Field numbers are those of onnx.proto.
"""

from __future__ import annotations

import mmap
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import NamedTuple

# Which fields of a message are messages to look into, by field number.
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
    "entry": {},
}
_OP_TYPE, _DIMS, _DATA_TYPE, _KEY, _VALUE = 4, 1, 2, 1, 2
_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}
# TensorProto.DataType, as torch calls the types.
_FLOATING = {
    1: "float32",
    10: "float16",
    11: "float64",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    23: "float4_e2m1",
    24: "float8_e8m0",
    27: "float6_e2m3",
    28: "float6_e3m2",
}
# ONNX's own and those of runtimes and tools: QuantizeLinear, ConvInteger, QLinearConv, QAttention, MatMulNBits, Quant …
_QUANTISING = re.compile(r"[Qq]uant(?!ile)|Integer|NBits|Bnb4|FpQ4|^Q[A-Z]")
_WIDTH = re.compile(r"\d+")


class NotOnnx(ValueError):
    """The bytes are no ONNX model."""


class _Field(NamedTuple):
    """A field of a message: its number, what it holds, and all of it as it stands in the file."""

    number: int
    value: memoryview | int
    whole: memoryview


class OnnxFile:
    """An ONNX file, looked through. Raises NotOnnx where it is none."""

    def __init__(self, path: Path) -> None:
        self._bytes = _mapped(path)
        self.quantising: set[str] = set()
        """Operators that quantise or compute on quantised weights."""
        self.elements: Counter[str] = Counter()
        """How many elements of each floating type the weights and constants have."""
        self.locations: set[str] = set()
        """The data files that hold weights, relative to the file, as it names them."""
        graphs = 0
        for kind, message in _walk("model", self._bytes):
            graphs += kind == "graph"
            self._take(kind, message)
        if not graphs:
            raise NotOnnx("it holds no graph")

    def with_locations(self, locations: Mapping[str, str]) -> bytes:
        """Return the file's bytes with other names for its data files."""
        return _renamed("model", self._bytes, {old.encode(): new.encode() for old, new in locations.items()})

    def _take(self, kind: str, message: memoryview) -> None:
        if kind == "node":
            operator = next((_text(field.value) for field in _fields(message) if field.number == _OP_TYPE), "")
            if _QUANTISING.search(operator):
                self.quantising.add(operator)
        elif kind == "tensor":
            self._count(message)
        elif kind == "entry":
            key, value = _entry(message)
            if key == b"location":
                self.locations.add(_text(value))

    def _count(self, tensor: memoryview) -> None:
        kind, sizes = 0, list[int]()
        for field in _fields(tensor):
            if field.number == _DATA_TYPE and isinstance(field.value, int):
                kind = field.value
            elif field.number == _DIMS:
                sizes += [field.value] if isinstance(field.value, int) else _packed(field.value)
        count = prod(sizes)
        if kind in _FLOATING and count:
            self.elements[_FLOATING[kind]] += count


def narrower(kind: str, declared: str) -> bool:
    """Tell whether a floating type is another one than the declared and not wider."""
    return kind != declared and _width(kind) <= _width(declared)


def _width(kind: str) -> int:
    found = _WIDTH.search(kind)
    return int(found[0]) if found else 0


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError:
            raise NotOnnx("it is empty") from None


def _walk(kind: str, message: memoryview) -> Iterator[tuple[str, memoryview]]:
    """Yield a message and all that are in it."""
    yield kind, message
    for field in _fields(message):
        inner = _INSIDE[kind].get(field.number)
        if inner is not None and isinstance(field.value, memoryview):
            yield from _walk(inner, field.value)


def _renamed(kind: str, message: memoryview, names: Mapping[bytes, bytes]) -> bytes:
    if kind == "entry":
        key, value = _entry(message)
        return _message(_KEY, key) + _message(_VALUE, names[value] if key == b"location" else value)
    parts: list[bytes | memoryview] = []
    for field in _fields(message):
        inner = _INSIDE[kind].get(field.number)
        if inner is None or isinstance(field.value, int):
            parts.append(field.whole)
        else:
            parts.append(_message(field.number, _renamed(inner, field.value, names)))
    return b"".join(parts)


def _fields(message: memoryview) -> Iterator[_Field]:
    at = 0
    while at < len(message):
        start = at
        tag, at = _varint(message, at)
        kind = tag & 7
        value: memoryview | int
        if kind == _VARINT:
            value, at = _varint(message, at)
        else:
            size, at = _varint(message, at) if kind == _BYTES else (_FIXED.get(kind, 0), at)
            if (kind != _BYTES and not size) or size > len(message) - at:
                raise NotOnnx("it is cut short or damaged")
            value, at = message[at : at + size], at + size
        yield _Field(tag >> 3, value, message[start:at])


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise NotOnnx("it is cut short or damaged")


def _packed(values: memoryview) -> list[int]:
    found, at = list[int](), 0
    while at < len(values):
        value, at = _varint(values, at)
        found.append(value)
    return found


def _entry(message: memoryview) -> tuple[bytes, bytes]:
    found = {field.number: bytes(field.value) for field in _fields(message) if isinstance(field.value, memoryview)}
    return found.get(_KEY, b""), found.get(_VALUE, b"")


def _text(value: memoryview | bytes | int) -> str:
    if isinstance(value, int):
        raise NotOnnx("it has a number where a name must be")
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError:
        raise NotOnnx("it has a name that is not UTF-8") from None


def _message(number: int, body: bytes) -> bytes:
    return _as_varint(number << 3 | _BYTES) + _as_varint(len(body)) + body


def _as_varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
