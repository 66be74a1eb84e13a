"""Finds engines and adapters by name, and reads the options of a declaration for them."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from orinbench_profiles import ModelDeclaration
from pydantic import ValidationError

from orinbench_engines.contract import Adapter, Engine, Options
from orinbench_engines.failures import WorkerFailure, model_failure
from orinbench_engines.validation import first_problem


def find_engine(name: str) -> type[Engine[Any]]:
    """Return the engine's class. Raises WorkerFailure (model): unknown, or a package it needs is not there."""
    return cast("type[Engine[Any]]", _load("engine", name))


def find_adapter(name: str) -> type[Adapter[Any, Any]]:
    """Return the adapter's class. Raises WorkerFailure (model): unknown, or a package it needs is not there."""
    return cast("type[Adapter[Any, Any]]", _load("adapter", name))


def read_options(
    declaration: ModelDeclaration, engine: type[Options], adapter: type[Options]
) -> tuple[Options, Options]:
    """Share the declaration's options out. Raises WorkerFailure (model) at an unknown or wrong one."""
    options = declaration.options
    known = [*engine.model_fields, *adapter.model_fields]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise model_failure(
            "OPTION_UNKNOWN",
            f"model {declaration.id}: no option {', '.join(map(repr, unknown))} is known to engine "
            f"{declaration.engine} or adapter {declaration.adapter}; known are: {', '.join(known) or 'none'}",
        )
    return _validate(declaration, engine), _validate(declaration, adapter)


def _load(kind: str, name: str) -> object:
    point = _find(kind, name)
    try:
        return point.load()
    except ImportError as error:
        raise model_failure(
            f"{kind.upper()}_UNAVAILABLE",
            f"{kind} {name} cannot be loaded in this runtime: {error}; install it there, or name another runtime",
        ) from error


def _find(kind: str, name: str) -> EntryPoint:
    points = entry_points(group=f"orinbench.{kind}s")
    found = {point.value: point for point in points if point.name == name}
    if len(found) == 1:
        return next(iter(found.values()))
    raise _not_one(kind, name, sorted(found), sorted(point.name for point in points))


def _not_one(kind: str, name: str, found: list[str], names: list[str]) -> WorkerFailure:
    problem = f"is claimed by {' and '.join(found)}" if found else f"is unknown; known are: {', '.join(names)}"
    return model_failure(f"{kind.upper()}_UNKNOWN", f"{kind} {name!r} {problem}")


def _validate(declaration: ModelDeclaration, schema: type[Options]) -> Options:
    values = {name: value for name, value in declaration.options.items() if name in schema.model_fields}
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        problem = first_problem(error)
        raise model_failure("OPTION_INVALID", f"model {declaration.id}, options: {problem}") from None
