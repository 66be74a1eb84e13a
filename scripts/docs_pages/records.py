"""The page on the API and its records, made from the protos with their comments."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    ServiceDescriptorProto,
)

PACKAGE = "orinbench.v1"
#: The order in which somebody reads them.
_FILES = ("record", "run", "telemetry", "board", "artifact", "errors")
# Numbers of descriptor.proto, of which the paths to comments are made.
_MESSAGE, _ENUM, _SERVICE, _PART = 4, 5, 6, 2


def page(protos: Path) -> str:
    """Return the page of the protos in a folder."""
    files = {file.name: file for file in descriptors(protos).file if file.package == PACKAGE}
    wanted = [f"orinbench/v1/{name}.proto" for name in _FILES]
    if set(wanted) != set(files):
        raise ValueError(f"files of {PACKAGE} that this page has or lacks: {sorted(set(wanted) ^ set(files))}")
    head = (
        f"# Records and the API\n\n<!-- Made by scripts/docs from proto/orinbench/v1: change it there. -->\n\n"
        f"Package `{PACKAGE}`. A run's journal is a sequence of [Record](#record), each with a "
        "[RecordBody](#recordbody); a bundle holds the same bytes in `records.bin`. *optional*: a field that is not "
        "set was not read, which is never the same as 0. Which role may call what: [security](../security.md#roles)."
    )
    return "\n\n".join([head, *(part for name in wanted for part in _File(files[name]).parts())]) + "\n"


def descriptors(protos: Path) -> FileDescriptorSet:
    """Return the compiled protos of a folder, comments included."""
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "image.binpb"
        command = [str(Path(sys.executable).with_name("buf")), "build", str(protos), "-o", str(image)]
        subprocess.run(command, check=True, timeout=60)
        return FileDescriptorSet.FromString(image.read_bytes())


class _File:
    """One proto: its comments by the path of what they are about."""

    def __init__(self, file: FileDescriptorProto) -> None:
        self._file = file
        self._comments = {
            tuple(place.path): place.leading_comments or place.trailing_comments
            for place in file.source_code_info.location
        }

    def parts(self) -> Iterator[str]:
        """Yield the sections of the file."""
        yield f"## {self._file.name.rpartition('/')[2]}"
        for index, service in enumerate(self._file.service):
            yield self._service(service, (_SERVICE, index))
        for index, message in enumerate(self._file.message_type):
            yield self._message(message, (_MESSAGE, index))
        for index, enum in enumerate(self._file.enum_type):
            yield self._enum(enum, (_ENUM, index))

    def _about(self, path: Sequence[int], *, cell: bool = False) -> str:
        text = self._comments.get(tuple(path), "")
        paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
        # What looks like a tag, or ends a cell, would not be shown.
        shown = (" " if cell else "\n\n").join(paragraphs).replace("<", "&lt;")
        return shown.replace("|", "\\|") if cell else shown

    def _section(self, name: str, path: Sequence[int], rows: Sequence[str], head: str) -> str:
        about = self._about(path)
        table = "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows]) if rows else "No fields."
        return "\n\n".join(part for part in (f"### {name}", about, table) if part)

    def _service(self, service: ServiceDescriptorProto, path: tuple[int, int]) -> str:
        rows = []
        for index, method in enumerate(service.method):
            asked = ("stream of " if method.client_streaming else "") + _link(method.input_type)
            given = ("stream of " if method.server_streaming else "") + _link(method.output_type)
            rows.append(f"| `{method.name}` | {asked} | {given} | {self._about((*path, _PART, index), cell=True)} |")
        return self._section(service.name, path, rows, "| method | request | response | |")

    def _message(self, message: DescriptorProto, path: tuple[int, int]) -> str:
        maps = {f".{PACKAGE}.{message.name}.{nested.name}": nested for nested in message.nested_type}
        if any(not nested.options.map_entry for nested in message.nested_type) or message.enum_type:
            raise ValueError(f"{message.name}: the page has no place for nested types")
        rows = []
        for index, field in enumerate(message.field):
            kind = _type(field, maps)
            about = self._about((*path, _PART, index), cell=True)
            rows.append(f"| {field.number} | `{field.name}` | {kind} | {about} |")
        return self._section(message.name, path, rows, "| no. | field | type | |")

    def _enum(self, enum: EnumDescriptorProto, path: tuple[int, int]) -> str:
        rows = [
            f"| {value.number} | `{value.name}` | {self._about((*path, _PART, index), cell=True)} |"
            for index, value in enumerate(enum.value)
        ]
        return self._section(enum.name, path, rows, "| no. | value | |")


def _type(field: FieldDescriptorProto, maps: dict[str, DescriptorProto]) -> str:
    if field.type_name in maps:
        key, value = maps[field.type_name].field
        return f"map of {_name(key)} to {_name(value)}"
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"list of {_name(field)}"
    if field.proto3_optional:
        return f"{_name(field)}, optional"
    return f"{_name(field)}, one of several" if field.HasField("oneof_index") else _name(field)


def _name(field: FieldDescriptorProto) -> str:
    if field.type_name:
        return _link(field.type_name)
    return FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()


def _link(full: str) -> str:
    name = full.rpartition(".")[2]
    return f"[{name}](#{name.lower()})" if full.startswith(f".{PACKAGE}.") else f"`{full.lstrip('.')}`"
