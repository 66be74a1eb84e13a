"""PESTE's files as they lie in a results directory: schemas 1 and 2, read strictly.

A file that is not what it should be (cut short, NaN, a negative count, CRLF …) raises BadInput: nothing can be said
of such a run. What reads well but does not hold up is another matter: see peste_check.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from orinbench_profiles.digest import canonical_json, digest_bytes, digest_file
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from orinbench_client.bundles.files import parse_model, read_json, read_lines
from orinbench_client.errors import BadInput

Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
Natural = Annotated[int, Field(ge=0)]
M = TypeVar("M", bound=BaseModel)
Seconds = Annotated[float, Field(ge=1e-3, le=1e9)]
Ratio = Annotated[float, Field(gt=0)]


class _Record(BaseModel):
    # pydantic before 2.10 warns of fields that begin with `model_`.
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False, protected_namespaces=())


class PesteLine(_Record):
    """One line of predictions.jsonl."""

    sequence: Natural
    sample_id: str
    reference: str
    prediction: str
    normalized_reference: str
    normalized_prediction: str
    word_substitutions: Natural
    word_deletions: Natural
    word_insertions: Natural
    word_reference_units: Natural
    character_substitutions: Natural
    character_deletions: Natural
    character_insertions: Natural
    character_reference_units: Natural


class PesteFacts(_Record):
    """Facts of the model: in `memory` in schema 1, in `model_facts` in schema 2."""

    checkpoint_bytes: Natural | None = None
    native_dtype: str | None = None
    parameter_count: Natural | None = None


class PesteMemory(PesteFacts):
    """Memory of schema 1, in bytes."""

    peak_cuda_reserved_bytes: Natural | None = None
    peak_cuda_allocated_bytes: Natural | None = None
    peak_process_rss_bytes: Natural | None = None


class PesteSpeed(_Record):
    """Speed of schema 2: totals alone, no sample's own time."""

    rtf: Ratio | None = None
    audio_throughput_x: Ratio | None = None
    processing_seconds: Seconds | None = None
    total_audio_seconds: Seconds | None = None
    valid: bool
    invalidity_reason: str | None = None


class PesteAggregates(_Record):
    """Sums and rates as upstream stored them; what is there is compared with ours."""

    samples: Natural | None = None
    wer: float | None = None
    cer: float | None = None
    word_errors: Natural | None = None
    word_reference_units: Natural | None = None
    character_errors: Natural | None = None
    character_reference_units: Natural | None = None
    word_accuracy_pct: float | None = None
    memory_efficiency: float | None = None


class PesteRun(_Record):
    """run.json of either schema."""

    schema_version: Literal[1, 2]
    run_id: Name
    suite_id: Name
    suite_digest: Hex
    model_id: Name
    model_digest: Hex
    status: Literal["running", "success", "failed", "oom", "killed"]
    environment: dict[str, Any]
    memory: PesteMemory | None = None
    model_facts: PesteFacts | None = None
    speed: PesteSpeed | None = None
    predictions_path: Name = "predictions.jsonl"
    aggregates: PesteAggregates | None = None
    error: Any = None

    @property
    def successful(self) -> bool:
        """Whether upstream calls the run a success."""
        return self.status == "success"


class PesteSuite(_Record):
    """suite.json: what is scored, and how."""

    suite_id: Name
    evaluation_split: str
    normalization_version: str
    manifest_path: str
    manifest_sha256: Hex
    expected_split_counts: dict[str, Natural]


class PesteModel(_Record):
    """A model's specification; its digest is what counts."""

    model_id: Name


class ManifestRow(_Record):
    """One line of a suite's manifest."""

    sample_id: str
    split: str
    transcription: str
    duration_seconds: Seconds


class PesteSource:
    """The specifications a directory brings along: they, and no others, say what is current in it.

    `suites` and `models` map an id to the digest of its specification (canonical JSON). `digest` covers both.
    """

    def __init__(
        self, folder: Path, suites: Mapping[str, PesteSuite], digests: Mapping[str, Mapping[str, str]]
    ) -> None:
        self.folder = folder
        self.suites = digests["suites"]
        self.models = digests["models"]
        self.digest = digest_bytes(canonical_json(digests))
        self._suites = suites
        self._samples: dict[str, list[ManifestRow]] = {}

    def spec_files(self) -> list[Path]:
        """Return the specification files, suites first."""
        return [
            *sorted((self.folder / "suites").glob("*/suite.json")),
            *sorted((self.folder / "models").glob("*.json")),
        ]

    def suite(self, suite_id: str) -> PesteSuite:
        """Return the specification of a suite. Raises BadInput when the directory has none."""
        if suite_id not in self._suites:
            path = self.folder / "suites" / suite_id / "suite.json"
            raise BadInput(f"{path}: missing: a run of this suite is there, so its specification must be too")
        return self._suites[suite_id]

    def samples(self, suite_id: str) -> list[ManifestRow]:
        """Return the samples of the suite's evaluation split in order, checked against digest and count."""
        if suite_id not in self._samples:
            self._samples[suite_id] = _read_samples(self.manifest_path(suite_id), self.suite(suite_id))
        return self._samples[suite_id]

    def manifests(self, used: Collection[str]) -> list[Path]:
        """Return the manifests of all suites. Raises BadInput when one of the `used` has none."""
        return [self.manifest_path(suite) for suite in self.suites if suite in used or self._has_manifest(suite)]

    def _has_manifest(self, suite_id: str) -> bool:
        try:
            return self.manifest_path(suite_id).is_file()
        except BadInput:
            return False

    def manifest_path(self, suite_id: str) -> Path:
        """Return where a suite's manifest lies. Raises BadInput when that is outside the directory's suites."""
        root = (self.folder / "suites").resolve()
        path = (root / suite_id / self.suite(suite_id).manifest_path).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            raise BadInput(f"{path}: the manifest of suite {suite_id} must be a file below {root}")
        return path


def _read_samples(path: Path, suite: PesteSuite) -> list[ManifestRow]:
    if digest_file(path) != f"sha256:{suite.manifest_sha256}":
        raise BadInput(f"{path}: not the manifest that the suite {suite.suite_id} names by its digest")
    rows = [parse_model(ManifestRow, value, place) for place, value in read_lines(path)]
    chosen = [row for row in rows if row.split == suite.evaluation_split]
    expected = suite.expected_split_counts.get(suite.evaluation_split)
    if not chosen or len(chosen) != expected:
        raise BadInput(f"{path}: {len(chosen)} samples of split {suite.evaluation_split!r}, expected {expected}")
    return chosen


@dataclass(frozen=True)
class PesteBundle:
    """A run's folder, its run.json read."""

    folder: Path
    run: PesteRun

    def lines(self) -> list[tuple[str, PesteLine]]:
        """Return the predictions, each with its place. Raises BadInput at the first line that is not one."""
        path = self.folder / self.run.predictions_path
        return [(place, parse_model(PesteLine, value, place)) for place, value in read_lines(path)]


def read_source(directory: Path) -> PesteSource:
    """Read the specifications of a directory in PESTE's layout. Raises BadInput when there are none."""
    suites = _read_specs(PesteSuite, sorted((directory / "suites").glob("*/suite.json")))
    models = _read_specs(PesteModel, sorted((directory / "models").glob("*.json")))
    if not suites or not models:
        raise BadInput(
            f"{directory}: not a directory of PESTE: it needs results/SUITE/RUN/run.json, suites/SUITE/suite.json and"
            " models/MODEL.json (give the folder that holds results, not results itself)"
        )
    digests = {
        "suites": {spec.suite_id: digest for spec, digest in suites},
        "models": {spec.model_id: digest for spec, digest in models},
    }
    if len(digests["models"]) < len(models) or len(digests["suites"]) < len(suites):
        raise BadInput(f"{directory}: two specifications have the same id: only one can be the current one")
    return PesteSource(directory, {spec.suite_id: spec for spec, _ in suites}, digests)


def _read_specs(schema: type[M], paths: list[Path]) -> list[tuple[M, str]]:
    contents = [(path, read_json(path)) for path in paths]
    return [(parse_model(schema, value, str(path)), digest_bytes(canonical_json(value))) for path, value in contents]


def read_bundles(directory: Path) -> list[PesteBundle]:
    """Return the runs of a directory in PESTE's layout, by suite and name. Raises BadInput when there are none."""
    paths = sorted((directory / "results").glob("*/*/run.json"))
    if not paths:
        raise BadInput(f"{directory}: no run in it: expected results/SUITE/RUN/run.json")
    return [read_bundle(path.parent) for path in paths]


def read_bundle(folder: Path) -> PesteBundle:
    """Read one run's run.json. Raises BadInput when it is none, or says another run than its folder's name."""
    path = folder / "run.json"
    run = parse_model(PesteRun, read_json(path), str(path))
    for what, found, expected in (("run", run.run_id, folder.name), ("suite", run.suite_id, folder.parent.name)):
        if found != expected:
            raise BadInput(f"{path}: is of {what} {found}, but lies in a folder called {expected}: rename the folder")
    return PesteBundle(folder, run)


def bundle_files(folder: Path) -> list[Path]:
    """Return every file of a run's folder, relative to it, hidden ones left out. Raises BadInput for a link."""
    files = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if any(part.startswith(".") for part in relative.parts):
            continue
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise BadInput(f"{path}: a bundle holds plain files alone: replace the link by what it points to")
        if path.is_file():
            files.append(relative)
    return files
