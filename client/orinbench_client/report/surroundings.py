"""What a run ran on and with: digests, board, model as loaded, packages, settings, and readings in sum."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from orinbench.v1.run_pb2 import Run

from orinbench_client.bundles.model import RunFacts
from orinbench_client.bundles.peste_facts import read_upstream
from orinbench_client.bundles.results import Bundle
from orinbench_client.metrics import GIB
from orinbench_client.report.facts import Fact, Section
from orinbench_client.report.recorded import Recorded

#: Units by the end of a name; of a mapping they are those of its values.
_UNITS = {"s": "s", "j": "J", "w": "W", "c": "°C"}


def sections_of(bundle: Bundle, found: Recorded | None) -> Iterator[Section]:
    """Yield what a bundle says of the run's surroundings. Raises BadInput for a damaged bundle."""
    facts = bundle.facts
    yield Section("Digests", list(_digests(facts, found.run if found is not None else None)))
    if found is not None:
        yield from _native_sections(found, facts)
    elif facts.origin.startswith("peste"):
        yield Section("Environment", list(_flat(read_upstream(bundle.path).run.environment)))


def _digests(facts: RunFacts, native: Run | None) -> Iterator[Fact]:
    for name, label in (
        ("suite", facts.suite),
        ("model", facts.model),
        ("hardware profile", facts.hardware),
        ("execution contract", facts.contract),
    ):
        yield Fact(name, label.name, label.digest)
    if native is not None:
        yield Fact("records", f"{native.record_count}", native.record_digest)
    if facts.key_id:
        yield Fact("signed by", facts.signer or "a key that is not trusted here", facts.key_id)


def _native_sections(found: Recorded, facts: RunFacts) -> Iterator[Section]:
    native, remark = found.run, found.remark("environment", facts)
    run = MessageToDict(native, preserving_proto_field_name=True)
    environment = run.get("environment", {})
    packages, settings, board = (environment.pop(name, {}) for name in ("packages", "settings", "board"))
    yield Section(f"Board{remark}", [Fact("name", native.board), *_verbatim(board)])
    yield Section("Model as loaded", list(_flat(run.get("model_facts", {}))))
    yield Section(f"Runtime{remark}", list(_flat(environment)))
    yield Section(f"Packages{remark}", _verbatim(packages))
    yield Section(f"Settings{remark}", _verbatim(settings))
    yield Section("Memory, all readings", list(_flat(run.get("memory", {}))))
    yield Section("Telemetry in sum", list(_flat(run.get("telemetry", {}))))
    segments = f"Segments{found.remark('segments', facts)}"
    yield Section(segments, [_segment(segment) for segment in run.get("segments", [])])


def _segment(segment: Mapping[str, Any]) -> Fact:
    start = segment.get("start_time", "")[:19].replace("T", " ")
    began = f"{segment.get('reason', '')}, from sample {segment.get('first_index', 0)}"
    return Fact(str(segment.get("number", 0)), began, start)


def _verbatim(values: Mapping[str, str]) -> list[Fact]:
    return [Fact(name, value) for name, value in sorted(values.items())]


def _flat(values: Mapping[str, Any], prefix: str = "", unit: str = "") -> Iterator[Fact]:
    """Yield every value under its name, with the unit that the name ends with; those inside others under both names."""
    for name, value in sorted(values.items()):
        stem, _, last = name.rpartition("_")
        known = _UNITS.get(last, "") if stem else ""
        words = prefix + (stem if known or last == "bytes" else name).replace("_", " ")
        if isinstance(value, Mapping):
            yield from _flat(value, f"{words}: ", known)
        elif last == "bytes" and (count := _number(value)) is not None:
            yield Fact(words, f"{count / GIB:.3f} GiB")
        else:
            yield Fact(words, f"{_text(value)} {known or unit}".rstrip())


def _number(value: Any) -> float | None:
    """Return a number, which JSON of protobuf gives as text where it has 64 bits; None for what is none."""
    try:
        number = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number is not None and math.isfinite(number) else None


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value).removeprefix("MEMORY_METHOD_")
