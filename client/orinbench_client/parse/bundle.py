"""A bundle of answers as upstream stored them: its files, and how scores and boards read it.

It holds the three files of one model and language verbatim. The questions stay out of it: the right answers of an
import are kept once, by digest, below ``.sources`` of the results folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from orinbench_profiles import SuiteDeclaration, canonical_json, digest_bytes, digest_file
from pydantic import BaseModel, ConfigDict, Field

from orinbench_client.bundles.files import parse_model, read_json, read_lines, verify_manifest
from orinbench_client.bundles.model import SUCCEEDED, Labelled, RunFacts, Sample
from orinbench_client.bundles.results import ANSWERS_SCHEMA, Bundle
from orinbench_client.errors import BadInput
from orinbench_client.parse.answers import read_file
from orinbench_client.parse.questions import TYPES

SOURCES = ".sources"
UPSTREAM = "upstream"
_CONTRACT = {
    "rules": "Parse upstream",
    "decoding": "top_p 0.7, a temperature drawn anew for each call",
    "unreadable replies": "asked again until they could be read",
}


class Head(BaseModel):
    """The content of run.json. `references` is the digest under which the right answers are kept.

    `unanswered` is how many questions have no answer, `strays` are ids of answers to no question.
    """

    # pydantic before 2.10 warns of fields that begin with `model_`.
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    schema_: Literal["orinbench-imported-answers-1"] = Field(default=ANSWERS_SCHEMA, alias="schema")
    run_id: str
    suite_digest: str
    declaration: SuiteDeclaration
    model: str
    references: str
    unanswered: int
    strays: tuple[str, ...]

    @property
    def suite(self) -> Labelled:
        """The suite, its variant included."""
        return Labelled(self.declaration.id, self.suite_digest)


def read_head(path: Path) -> Head:
    """Return what a bundle says of itself. Raises BadInput."""
    return parse_model(Head, read_json(path / "run.json"), str(path / "run.json"))


def read_facts(path: Path) -> tuple[RunFacts, str]:
    """Return the facts of a bundle and the digest of its texts, checked against its manifest. Raises BadInput."""
    digest = texts_digest(path)
    head = read_head(path)
    facts = RunFacts(
        run_id=head.run_id,
        origin="parse-upstream",
        suite=head.suite,
        model=Labelled(head.model, digest_bytes(canonical_json({"model": head.model, "origin": "parse-upstream"}))),
        hardware=Labelled("not recorded", digest_bytes(canonical_json({"profile": None}))),
        contract=Labelled("Parse upstream, asked again until readable", digest_bytes(canonical_json(_CONTRACT))),
        state=SUCCEEDED,
    )
    return facts, digest


def texts_digest(path: Path) -> str:
    """Return the digest of a bundle's answers, checked against its manifest. Raises BadInput."""
    files = verify_manifest(path)
    return digest_bytes(canonical_json({name: files[name] for name in files if name.startswith(UPSTREAM)}))


def open_answers(path: Path) -> Bundle:
    """Return a bundle with its answers and the right ones. Raises BadInput."""
    facts, digest = read_facts(path)
    head = read_head(path)
    source = path.parent.parent / SOURCES / f"{head.references[7:]}.jsonl"
    if not source.is_file() or digest_file(source) != head.references:
        raise BadInput(f"{source}: missing or changed: the right answers of the import; import the directory again")
    references = {sample_id: reference for _, (sample_id, reference) in read_lines(source)}
    answers: dict[str, str] = {}
    for type_ in TYPES:
        answers |= read_file(path / UPSTREAM / f"{type_}.json", type_).answers
    samples = samples_of(answers, references)
    return Bundle(path, facts, samples, digest, references, None, head.declaration)


def samples_of(answers: Mapping[str, str], references: Mapping[str, str]) -> tuple[Sample, ...]:
    """Return a sample for each question, in order; one without an answer has an empty text."""
    return tuple(Sample(sample_id, answers.get(sample_id, "")) for sample_id in references)
