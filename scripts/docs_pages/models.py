"""Fields of a pydantic model as rows of a table. What a field means is the string that follows it in its class."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

_PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path", Any: "anything"}
_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


class Undocumented(Exception):
    """A field without a meaning."""


def table(model: type[BaseModel], defaults: dict[str, str] | None = None) -> str:
    """Return a Markdown table of the fields; `defaults` replaces those that depend on the machine."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    said = dict(_meanings(model))
    for name, field in model.model_fields.items():
        if name not in said:
            raise Undocumented(f"{model.__name__}.{name}: write what it means below it")
        kind = _type(field.annotation, field.metadata)
        default = (defaults or {}).get(name) or _default(field.get_default(call_default_factory=True))
        rows.append(f"| `{name}` | {kind} | {default} | {said[name]} |")
    return "\n".join(rows)


def summary(model: type[BaseModel]) -> str:
    """Return the class's own words, as one paragraph each."""
    paragraphs = inspect.cleandoc(model.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _meanings(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(body, ast.ClassDef)
    for before, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(after, ast.Expr):
            yield before.target.id, ast.literal_eval(after.value)


def _type(annotation: Any, constraints: Any = ()) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0], (*arguments[1:], *constraints))
    if origin in (Union, types.UnionType):
        kinds = [_type(argument, constraints) for argument in arguments if argument is not type(None)]
        return " or ".join(dict.fromkeys(kinds))
    if origin is Literal:
        return "one of " + ", ".join(f"`{value}`" for value in arguments)
    if origin is list:
        return f"list of: {_type(arguments[0])}"
    if origin is dict:
        return "table" if arguments[1] is Any else f"by name: {_type(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    # A Field within an alias has its bounds inside.
    parts = [part for one in constraints for part in (*getattr(one, "metadata", ()), one)]
    words = [f" {sign} {getattr(part, name):g}" for part in parts for name, sign in _BOUNDS.items() if _has(part, name)]
    patterns = [f" like `{part.pattern}`".replace("|", "\\|") for part in parts if getattr(part, "pattern", None)]
    return _PLAIN[annotation] + " and".join(words) + "".join(patterns)


def _has(part: Any, name: str) -> bool:
    return isinstance(getattr(part, name, None), (int, float))


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return "**required**"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, BaseModel):
        return "see below"
    if value in ([], {}):
        return "empty"
    return f"`{value}`" if not isinstance(value, float) else f"`{value:g}`"
