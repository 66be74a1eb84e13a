"""A model as the client sees it: a declaration, and perhaps its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orinbench_profiles import (
    DeclarationError,
    ModelDeclaration,
    ModelFile,
    digest_file,
    load_model,
)

from orinbench_client.errors import BadInput


@dataclass(frozen=True)
class Model:
    """A model declaration, the canonical JSON a board gets, its digest, and the folder of its files.

    `folder` is None where the files lie on a hub.
    """

    declaration: ModelDeclaration
    canonical: bytes
    digest: str
    folder: Path | None

    def file(self, file: ModelFile) -> Path:
        """Return the verified path of one file. Raises BadInput if it is absent, changed, or on a hub."""
        if self.folder is None:
            raise BadInput(
                f"model {self.declaration.id}: {file.path} lies on a hub, which this version cannot fetch: "
                "give the declaration a folder source"
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
        """Check every file. Raises BadInput."""
        for file in self.declaration.files:
            self.file(file)


def open_model(name: str) -> Model:
    """Load a model by our name or from a .toml file. Raises BadInput."""
    try:
        loaded = load_model(name)
    except DeclarationError as error:
        raise BadInput(str(error)) from None
    return Model(loaded.declaration, loaded.canonical, loaded.digest, loaded.folder)
