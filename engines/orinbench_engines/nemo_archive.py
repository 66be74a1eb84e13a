"""Looks through a .nemo file before NeMo opens it: a tar of weights, a config that names classes, and tokenizers."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import yaml

from orinbench_engines.checkpoint import load_weights_only
from orinbench_engines.failures import model_failure

# What a .nemo of a speech model consists of. Weights are pickles, and looked at as such.
_WEIGHTS = (".ckpt", ".pt")
_OTHER = (".yaml", ".model", ".vocab", ".txt", ".json")
# NeMo builds whatever classes its config names.
_PACKAGES = ("nemo.", "torch.nn.")


def check_archive(name: str, path: Path) -> None:
    """Prove that a .nemo holds tensors, settings and vocabularies alone, without running anything in it.

    Raises WorkerFailure (model).
    """
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                _check_member(name, archive, member)
    except tarfile.TarError as error:
        raise model_failure(
            "CHECKPOINT_UNREADABLE", f"{name} is no tar archive, as a .nemo must be: {error}"
        ) from error


def _check_member(name: str, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    if member.isdir():
        return
    inner = PurePosixPath(member.name)
    if not member.isfile() or inner.is_absolute() or ".." in inner.parts:
        raise model_failure("CHECKPOINT_REFUSED", f"{name} holds {member.name}, which is no plain file inside it")
    file = cast("IO[bytes]", archive.extractfile(member))
    if inner.suffix in _WEIGHTS:
        load_weights_only(f"{name}: {inner.name}", file)
    elif inner.suffix == ".yaml":
        _check_config(f"{name}: {inner.name}", file)
    elif inner.suffix not in _OTHER:
        problem = f"{name} holds {inner.name}: only weights, settings and vocabularies may be in it"
        raise model_failure("CHECKPOINT_REFUSED", problem)


def _check_config(what: str, file: IO[bytes]) -> None:
    try:
        config = yaml.safe_load(file)
    except yaml.YAMLError as error:
        raise model_failure("CHECKPOINT_UNREADABLE", f"{what} is not YAML: {error}") from error
    for target in _targets(config):
        if not target.startswith(_PACKAGES):
            problem = f"{what} asks for {target}, which is no part of NeMo: nothing of it is built"
            raise model_failure("CHECKPOINT_REFUSED", problem)


def _targets(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (str(value[key]) for key in ("target", "_target_") if isinstance(value.get(key), str))
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _targets(item)
