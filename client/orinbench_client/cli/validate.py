"""`orinbench validate`: whether a declaration is right here, and whether a board can run it."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import typer
from orinbench.v1.record_pb2 import RUN_STATE_RUNNING, RUN_STATE_SUCCEEDED, FinishedRecord, ModelFacts, RecordBody
from orinbench.v1.run_pb2 import RunOptions
from orinbench_profiles import SuiteDeclaration, is_folder, list_declarations

from orinbench_client.cli.artifacts import model_facts, suite_facts
from orinbench_client.cli.common import HostOption, JsonOption, TokenOption, gibibytes, print_json, to_dict
from orinbench_client.cli.completion import declaration_names, suite_names
from orinbench_client.cli.push import PushMeter
from orinbench_client.cli.terminal import isolate
from orinbench_client.errors import BadInput, RunFailed
from orinbench_client.sdk import Address, Client, Model, Submission, find_address, open_model, require_api, submit
from orinbench_client.suites import Sample, Suite, open_suite

_SUITE = "fa-demo-v1"


def validate(
    declaration: Annotated[
        str,
        typer.Argument(
            metavar="DECLARATION",
            help="Name, .toml file of a model, or folder of a suite.",
            autocompletion=declaration_names,
        ),
    ],
    host: HostOption = None,
    token_file: TokenOption = None,
    suite: Annotated[
        str,
        typer.Option(
            "--suite",
            "-s",
            metavar="SUITE",
            help="With --host: the suite whose first sample the model gets.",
            autocompletion=suite_names,
        ),
    ] = _SUITE,
    as_json: JsonOption = False,
) -> None:
    """Check a model or a suite declaration.

    Keys and values, and that the files it names are here and have the digests it says. With --host the board also
    loads the model and puts one sample through it twice: the answers must be the same. That is a run of one sample,
    which is never ranked.

    \b
    Examples:
      orinbench validate fa-demo-small
      orinbench validate my-model.toml --host /tmp/board.sock
      orinbench validate my-suite/
    """
    if is_folder(declaration) or declaration.partition(":")[0] in list_declarations("suites"):
        if host is not None:
            raise BadInput("--host is for models: a suite is checked here")
        found = open_suite(declaration)
        said = f"suite {found.declaration.id} is valid: {len(found.samples)} samples, digest {found.digest}"
        print_json(suite_facts(found)) if as_json else print(said)
        return
    model = open_model(declaration)
    model.verify()
    if host is None:
        said = f"model {model.declaration.id} is valid: {_files(model)}, digest {model.digest}"
        print_json(model_facts(model)) if as_json else print(said)
        return
    proof = asyncio.run(_prove(find_address(host, token_file), model, open_suite(suite)))
    print_json(proof.to_json()) if as_json else print(proof.describe())
    if proof.finished.state != RUN_STATE_SUCCEEDED:
        raise RunFailed(f"model {model.declaration.id} does not run there: {proof.finished.failure.message}")


@dataclass(frozen=True)
class _FirstSample:
    """A suite of which the board gets the first sample."""

    suite: Suite

    @property
    def declaration(self) -> SuiteDeclaration:
        return self.suite.declaration

    @property
    def digest(self) -> str:
        return self.suite.digest

    @property
    def samples(self) -> Sequence[Sample]:
        return self.suite.samples[:1]


@dataclass
class _Proof:
    """What a board found: facts of the loaded model, the sample's text, how it ended."""

    model: Model
    facts: ModelFacts = field(default_factory=ModelFacts)
    sample_id: str = ""
    text: str = ""
    finished: FinishedRecord = field(default_factory=FinishedRecord)

    def take(self, body: RecordBody) -> None:
        """Take what a record says of it."""
        kind = body.WhichOneof("body")
        if kind == "state" and body.state.state == RUN_STATE_RUNNING:
            self.facts = body.state.model_facts
        elif kind == "sample":
            self.sample_id, self.text = body.sample.sample_id, body.sample.text
        elif kind == "finished":
            self.finished = body.finished

    def describe(self) -> str:
        """Return a few lines for people."""
        facts, memory = self.facts, self.finished.memory
        name = self.model.declaration.id
        if self.finished.state != RUN_STATE_SUCCEEDED:
            return f"model {name}: {self.finished.failure.reason}"
        lines = [f"model {name} runs: loaded in {facts.load_s:.2f} s on {', '.join(facts.devices)}"]
        peaks = [
            f"{label} {gibibytes(getattr(memory, peak))}"
            for label, peak in (("reserved", "peak_reserved_bytes"), ("resident", "peak_rss_bytes"))
            if memory.HasField(peak)
        ]
        if peaks:
            lines.append(f"peak memory: {', '.join(peaks)}")
        if facts.source_repository:
            lines.append(f"source: {facts.source_repository} at {facts.source_revision}")
        lines.append(f"sample {self.sample_id}, twice the same: {isolate(self.text) or '(no text)'}")
        # That one sample is not a whole suite goes without saying.
        found = [violation for violation in self.finished.violations if violation.reason != "INCOMPLETE"]
        lines += [f"not to be ranked, {violation.reason}: {violation.message}" for violation in found]
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Return everything, for programs."""
        return {
            "model": self.model.declaration.id,
            "sample_id": self.sample_id,
            "text": self.text,
            "model_facts": to_dict(self.facts),
            "finished": to_dict(self.finished),
        }


async def _prove(address: Address, model: Model, suite: Suite) -> _Proof:
    proof = _Proof(model)
    # The limit makes the daemon itself call the run incomplete.
    submission = Submission(_FirstSample(suite), model, options=RunOptions(limit=1, warmup=0))
    async with Client(address) as client:
        require_api(await client.get_board())
        with PushMeter() as meter:
            run = await submit(client, submission, uuid.uuid4().hex, meter.show)
        print(f"run {run.name.removeprefix('runs/')}", file=sys.stderr)
        try:
            async for record in client.watch(run.name):
                proof.take(RecordBody.FromString(record.body))
        except asyncio.CancelledError:
            await client.cancel_run(run.name, "interrupted at the client")
            raise
    return proof


def _files(model: Model) -> str:
    files = model.declaration.files
    if model.declaration.unresolved:
        return "its files are fetched from a hub by the board"
    size = sum(file.bytes for file in files) / 1e6
    return f"{len(files)} file{'' if len(files) == 1 else 's'}, {size:.1f} MB"
