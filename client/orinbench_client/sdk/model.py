"""A model as the client sees it: a declaration, and perhaps its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orinbench_profiles import (
    DeclarationError,
    HubSource,
    ModelDeclaration,
    ModelFile,
    digest_bytes,
    digest_file,
    is_folder,
    load_model,
    parse_model,
)

from orinbench_client.errors import BadInput


@dataclass(frozen=True)
class Model:
    """A model declaration, the canonical JSON a board gets, its digest, and the folder of its files (None: a hub)."""

    declaration: ModelDeclaration
    canonical: bytes
    digest: str
    folder: Path | None

    @classmethod
    def from_canonical(cls, data: bytes) -> Model:
        """Return the model of a declaration as a board gave it. Raises BadInput."""
        try:
            return cls(parse_model(data), data, digest_bytes(data), None)
        except DeclarationError as error:
            raise BadInput(f"the board gave a declaration that this client cannot read: {error}") from None

    @property
    def on_hub(self) -> bool:
        """Whether its files are fetched from a hub, by the board."""
        return isinstance(self.declaration.source, HubSource)

    def file(self, file: ModelFile) -> Path:
        """Return the verified path of one file. Raises BadInput if it is absent or changed."""
        if self.folder is None:
            raise BadInput(
                f"model {self.declaration.id}: nothing says where {file.path} is: give the declaration a [source]"
            )
        path = self.folder / file.path
        try:
            found, size = digest_file(path), path.stat().st_size
        except OSError as error:
            raise BadInput(f"model {self.declaration.id}: {path}: cannot be read: {error.strerror}") from None
        if (found, size) != (file.digest, file.bytes):
            raise BadInput(
                f"model {self.declaration.id}: {path}: {size} bytes with digest {found}, "
                f"the declaration says {file.bytes} bytes with {file.digest}"
            )
        return path

    def verify(self) -> None:
        """Check every file that is to be here. Raises BadInput."""
        if self.on_hub:
            return
        for file in self.declaration.files:
            self.file(file)


def open_model(name: str) -> Model:
    """Load a model by our name or from a .toml file. Raises BadInput."""
    if is_folder(name):
        raise BadInput(
            f"{name} is a folder, and a model is a declaration: write one with "
            f"'orinbench models describe {name} --engine ENGINE --adapter ADAPTER > model.toml'"
        )
    try:
        loaded = load_model(name)
    except DeclarationError as error:
        raise BadInput(str(error)) from None
    return Model(loaded.declaration, loaded.canonical, loaded.digest, loaded.folder)
