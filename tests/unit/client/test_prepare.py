"""Preparing a suite from a copy of its repository: canonical audio, every sample checked, whole or not at all."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from orinbench_client.cli.main import main
from orinbench_client.errors import BadInput
from orinbench_client.prepare.audio import canonical_wav
from orinbench_client.suites import find_suite, inputs_manifest, prepare_suite, verify_suite
from orinbench_client.suites.prepared import prepared_folder

from tests.unit.client.fleurs import ARCHIVE, TABLE, TEXTS, recording, repository, write_copy, write_suite

RECORDINGS = [recording(number) for number in range(len(TEXTS))]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "orinbench" / "suites"


def quiet(_doing: str, _done: int, _total: int) -> None:
    """Tell nobody."""


def prepared(suite: Path, copy: Path) -> None:
    """Prepare a suite from a copy of its repository."""
    prepare_suite(find_suite(str(suite)), copy, quiet)


def test_a_copy_becomes_the_suite(tmp_path: Path, home: Path) -> None:
    """Samples are in the suite's order whatever the archive's, in canonical WAV; no reference is in what is sent."""
    suite = write_suite(tmp_path / "suite", RECORDINGS)
    prepared(suite, write_copy(tmp_path / "copy", repository(RECORDINGS)))
    found = verify_suite(find_suite(str(suite)))
    assert [sample.sample_id for sample in found.samples] == ["test-000000", "test-000001", "test-000002"]
    assert tuple(sample.reference for sample in found.samples) == TEXTS
    for sample, data in zip(found.samples, RECORDINGS, strict=True):
        assert isinstance(sample.content, Path)
        assert sample.content.read_bytes() == canonical_wav(data)[0]
    assert not any(text.encode() in inputs_manifest(found.samples) for text in TEXTS)
    assert len(list(home.iterdir())) == 1


def test_what_is_prepared_is_left_alone_and_shared(tmp_path: Path) -> None:
    """A second time needs no source; a suite that differs in its scoring alone finds the same data."""
    suite = write_suite(tmp_path / "suite", RECORDINGS)
    prepared(suite, write_copy(tmp_path / "copy", repository(RECORDINGS)))
    prepared(suite, tmp_path / "nothing")
    other = write_suite(tmp_path / "other", RECORDINGS, id="other", normalizer="fa-v2")
    assert len(verify_suite(find_suite(str(other))).samples) == len(TEXTS)


def test_an_unprepared_suite_says_what_to_do(tmp_path: Path) -> None:
    """Running a suite that was never prepared is one line with the command."""
    with pytest.raises(BadInput, match="not prepared here: orinbench prepare --suite fleurs-fa-ir-v1"):
        verify_suite(find_suite("fleurs-fa-ir-v1"))


def changed_text(files: dict[str, bytes]) -> None:
    files[TABLE] = files[TABLE].replace("\tمی‌روم".encode(), "\tمی روم".encode())


def cut_table(files: dict[str, bytes]) -> None:
    files[TABLE] = files[TABLE].replace(b"\tMALE\n", b"\n", 1)


def cut_archive(files: dict[str, bytes]) -> None:
    files[ARCHIVE] = files[ARCHIVE][: len(files[ARCHIVE]) // 2]


def not_an_archive(files: dict[str, bytes]) -> None:
    files[ARCHIVE] = b"no archive"


def no_table(files: dict[str, bytes]) -> None:
    del files[TABLE]


def louder(files: dict[str, bytes]) -> None:
    files.update(repository([RECORDINGS[0], recording(7), RECORDINGS[2]]))


def not_audio(files: dict[str, bytes]) -> None:
    files.update(repository([RECORDINGS[0], b"RIFF but no more", RECORDINGS[2]]))


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (changed_text, "test.tsv:2: the transcription is not that of sample test-000001"),
        (cut_table, "test.tsv:1: 6 columns, there must be 7"),
        (cut_archive, "test.tar.gz: cannot be read as a .tar.gz"),
        (not_an_archive, "test.tar.gz: cannot be read as a .tar.gz"),
        (no_table, "test.tsv: cannot be read: No such file"),
        (
            louder,
            r"gives sample test-000001; of no sample: test/100.wav \(test.tsv:2\) has the canonical",
        ),
        (not_audio, "test.tar.gz: test/100.wav: not audio"),
    ],
)
def test_a_copy_that_differs(damage: Callable[[dict[str, bytes]], None], text: str, tmp_path: Path, home: Path) -> None:
    """Whatever differs is one error that names file and sample, and nothing half-made stays behind."""
    files = repository(RECORDINGS)
    damage(files)
    with pytest.raises(BadInput, match=text):
        prepared(write_suite(tmp_path / "suite", RECORDINGS), write_copy(tmp_path / "copy", files))
    assert list(home.iterdir()) == []


def test_the_manifest_is_pinned(tmp_path: Path, home: Path) -> None:
    """Sums that lead to another manifest than the declared one are refused."""
    suite = write_suite(tmp_path / "suite", RECORDINGS, manifest_digest="sha256:" + "0" * 64)
    with pytest.raises(BadInput, match="the declaration says sha256:000"):
        prepared(suite, write_copy(tmp_path / "copy", repository(RECORDINGS)))
    assert list(home.iterdir()) == []


def test_damaged_sums(tmp_path: Path) -> None:
    """A line of the sums that is none is named."""
    suite = write_suite(tmp_path / "suite", RECORDINGS)
    (suite / "a.sums").write_text("test-000000  abc  def\n")
    with pytest.raises(BadInput, match=r"a.sums:1: not a sample's id"):
        prepared(suite, write_copy(tmp_path / "copy", repository(RECORDINGS)))


def test_a_suite_beside_its_declaration_needs_no_source(tmp_path: Path) -> None:
    """--source for a suite that brings its data is refused, and without it there is nothing to do."""
    prepare_suite(find_suite("fa-demo-v1"), None, quiet)
    with pytest.raises(BadInput, match="needs no --source"):
        prepare_suite(find_suite("fa-demo-v1"), tmp_path, quiet)
    with pytest.raises(ValueError, match="does not lie on a hub"):
        prepared_folder(find_suite("fa-demo-v1"))


@pytest.mark.parametrize(("rate", "channels"), [(16_000, 1), (16_000, 2), (48_000, 1), (44_100, 2), (8_000, 1)])
def test_canonical_audio(rate: int, channels: int) -> None:
    """Any rate and number of channels becomes 16 kHz mono PCM-16 of the same length and, nearly, the same tone."""
    data, seconds = canonical_wav(recording(2, rate, channels))
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        assert file.getnframes() == 1600
        samples = np.frombuffer(file.readframes(1600), dtype="<i2") / 32768
    assert seconds == pytest.approx(0.1)
    tone = 0.3 * np.sin(2 * np.pi * 400 * np.arange(1600) / 16_000)
    # Linear interpolation between 8 kHz frames of a 400 Hz tone errs by up to 1 - cos(pi * 400 / 8000) of it; the
    # last frame has no right neighbour.
    assert np.abs(samples - tone)[:-1].max() < 0.3 * 0.0124 + 2 / 32768


def test_channels_are_averaged() -> None:
    """Opposite channels cancel out."""
    tone = np.linspace(-0.5, 0.5, 1600, dtype=np.float32)
    data = io.BytesIO()
    soundfile.write(data, np.stack([tone, -tone], axis=1), 16_000, format="WAV", subtype="FLOAT")
    samples, _ = soundfile.read(io.BytesIO(canonical_wav(data.getvalue())[0]), dtype="int16")
    assert not samples.any()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["prepare"], "give either --suite or --model"),
        (["prepare", "--suite", "fa-demo-v1", "--model", "fa-demo-tiny"], "give either --suite or --model"),
        (["prepare", "--model", "fa-demo-tiny", "--source", "."], "--source belongs to --suite"),
        (["prepare", "--model", "fa-demo-tiny"], "send them by 'orinbench push'"),
        (["validate", "fa-demo-v1", "--host", "x"], "--host is for models"),
    ],
)
def test_what_cannot_be_asked(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a question is answered by what is missing."""
    assert main(arguments) == 2
    assert text in capsys.readouterr().err
