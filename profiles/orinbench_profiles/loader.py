"""Reads declarations by name or from a user's file, validates them and gives them a digest."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import ValidationError

from orinbench_profiles.digest import canonical_json, digest_bytes
from orinbench_profiles.schema import (
    Declaration,
    FolderSource,
    HardwareProfile,
    ModelDeclaration,
    ModelFile,
    PackagedSource,
    SuiteDeclaration,
)

_PACKAGE = Path(__file__).parent
#: A declaration of a thousand files has not a tenth of it.
MAX_DECLARATION_BYTES = 4 << 20
Kind = Literal["suites", "models", "hardware"]
D = TypeVar("D", bound=Declaration)


class DeclarationError(ValueError):
    """A declaration is missing or wrong. The text says which file, which key and what to do."""


@dataclass(frozen=True)
class Loaded(Generic[D]):
    """A declaration, the canonical JSON it is sent as, the digest of that, and the folder of its data (or None).

    `home` is the folder of the declaration file itself.
    """

    declaration: D
    canonical: bytes
    digest: str
    folder: Path | None
    home: Path


def list_declarations(kind: Kind) -> list[str]:
    """Return the names of our own declarations of one kind, sorted."""
    return sorted(path.stem for path in (_PACKAGE / kind).glob("*.toml"))


def load_suite(name: str) -> Loaded[SuiteDeclaration]:
    """Load a suite by our name, or from a folder that holds suite.toml. Raises DeclarationError.

    ``NAME:WORD,WORD`` chooses among the suite's variants; what is not chosen is the first of its kind.
    """
    words: list[str] = []
    if ":" in name and not is_folder(name):
        name, _, chosen = name.rpartition(":")
        words = chosen.split(",")
    loaded = _load("suites", f"{name}/suite.toml" if is_folder(name) else name, SuiteDeclaration)
    if not words:
        return loaded
    try:
        declaration = loaded.declaration.choose(words)
    except ValueError as error:
        raise DeclarationError(str(error)) from None
    return replace(loaded, declaration=declaration)


def load_model(name: str) -> Loaded[ModelDeclaration]:
    """Load a model by our name, or from a .toml file. Raises DeclarationError."""
    return _load("models", name, ModelDeclaration)


def load_hardware(name: str) -> Loaded[HardwareProfile]:
    """Load a hardware profile by our name, or from a .toml file. Raises DeclarationError."""
    return _load("hardware", name, HardwareProfile)


def is_folder(name: str) -> bool:
    """Tell whether a name given by a user is that of a folder; what no path can be is none."""
    try:
        return bool(name.strip()) and Path(name).is_dir()
    except OSError:
        return False


def parse_model(data: bytes) -> ModelDeclaration:
    """Read a model declaration from its canonical JSON. Raises DeclarationError."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DeclarationError(f"the model declaration is not JSON: {error}") from None
    return _validate(ModelDeclaration, value, "the model declaration")


def canonical_declaration(declaration: Declaration) -> bytes:
    """Return the canonical JSON of a declaration: what is sent, and what its digest is taken of."""
    return canonical_json(declaration.model_dump(mode="json", exclude_none=True))


def resolve_model(declaration: ModelDeclaration, digest: str, files: Sequence[ModelFile]) -> ModelDeclaration:
    """Return the declaration of `digest` with the files that its source.include turned out to be."""
    value = declaration.model_copy(update={"files": list(files), "resolves": digest}).model_dump(mode="json")
    return _validate(ModelDeclaration, value, f"model {declaration.id}")


def execution_contract_digest() -> str:
    """Return the digest of the rules every run is executed under (contract.toml)."""
    return digest_bytes(canonical_json(_read_toml(_PACKAGE / "contract.toml")))


def _load(kind: Kind, name: str, schema: type[D]) -> Loaded[D]:
    path = Path(name) if name.endswith(".toml") else _named(kind, name)
    declaration = _validate(schema, _read_toml(path), str(path))
    canonical = canonical_declaration(declaration)
    return Loaded(declaration, canonical, digest_bytes(canonical), _folder(declaration, path), path.parent)


def _named(kind: Kind, name: str) -> Path:
    names = list_declarations(kind)
    if name in names:
        return _PACKAGE / kind / f"{name}.toml"
    close = get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names) or 'none'}"
    what = "hardware profile" if kind == "hardware" else kind[:-1]
    raise DeclarationError(f"no {what} is called {name!r}: {hint}")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_DECLARATION_BYTES + 1)
    except OSError as error:
        raise DeclarationError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_DECLARATION_BYTES:
        raise DeclarationError(f"{path}: larger than {MAX_DECLARATION_BYTES >> 20} MiB: this is no declaration")
    # Not at the top: a worker reads no TOML, and its runtime need not have tomli.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DeclarationError(f"{path}: not valid TOML: {error}") from None


def _validate(schema: type[D], value: object, where: str) -> D:
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc']) or 'as a whole'}: {problem['msg']}"
            for problem in error.errors()
        )
        raise DeclarationError(f"{where}: {problems}") from None


def _folder(declaration: Declaration, path: Path) -> Path | None:
    source = getattr(declaration, "source", None)
    if isinstance(source, PackagedSource):
        return _PACKAGE / source.path
    if isinstance(source, FolderSource):
        return path.parent / source.path
    return None
