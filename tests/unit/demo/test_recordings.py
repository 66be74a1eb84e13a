"""The committed recordings are what the manifest says."""

from __future__ import annotations

import json
from collections import Counter

import soundfile
from build_demo.synth import TRAIN_VOICES, UNSEEN_VOICES
from orinbench_profiles.digest import canonical_json, digest_file

from tests.unit.demo.paths import SUITE, manifest


def test_each_file_has_the_digest_of_the_manifest() -> None:
    """A recording that was changed or swapped is noticed."""
    for entry in manifest():
        assert digest_file(SUITE / entry["audio"]) == f"sha256:{entry['audio_sha256']}", entry["sample_id"]


def test_each_file_is_canonical_audio_of_the_stated_length() -> None:
    """16 kHz, one channel, PCM-16 FLAC; frames and seconds as the manifest states them."""
    for entry in manifest():
        info = soundfile.info(SUITE / entry["audio"])

        assert (info.format, info.subtype, info.samplerate, info.channels) == ("FLAC", "PCM_16", 16_000, 1)
        assert info.frames == entry["samples"] == entry["audio_seconds"] * 16_000
        assert info.frames >= 400


def test_manifest_and_folder_list_the_same_forty() -> None:
    """Sample ids run from demo-000 to demo-039 in order, and no file lies beside them."""
    ids = [f"demo-{index:03}" for index in range(40)]

    assert [entry["sample_id"] for entry in manifest()] == ids
    assert sorted(path.name for path in (SUITE / "audio").iterdir()) == [f"{name}.flac" for name in ids]


def test_each_line_is_canonical_json() -> None:
    """The manifest's digest can be recomputed from its content."""
    for line in (SUITE / "manifest.jsonl").read_bytes().splitlines(keepends=True):
        assert line == canonical_json(json.loads(line))


def test_the_set_stays_small() -> None:
    """About two minutes of speech in at most 2 MB, since a clone carries it."""
    assert 120 < sum(entry["audio_seconds"] for entry in manifest()) < 130
    assert sum(path.stat().st_size for path in (SUITE / "audio").iterdir()) <= 2_000_000


def test_unseen_words_and_voices_are_crossed() -> None:
    """Ten recordings for each pair of known or unseen words and voice, so that effects can be told apart."""
    groups = Counter((entry["unseen_words"], entry["unseen_voice"]) for entry in manifest())

    assert sorted(groups.values()) == [10, 10, 10, 10]


def test_unseen_voices_are_no_training_voices() -> None:
    """A voice is called unseen if and only if it is not one of the training voices."""
    assert not set(TRAIN_VOICES) & set(UNSEEN_VOICES)
    for entry in manifest():
        assert entry["voice"] in (UNSEEN_VOICES if entry["unseen_voice"] else TRAIN_VOICES)
