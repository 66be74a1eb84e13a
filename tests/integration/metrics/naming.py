"""The rules by which Prometheus names metrics, held against a scrape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

#: Base units, and what is counted without one. A unit stands at the end, before ``_total`` or ``_info``.
UNITS = ("seconds", "bytes", "ratio", "celsius", "watts", "hertz")
UNITLESS = {
    "orinbench_board_wedged",
    "orinbench_queue_length",
    "orinbench_run_state",
    "orinbench_run_planned_samples",
    "orinbench_run_accepted_samples",
    "orinbench_run_segments",
    "orinbench_run_violations",
    "orinbench_daemon_watchers",
    "orinbench_telemetry_source_up",
    "process_open_fds",
    "process_max_fds",
}
# Other than base units, spelled out or short, anywhere in a name.
_NO_UNIT = re.compile(
    r"_(ms|millis|milliseconds?|us|ns|minutes?|hours?|kb|mb|mib|gib|kilobytes|megabytes|percent|pct|mw|milliwatts?"
    r"|mhz|khz|hz|degrees|gauge|counter|histogram)(_|$)"
)
_RESERVED = ("_total", "_count", "_sum", "_bucket", "_created", "_info")


def faults_of_text(text: str) -> list[str]:
    """Return the faults of a scrape in the text format."""
    # The parser of this format gives a counter its suffix where it lacks it.
    counters = re.findall(r"^# TYPE (\S+) counter$", text, re.MULTILINE)
    bare = [f"{name}: a counter without _total" for name in counters if not name.endswith("_total")]
    return [*bare, *faults(text_string_to_metric_families(text))]


def faults(families: Iterable[Metric]) -> list[str]:
    """Return everything that is wrong with the names, helps, types, labels and buckets of a scrape."""
    known = list(families)
    twice = [f"{name}: there twice" for name, times in Counter(family.name for family in known).items() if times > 1]
    return [*twice, *(f"{family.name}: {fault}" for family in known for fault in _of(family))]


def _of(family: Metric) -> Iterator[str]:
    name = family.name.removesuffix("_info")
    if not re.fullmatch(r"(orinbench|process)(_[a-z0-9]+)+", name):
        yield "not lower case with our prefix"
    if not family.documentation.strip().endswith("."):
        yield "no help that is a sentence"
    if family.type in ("unknown", "untyped"):
        yield "no type"
    if _NO_UNIT.search(name):
        yield "not a base unit, or its type in its name"
    if name.endswith(_RESERVED):
        yield "a suffix that only other types have"
    is_info = family.name.endswith("_info") or family.type == "info"
    if family.type not in ("counter", "info") and not is_info and name not in UNITLESS and not name.endswith(UNITS):
        yield "no unit"
    labelled = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
    if len(set(labelled)) != len(labelled):
        yield "a series is there twice"
    for sample in family.samples:
        yield from _of_sample(family, sample.name, sample.labels)


def _of_sample(family: Metric, name: str, labels: dict[str, str]) -> Iterator[str]:
    if ("le" in labels) != (family.type == "histogram" and name.endswith("_bucket")):
        yield "le stands where no bucket is, or not where one is"
    if any(not value for value in labels.values()):
        yield "a label without value"
    if set(labels) & {"run", "runs", "peer", "caller", "model", "suite", "sample", "submitter", "token"}:
        yield "a label of which there is no end"
