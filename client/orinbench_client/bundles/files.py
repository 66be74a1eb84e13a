"""Reading and writing of bundle files: bounded and strict when reading, whole or not at all when writing."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from orinbench_profiles.digest import canonical_json, digest_file
from pydantic import BaseModel, ValidationError

from orinbench_client.errors import BadInput

MANIFEST = "manifest.json"
MANIFEST_SCHEMA = "orinbench-bundle-1"
#: Longer lines are refused: no sample's record comes near, and a text of megabytes would take hours to align.
MAX_LINE = 1 << 20
_MAX_JSON = 64 << 20
_BOM = b"\xef\xbb\xbf"

M = TypeVar("M", bound=BaseModel)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file. Raises BadInput with the file and the place of what is wrong."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_JSON + 1)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _MAX_JSON:
        raise BadInput(f"{path}: larger than {_MAX_JSON >> 20} MiB: this is no file of a bundle")
    return _parse(data, str(path))


def read_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield ``(place, value)`` of each line of a JSON Lines file, place being ``file: line N``.

    Raises BadInput for a byte order mark, CRLF, a line over 1 MiB, an empty or unfinished line, NaN.
    """
    try:
        with path.open("rb") as file:
            yield from _parse_lines(file, path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None


def _parse_lines(file: BinaryIO, path: Path) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        place = f"{path}: line {number}"
        if len(line) > MAX_LINE:
            raise BadInput(f"{place}: longer than {MAX_LINE >> 20} MiB: no record is that long")
        if not line.endswith(b"\n"):
            raise BadInput(f"{place}: cut short: it does not end with a line feed; copy the file again")
        yield place, _parse(line, place)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number JSON knows")


_decode: Callable[[str], Any] = json.JSONDecoder(parse_constant=_refuse_constant).decode


def _parse(data: bytes, place: str) -> Any:
    if data.startswith(_BOM):
        raise BadInput(f"{place}: begins with a byte order mark: save it as UTF-8 without one")
    if b"\r\n" in data:
        raise BadInput(f"{place}: ends with CRLF: bundles have LF alone; copy the file without conversion")
    try:
        value = _decode(data.decode())
        if b"\\u" in data:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadInput(f"{place}: holds half of a surrogate pair: no text that can be written") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{place}: not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise BadInput(f"{place}: nested too deeply") from None
    except ValueError as error:
        raise BadInput(f"{place}: not valid JSON: {error}") from None
    return value


def parse_model(schema: type[M], value: Any, place: str) -> M:
    """Return `value` as a pydantic model. Raises BadInput that names the place and the fields."""
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc']) or 'the record'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)[:5]
        )
        raise BadInput(f"{place}: {problems}") from None


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None


def write_file(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file whole or not at all: to a sibling, synced, then renamed over `path`. Raises BadInput."""
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a temporary sibling of `path` to be filled; it becomes `path` on leaving, or vanishes on an error.

    Raises BadInput when `path` is there already or cannot be written.
    """
    if path.exists():
        raise BadInput(f"{path}: is there already: nothing is ever written over a bundle")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=".tmp-"))
        try:
            folder.chmod(0o755)
            yield folder
            sync_tree(folder)
            folder.rename(path)
            _sync_folder(path.parent)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def sync_tree(folder: Path) -> None:
    """Flush every file below `folder` and its folders to the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        else:
            _sync_folder(path)
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def stays_inside(name: str) -> bool:
    """Tell whether a relative path, as a file of others names it, leads nowhere out of its folder."""
    return not name.startswith("/") and ".." not in name.split("/")


def write_manifest(folder: Path) -> None:
    """Write manifest.json over every file that is in `folder` now."""
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": digest_file(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    content = {"schema": MANIFEST_SCHEMA, "files": files}
    (folder / MANIFEST).write_bytes(canonical_json(content))


def verify_manifest(folder: Path) -> dict[str, str]:
    """Check each file that manifest.json names, and return their digests by name. Raises BadInput."""
    path = folder / MANIFEST
    content = read_json(path)
    files = content.get("files") if isinstance(content, dict) else None
    if not isinstance(files, dict) or content.get("schema") != MANIFEST_SCHEMA or "run.json" not in files:
        raise BadInput(f"{path}: not the manifest of a bundle (schema {MANIFEST_SCHEMA})")
    return {name: _verify_file(folder, name, facts) for name, facts in files.items()}


def _verify_file(folder: Path, name: str, facts: Any) -> str:
    path = folder / name
    if not stays_inside(name):
        raise BadInput(f"{folder / MANIFEST}: names {name!r}, which is outside the bundle")
    try:
        found = digest_file(path)
    except OSError as error:
        raise BadInput(f"{path}: named by the manifest, cannot be read: {error.strerror}") from None
    if not isinstance(facts, dict) or facts.get("sha256") != found:
        raise BadInput(f"{path}: changed since the bundle was written: restore it, or import or fetch the run again")
    return found
