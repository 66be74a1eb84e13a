"""Gates as people write them: a small, strict grammar, in flags or in a TOML file.

    gate      = threshold | "regression" [ metric ]
    threshold = figure operator number
    figure    = metric | name "[" axis "=" value { "," axis "=" value } "]"
    operator  = "<=" | "<" | ">=" | ">"
    number    = decimal, not negative, such as 0.065 or 1.9e3

A bare metric is one of orinbench_client.ci.metrics; with brackets it is a figure of one cell of a graded suite's
tables. Axes, values and names of cells are words of letters, digits and ``_ - + .``, or in double quotes.
"""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from orinbench_client.ci.metrics import METRICS
from orinbench_client.errors import BadInput

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
_WORD = r"[A-Za-z0-9_+.-]+"
_VALUE = rf'(?:{_WORD}|"[^"\\\n]+")'
_LABEL = rf"({_WORD})\s*=\s*({_VALUE})"
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_THRESHOLD = re.compile(
    rf"(?P<metric>{_WORD})\s*(?:\[\s*(?P<cell>{_LABEL}(?:\s*,\s*{_LABEL})*)\s*\])?"
    rf"\s*(?P<operator><=|<|>=|>)\s*(?P<bound>{_NUMBER})\Z",
    re.ASCII,
)
_REGRESSION = re.compile(r"regression(?:\s+(\S+))?\Z", re.ASCII)
#: What a regression may be of: the rates, or a graded suite's score.
PAIRED = ("cer", "wer", "score")
_LONGEST = 500


@dataclass(frozen=True)
class Threshold:
    """A figure and the bound it must keep. `labels` name a cell; without them it is a figure of the whole run."""

    metric: str
    operator: str
    bound: float
    labels: tuple[tuple[str, str], ...] = ()

    def holds(self, value: float) -> bool:
        """Tell whether a figure keeps the bound."""
        return _OPERATORS[self.operator](value, self.bound)

    def __str__(self) -> str:
        cell = ", ".join(f"{axis}={_quoted(value)}" for axis, value in self.labels)
        return f"{self.metric}{f'[{cell}]' if cell else ''} {self.operator} {self.bound:.15g}"


@dataclass(frozen=True)
class Regression:
    """The run must not be worse than the baseline. `metric` is None for what the suite is ranked by."""

    metric: str | None = None

    def __str__(self) -> str:
        return "regression" if self.metric is None else f"regression {self.metric}"


Gate = Threshold | Regression


def parse_gate(text: str) -> Gate:
    """Read one gate. Raises BadInput that says what is wrong with it."""
    stripped = text.strip()
    if len(stripped) > _LONGEST:
        raise BadInput(f"gate {stripped[:40]!r}…: longer than {_LONGEST} characters")
    if found := _REGRESSION.match(stripped):
        return _regression(stripped, found[1])
    found = _THRESHOLD.match(stripped)
    if found is None:
        raise BadInput(f"gate {stripped!r}: not of the form METRIC <= NUMBER (or <, >=, >), or regression [METRIC]")
    metric, bound = found["metric"], float(found["bound"])
    if not math.isfinite(bound):
        raise BadInput(f"gate {stripped[:40]!r}…: the bound is no finite number")
    labels = tuple((axis, value.strip('"')) for axis, value in re.findall(_LABEL, found["cell"] or "", re.ASCII))
    if len({axis for axis, _ in labels}) < len(labels):
        raise BadInput(f"gate {stripped!r}: names an axis twice")
    if not labels and metric not in METRICS:
        raise BadInput(f"gate {stripped!r}: no figure is called {metric!r}{_meant(metric, METRICS)}")
    return Threshold(metric, found["operator"], bound, labels)


def _regression(text: str, metric: str | None) -> Regression:
    if metric not in (None, *PAIRED):
        raise BadInput(f"gate {text!r}: a regression is of {', '.join(PAIRED)}, not of {metric!r}")
    return Regression(metric)


def _quoted(value: str) -> str:
    return value if re.fullmatch(_WORD, value, re.ASCII) else f'"{value}"'


def _meant(word: str, known: Iterable[str]) -> str:
    names = list(known)
    close = get_close_matches(word, names, 1)
    return f": did you mean {close[0]!r}?" if close else f": there are {', '.join(names)}"


@dataclass(frozen=True)
class Gates:
    """Gates of every run, and further ones of those of one suite or model, by its id."""

    everywhere: Sequence[Gate] = ()
    suites: Mapping[str, Sequence[Gate]] = field(default_factory=dict)
    models: Mapping[str, Sequence[Gate]] = field(default_factory=dict)

    def of(self, suite: str, model: str) -> list[Gate]:
        """Return the gates of a run, each once."""
        return list(dict.fromkeys([*self.everywhere, *self.suites.get(suite, ()), *self.models.get(model, ())]))

    def unused(self, runs: Iterable[tuple[str, str]]) -> list[str]:
        """Return the sections that concern none of the runs, given as (suite, model)."""
        pairs = list(runs)
        suites, models = {suite for suite, _ in pairs}, {model for _, model in pairs}
        return [
            *(f"suites.{name}" for name in self.suites if name not in suites),
            *(f"models.{name}" for name in self.models if name not in models),
        ]

    @property
    def regressions(self) -> bool:
        """Whether any of them needs a baseline."""
        everything = [
            *self.everywhere,
            *(gate for own in (self.suites, self.models) for of in own.values() for gate in of),
        ]
        return any(isinstance(gate, Regression) for gate in everything)


def load_gates(path: Path | None, flags: Sequence[str]) -> Gates:
    """Return the gates of a file and of flags together. Raises BadInput naming file and key."""
    everywhere = [parse_gate(text) for text in flags]
    if path is None:
        return Gates(everywhere)
    content = _read(path)
    _refuse_unknown(path, "", content, ("gates", "suites", "models"))
    tables: dict[str, dict[str, list[Gate]]] = {}
    for kind in ("suites", "models"):
        sections = content.get(kind, {})
        if not isinstance(sections, dict):
            raise BadInput(f"{path}: {kind}: must be a table of tables, such as [{kind}.NAME]")
        tables[kind] = {name: _section(path, f"{kind}.{name}", section) for name, section in sections.items()}
    return Gates([*_list(path, "gates", content.get("gates", [])), *everywhere], tables["suites"], tables["models"])


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not valid TOML: {error}") from None


def _section(path: Path, where: str, section: object) -> list[Gate]:
    if not isinstance(section, dict):
        raise BadInput(f"{path}: {where}: must be a table that holds gates")
    _refuse_unknown(path, f"{where}.", section, ("gates",))
    gates = _list(path, f"{where}.gates", section.get("gates"))
    if not gates:
        raise BadInput(f"{path}: {where}: holds no gate")
    return gates


def _refuse_unknown(path: Path, where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise BadInput(f"{path}: unknown key {where + key!r}{_meant(key, known)}")


def _list(path: Path, where: str, value: object) -> list[Gate]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise BadInput(f'{path}: {where}: must be a list of gates, such as ["cer <= 0.065"]')
    gates = []
    for text in value:
        try:
            gates.append(parse_gate(text))
        except BadInput as error:
            raise BadInput(f"{path}: {where}: {error}") from None
    return gates
