"""The demo suite, and everything that can be wrong with a suite of recordings."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench_client.errors import BadInput
from orinbench_client.sdk import open_model
from orinbench_client.suites import Attachment, Sample, input_files, inputs_manifest, open_suite, references
from orinbench_client.suites.audio import read_format, require_canonical
from orinbench_profiles import digest_bytes

from tests.unit.client.recordings import row, write_suite, write_wav


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two recordings."""
    folder = tmp_path / "mine"
    folder.mkdir()
    write_wav(folder / "a.wav")
    write_wav(folder / "b.wav")
    return folder


def test_demo_suite_is_whole() -> None:
    """The packaged demonstration verifies: digests, lengths, format, and every sample once."""
    suite = open_suite("fa-demo-v1")

    assert 40 == len(suite.samples) == len(references(suite))
    assert suite.samples[0].media_type == "audio/flac"


@pytest.mark.parametrize("name", ["fa-demo-small", "fa-demo-tiny"])
def test_demo_models_are_whole(name: str) -> None:
    """The files of the packaged models have the digests their declarations name."""
    open_model(name).verify()


def test_references_stay_here(folder: Path) -> None:
    """The inputs manifest holds what the board needs and nothing of the right answers."""
    suite = open_suite(str(write_suite(folder, [json.dumps(row(folder, "a"))], 1)))
    data = inputs_manifest(suite.samples)

    digest = digest_bytes((folder / "a.wav").read_bytes())
    expected = {"digest": digest, "bytes": (folder / "a.wav").stat().st_size, "media_type": "audio/wav"}
    assert {"sample_id": "a", "input": expected, "audio_seconds": 0.1} == json.loads(data)
    assert references(suite) == {"a": "سلام"}


def test_shared_attachments_are_listed_everywhere_and_pushed_once() -> None:
    """Every line of the manifest names its attachments in order; the files to push hold each content once."""
    shots = [Attachment(digest_bytes(data), len(data), "audio/wav", data) for data in (b"one", b"two")]
    chat = b"{}"
    samples = [
        Sample(name, digest_bytes(chat), len(chat), "text/plain", chat, "", attachments=(shots[1], shots[0]))
        for name in ("a", "b")
    ]

    lines = [json.loads(line) for line in inputs_manifest(samples).splitlines()]
    entries = [{"digest": shot.digest, "bytes": 3, "media_type": "audio/wav"} for shot in (shots[1], shots[0])]
    assert [line["attachments"] for line in lines] == [entries, entries]
    assert sorted(str(file.content) for file in input_files(samples)) == ["b'one'", "b'two'", "b'{}'"]


def test_digest_binds_references(folder: Path) -> None:
    """Another reference is another suite, declared digest or not."""
    first = open_suite(str(write_suite(folder, [json.dumps(row(folder, "a"))], 1))).digest
    second = open_suite(str(write_suite(folder, [json.dumps(row(folder, "a", reference="درود"))], 1))).digest

    assert first != second


def test_declared_manifest_changes_no_digest(folder: Path) -> None:
    """A declaration that names its manifest has the same digest as one that leaves it to be found."""
    lines = [json.dumps(row(folder, "a"))]
    found = open_suite(str(write_suite(folder, lines, 1))).digest
    manifest = digest_bytes((folder / "manifest.jsonl").read_bytes())

    assert found == open_suite(str(write_suite(folder, lines, 1, manifest_digest=manifest))).digest


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"sample_id": ""}, "manifest.jsonl:1: sample_id"),
        ({"sample_id": 3}, "manifest.jsonl:1: sample_id"),
        ({"reference": ""}, "manifest.jsonl:1: reference"),
        ({"audio_seconds": 0}, "manifest.jsonl:1: audio_seconds"),
        ({"audio_seconds": 2.0}, "0.1 s long, the manifest says 2 s"),
        ({"audio_sha256": "0" * 64}, "a.wav: its digest is sha256:.*, the manifest says sha256:0000"),
        ({"audio_sha256": "abc"}, "manifest.jsonl:1: audio_sha256"),
        ({"audio": "../a.wav"}, "lies outside the suite's folder"),
        ({"audio": "/etc/passwd"}, "lies outside the suite's folder"),
        ({"audio": "a\0.wav"}, "manifest.jsonl:1: audio"),
        ({"audio": "a.mp3"}, "neither .flac nor .wav"),
        ({"audio": "none.wav"}, "none.wav: cannot be read"),
    ],
)
def test_bad_line(folder: Path, changes: dict[str, Any], problem: str) -> None:
    """A line that is wrong is named with its file, its number and what is wrong."""
    write_suite(folder, [json.dumps(row(folder, "a", **changes))], 1)

    with pytest.raises(BadInput, match=problem):
        open_suite(str(folder))


@pytest.mark.parametrize(
    ("lines", "samples", "problem"),
    [
        ([], 1, "the suite is empty"),
        (["a"], 2, "1 samples, the declaration of mine says 2"),
        (["a", "a"], 2, r"manifest.jsonl:2: sample_id 'a' was there before"),
    ],
)
def test_bad_manifest(folder: Path, lines: list[str], samples: int, problem: str) -> None:
    """An empty manifest, a wrong number of samples and a sample that comes twice are refused."""
    write_suite(folder, [json.dumps(row(folder, name)) for name in lines], samples)

    with pytest.raises(BadInput, match=problem):
        open_suite(str(folder))


@pytest.mark.parametrize("line", ["", "{", "[]", '"a"', "null", "[" * 100_000, "\ufeff{}", '{"a":NaN}'])
def test_line_that_is_no_row(folder: Path, line: str) -> None:
    """What is no JSON object of a sample is refused by its line."""
    write_suite(folder, [line], 1)

    with pytest.raises(BadInput, match=r"manifest.jsonl:1: "):
        open_suite(str(folder))


def test_changed_manifest(folder: Path) -> None:
    """A manifest that is not the declared one is refused with both digests."""
    write_suite(folder, [json.dumps(row(folder, "a"))], 1, manifest_digest="sha256:" + "0" * 64)

    with pytest.raises(BadInput, match=r"its digest is sha256:.*, the declaration of mine says sha256:0000"):
        open_suite(str(folder))


def test_unknown_task(folder: Path) -> None:
    """A task that no code here knows is refused with those that are known."""
    write_suite(folder, [], 1, task="dancing")

    with pytest.raises(BadInput, match=r"no suite code for the task 'dancing': .*asr"):
        open_suite(str(folder))


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"rate": 8000}, "8000 Hz, 1 channel"),
        ({"channels": 2}, "16000 Hz, 2 channel"),
        ({"width": 1}, "8 bit"),
        ({"frames": 0}, "holds no audio"),
    ],
)
def test_other_format_is_refused(tmp_path: Path, form: dict[str, int], problem: str) -> None:
    """Only 16 kHz mono 16-bit audio is taken; nothing is resampled in silence."""
    write_wav(tmp_path / "a.wav", **form)

    with pytest.raises(BadInput, match=problem):
        require_canonical(tmp_path / "a.wav")


def test_cut_wav(tmp_path: Path) -> None:
    """A WAV file that ends before its header says is refused."""
    write_wav(tmp_path / "a.wav")
    (tmp_path / "a.wav").write_bytes((tmp_path / "a.wav").read_bytes()[:-100])

    with pytest.raises(BadInput, match=r"a.wav: not a whole PCM WAV file"):
        read_format(tmp_path / "a.wav")


def test_flac_header() -> None:
    """The header of a real FLAC file is read: rate, channels, bits and length."""
    sample = open_suite("fa-demo-v1").samples[0]
    assert isinstance(sample.content, Path)
    found = read_format(sample.content)

    assert (found.rate_hz, found.channels, found.bits) == (16_000, 1, 16)
    assert sample.audio_seconds == found.frames / 16_000


@given(st.binary(max_size=80), st.sampled_from(["flac", "wav"]), st.sampled_from([b"", b"fLaC", b"RIFF"]))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, kind: str, start: bytes
) -> None:
    """No content of an audio file makes the reader fail in another way than BadInput."""
    path = tmp_path_factory.getbasetemp() / f"any.{kind}"
    path.write_bytes(start + data)
    with contextlib.suppress(BadInput):
        assert read_format(path).channels >= 1
