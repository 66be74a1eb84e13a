"""Declarations of models and suites: ours are whole, and what is wrong with somebody else's is said by key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from orinbench_engines.contract import Options
from orinbench_engines.registry import find_adapter, read_options
from orinbench_profiles import (
    DeclarationError,
    HubSource,
    ModelFile,
    canonical_declaration,
    digest_bytes,
    list_declarations,
    load_model,
    load_suite,
    parse_model,
    resolve_model,
)

from tests.integration.harness import to_toml

HUB = {"kind": "huggingface", "repository": "me/small", "revision": "0" * 40}
FILE: dict[str, Any] = {"path": "a/model.safetensors", "digest": "sha256:" + "1" * 64, "bytes": 3}


def model(**changes: Any) -> dict[str, Any]:
    """A model's declaration."""
    values = {"id": "mine", "title": "Mine", "license": "MIT", "engine": "torch", "adapter": "whisper"}
    return {**values, "dtype": "float16", **changes}


@pytest.mark.parametrize("name", list_declarations("models"))
def test_our_models(name: str) -> None:
    """Every model of ours loads under its own name, has its files or a pinned hub, and reads back as it is sent."""
    loaded = load_model(name)
    assert loaded.declaration.id == name
    assert loaded.declaration.files or isinstance(loaded.declaration.source, HubSource)
    assert parse_model(loaded.canonical) == loaded.declaration
    assert canonical_declaration(parse_model(loaded.canonical)) == loaded.canonical


@pytest.mark.parametrize("name", list_declarations("models"))
def test_our_models_options(name: str) -> None:
    """The adapter that a model of ours names is there, and knows every option it is given."""
    declaration = load_model(name).declaration
    _, options = read_options(declaration, Options, find_adapter(declaration.adapter).options_schema)
    assert declaration.options.items() <= options.model_dump().items()


@pytest.mark.parametrize("name", list_declarations("suites"))
def test_our_suites(name: str) -> None:
    """Every suite of ours loads under its own name; one of recordings pins its manifest."""
    loaded = load_suite(name)
    assert loaded.declaration.id == name
    assert loaded.declaration.manifest_digest or loaded.declaration.task != "asr"


def test_where_a_folder_is_is_no_part_of_a_digest(tmp_path: Path) -> None:
    """The same model in two folders has one digest, and no path of a user's machine is sent."""
    digests = set()
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        path = tmp_path / place / "m.toml"
        path.write_text(to_toml(model(source={"kind": "folder", "path": f"/srv/{place}"}, files=[FILE])))
        loaded = load_model(str(path))
        assert loaded.folder == Path(f"/srv/{place}")
        assert b"/srv" not in loaded.canonical
        digests.add(loaded.digest)
    assert len(digests) == 1


def test_a_resolved_declaration_is_bound_to_the_one_it_came_from() -> None:
    """It is the same but for the files and the digest it resolves, so every board makes the same of the same files."""
    given = json.dumps(model(source={**HUB, "include": ["*.safetensors"]})).encode()
    declaration = parse_model(given)
    assert declaration.unresolved
    resolved = resolve_model(declaration, digest_bytes(given), [ModelFile(**FILE)])
    assert not resolved.unresolved
    assert resolved.resolves == digest_bytes(given)
    assert parse_model(canonical_declaration(resolved)) == resolved


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"source": HUB}, "name the files on the hub either by source.include"),
        ({"source": {**HUB, "include": ["*"]}, "files": [FILE]}, "name the files on the hub either by source.include"),
        ({"source": {**HUB, "revision": "main"}}, "source.huggingface.revision: String should match"),
        ({"source": {**HUB, "repository": "../up", "include": ["*"]}}, "source.huggingface.repository: String should"),
        ({"source": {**HUB, "include": ["../*.json"]}}, "must be a plain relative path"),
        ({"resolves": FILE["digest"]}, "resolves belongs to a declaration whose files came from a hub"),
        ({"files": [{**FILE, "path": "/etc/passwd"}]}, "files.0.path: Value error, '/etc/passwd' must be a plain"),
        ({"files": [FILE, FILE]}, "file named twice: a/model.safetensors"),
        ({"quantise": True}, "quantise: Extra inputs are not permitted"),
    ],
)
def test_what_is_wrong_with_a_model(changes: dict[str, Any], text: str) -> None:
    """The error names the key."""
    with pytest.raises(DeclarationError) as error:
        parse_model(json.dumps(model(**changes)).encode())
    assert text in str(error.value)
