"""FLEURS as its repository lays it out: data/CONFIG/SPLIT.tsv beside data/CONFIG/audio/SPLIT.tar.gz.

A row of the table, without a header and never quoted: sentence id, file name, raw transcription, transcription,
characters, frames, gender. The reference is the transcription.

Which recording is which sample is told by its digest: the suite's file of sums has a line a sample, in the suite's
order, with its id, the SHA-256 of its canonical WAV file and the SHA-256 of its reference in UTF-8.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from orinbench_profiles import HubSource, Loaded, SuiteDeclaration, canonical_json, digest_bytes

from orinbench_client.errors import BadInput
from orinbench_client.prepare.audio import canonical_wav
from orinbench_client.suites.asr import MANIFEST

_SUM = re.compile(r"(?P<sample>[A-Za-z0-9._-]{1,128})  (?P<audio>[0-9a-f]{64})  (?P<reference>[0-9a-f]{64})\Z")
_COLUMNS = 7
_NAMED = 5


@dataclass(frozen=True)
class Sum:
    """What a sample must be: hex SHA-256 of its canonical WAV file and of its reference."""

    sample_id: str
    audio: str
    reference: str


@dataclass(frozen=True)
class _Row:
    line: int
    transcription: str


def files(source: HubSource) -> list[str]:
    """Return the files of the repository that a suite is made of."""
    folder = f"data/{source.config}"
    return [f"{folder}/{source.split}.tsv", f"{folder}/audio/{source.split}.tar.gz"]


def write(
    loaded: Loaded[SuiteDeclaration], source: HubSource, root: Path, to: Path, tell: Callable[[int, int], None]
) -> None:
    """Write the suite's recordings and manifest.jsonl into `to` from a copy of its repository.

    `tell` hears how many bytes of the archive are read. Raises BadInput that names what differs.
    """
    table, archive = (root / name for name in files(source))
    sums = read_sums(loaded)
    rows = _read_table(table)
    found: dict[str, tuple[str, float, str]] = {}
    strangers: list[str] = []
    by_audio = {each.audio: each for each in sums}
    (to / "audio").mkdir()
    for name, data in _recordings(archive, tell):
        row = rows.get(PurePosixPath(name).name)
        if row is None:
            continue
        wav, seconds = _canonical(archive, name, data)
        known = by_audio.get(sha256(wav).hexdigest())
        if known is None:
            strangers.append(f"{name} ({table.name}:{row.line}) has the canonical digest {digest_bytes(wav)}")
            continue
        if sha256(row.transcription.encode()).hexdigest() != known.reference:
            raise BadInput(f"{table}:{row.line}: the transcription is not that of sample {known.sample_id}")
        (to / _audio(known)).write_bytes(wav)
        found[known.sample_id] = (known.audio, seconds, row.transcription)
    _require_all(archive, sums, found, strangers)
    lines = [manifest_line(each, found[each.sample_id][1], found[each.sample_id][2]) for each in sums]
    (to / MANIFEST).write_bytes(b"".join(lines))


def manifest_line(known: Sum, seconds: float, reference: str) -> bytes:
    """Return a sample's line of the manifest."""
    return canonical_json(
        {
            "sample_id": known.sample_id,
            "audio": _audio(known),
            "audio_sha256": known.audio,
            "audio_seconds": seconds,
            "reference": reference,
        }
    )


def read_sums(loaded: Loaded[SuiteDeclaration]) -> list[Sum]:
    """Read the file that the setting `sums` names, beside the declaration. Raises BadInput naming the line."""
    path = loaded.home / str(loaded.declaration.settings.get("sums", ""))
    found = []
    for number, line in enumerate(_lines(path), 1):
        match = _SUM.match(line)
        if match is None:
            raise BadInput(f"{path}:{number}: not a sample's id and two digests in hex, two spaces between")
        found.append(Sum(match["sample"], match["audio"], match["reference"]))
    return found


def _audio(known: Sum) -> str:
    return f"audio/{known.sample_id}.wav"


def _lines(path: Path) -> list[str]:
    try:
        # Not splitlines: it also splits at characters that may stand inside a transcription.
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8: {error}") from None


def _read_table(path: Path) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}
    for number, line in enumerate(_lines(path), 1):
        columns = line.removesuffix("\r").split("\t")
        if len(columns) != _COLUMNS:
            raise BadInput(f"{path}:{number}: {len(columns)} columns, there must be {_COLUMNS}, separated by tabs")
        rows[columns[1]] = _Row(number, columns[3])
    return rows


def _recordings(archive: Path, tell: Callable[[int, int], None]) -> Iterator[tuple[str, bytes]]:
    try:
        size = archive.stat().st_size
        with archive.open("rb") as file, tarfile.open(fileobj=file, mode="r|gz") as members:
            for member in members:
                content = members.extractfile(member) if member.isfile() else None
                if content is not None:
                    yield member.name, content.read()
                    tell(file.tell(), size)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BadInput(f"{archive}: cannot be read as a .tar.gz: {error}") from None


def _canonical(archive: Path, name: str, data: bytes) -> tuple[bytes, float]:
    try:
        return canonical_wav(data)
    except ValueError as error:
        raise BadInput(f"{archive}: {name}: not audio: {error}") from None


def _require_all(archive: Path, sums: list[Sum], found: Mapping[str, object], strangers: list[str]) -> None:
    lacking = [each.sample_id for each in sums if each.sample_id not in found]
    if not lacking:
        return
    strange = f"; of no sample: {', '.join(strangers[:_NAMED])}" if strangers else ""
    more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
    raise BadInput(f"{archive}: no recording gives sample {', '.join(lacking[:_NAMED])}{more}{strange}")
