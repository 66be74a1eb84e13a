"""Loads what a model declaration names: engine, adapter and files, put together."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orinbench.v1.record_pb2 import ModelFacts
from orinbench_profiles import DeclarationError, ModelDeclaration, parse_model
from orinbench_profiles.schema import HubSource

from orinbench_engines.artifacts import Artifacts
from orinbench_engines.contract import Adapter, Engine, Model, Session
from orinbench_engines.failures import model_failure
from orinbench_engines.registry import find_adapter, find_engine, read_options


@dataclass(frozen=True)
class Pipeline:
    """A loaded model: adapter.infer is ready to be called."""

    declaration: ModelDeclaration
    engine: Engine[Any]
    adapter: Adapter[Any, Any]
    facts: ModelFacts


def read_declaration(artifacts: Artifacts, digest: str) -> ModelDeclaration:
    """Read the model declaration among the artifacts. Raises WorkerFailure."""
    try:
        return parse_model(artifacts.read_verified(digest, "the model declaration"))
    except DeclarationError as error:
        raise model_failure("DECLARATION_INVALID", str(error)) from None


def load(
    declaration: ModelDeclaration, artifacts: Artifacts, device: str, scratch: Path, cache: Path | None
) -> Pipeline:
    """Verify the files, load the checkpoint, open the adapter. Raises WorkerFailure, or what the engine throws."""
    engine_class, adapter_class = find_engine(declaration.engine), find_adapter(declaration.adapter)
    options = read_options(declaration, engine_class.options_schema, adapter_class.options_schema)
    engine, adapter = engine_class(options[0]), adapter_class(options[1])
    files = {
        file.path: artifacts.verify(file.digest, f"file {file.path} of model {declaration.id}", file.bytes)
        for file in declaration.files
    }
    model = Model(declaration, files, device, scratch, cache)
    start = time.monotonic()
    session, facts = engine.load(model)
    _check_fit(declaration, adapter, session)
    adapter.open(model, session)
    facts.load_s = time.monotonic() - start
    _add_declared(facts, declaration)
    return Pipeline(declaration, engine, adapter, facts)


def _check_fit(declaration: ModelDeclaration, adapter: Adapter[Any, Any], session: Session) -> None:
    if not isinstance(session, adapter.needs):
        raise model_failure(
            "ADAPTER_UNFIT",
            f"model {declaration.id}: adapter {declaration.adapter} needs a "
            f"{' or a '.join(kind.__name__ for kind in adapter.needs)}, "
            f"engine {declaration.engine} gives a {type(session).__name__}",
        )


def _add_declared(facts: ModelFacts, declaration: ModelDeclaration) -> None:
    facts.engine = declaration.engine
    facts.adapter = declaration.adapter
    facts.native_dtype = declaration.dtype
    if isinstance(declaration.source, HubSource):
        facts.source_repository = declaration.source.repository
        facts.source_revision = declaration.source.revision
