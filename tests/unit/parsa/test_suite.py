"""PARSA-Bench as a suite: canonical audio, what is asked under each condition, and that right answers score as such."""

from __future__ import annotations

import json
import sys
import wave
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from orinbench_client.boards.parts import cells_of, parts_of
from orinbench_client.errors import BadInput
from orinbench_client.parsa.audio import canonical_wav
from orinbench_client.parsa.prepared import folder_of
from orinbench_client.parsa.scorer import AXES, ParsaScorer
from orinbench_client.parsa.settings import read_settings
from orinbench_client.parsa.tables import read_tables
from orinbench_client.suites import Suite, find_suite, inputs_manifest, open_suite, prepare_suite
from orinbench_profiles import load_suite

from tests.integration.parsa_data import SAMPLES, TASKS, write_task

SCORER = ParsaScorer("parsa-1")


def tone(path: Path, rate_hz: int = 16_000, channels: int = 1, seconds: float = 0.1, pitch_hz: float = 440.0) -> Path:
    """Write a tone at half of full scale."""
    times = np.arange(round(rate_hz * seconds)) / rate_hz
    frames = np.repeat(np.rint(16_383 * np.sin(2 * np.pi * pitch_hz * times)).astype("<i2"), channels)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(frames.tobytes())
    return path


def prepare(folder: Path) -> Path:
    """Write a copy and prepare it; every recording is another."""
    for number, (name, rows) in enumerate(TASKS.items()):
        write_task(folder / name, rows)
        for place in range(len(rows)):
            tone(folder / name / "Audios" / f"{place}.wav", pitch_hz=100 + 10 * (number * SAMPLES + place))
    prepare_suite(find_suite("parsa-v1"), folder)
    return folder


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A prepared copy that tests only read."""
    folder = tmp_path_factory.mktemp("copy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder / "share"))
        yield prepare(folder)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A prepared copy that a test may change."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return prepare(tmp_path)


def chats(suite: Suite) -> dict[str, list[dict[str, Any]]]:
    """The messages of every sample."""
    return {sample.sample_id: json.loads(bytes(sample.content))["messages"] for sample in suite.samples}


def test_canonical_audio_passes_unchanged(tmp_path: Path) -> None:
    """A 16 kHz mono 16-bit file keeps every sample."""
    path = tone(tmp_path / "a.wav")
    data, seconds = canonical_wav(path)
    assert (data, seconds) == (path.read_bytes(), 0.1)


@pytest.mark.parametrize(("rate_hz", "channels"), [(22_050, 1), (48_000, 2), (8_000, 1), (44_100, 2)])
def test_other_audio_is_resampled_and_mixed_down(tmp_path: Path, rate_hz: int, channels: int) -> None:
    """Length, pitch and level of a tone stay, at 16 kHz in one channel."""
    data, seconds = canonical_wav(tone(tmp_path / "a.wav", rate_hz, channels, seconds=1.0))
    (tmp_path / "b.wav").write_bytes(data)
    with wave.open(str(tmp_path / "b.wav")) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        samples = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(float)
    spectrum = np.abs(np.fft.rfft(samples[:16_000]))
    assert seconds == pytest.approx(1.0, abs=1e-3)
    assert int(spectrum.argmax()) == pytest.approx(440, abs=1)
    assert np.sqrt((samples**2).mean()) == pytest.approx(16_383 / np.sqrt(2), rel=0.01)


def test_without_the_libraries_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Preparing audio without the extra is refused by name."""
    monkeypatch.setitem(sys.modules, "soxr", None)
    with pytest.raises(BadInput, match=r"pip install 'orinbench\[prepare\]'"):
        canonical_wav(tone(tmp_path / "a.wav"))


def test_a_prepared_suite_is_the_same_each_time(own: Path) -> None:
    """Preparing the same copy again gives the same digest; another transcript gives another."""
    first = open_suite("parsa-v1").digest
    prepare_suite(find_suite("parsa-v1"), own)
    assert open_suite("parsa-v1").digest == first
    write_task(own / "ASR", TASKS["ASR"], transcript="سلام")
    prepare_suite(find_suite("parsa-v1"), own)
    assert open_suite("parsa-v1").digest != first


def test_a_lost_recording_is_noticed(own: Path) -> None:
    """A file that went missing after the preparation is named."""
    folder = folder_of(load_suite("parsa-v1").declaration)
    next((folder / "audio").iterdir()).unlink()
    with pytest.raises(BadInput, match=r"manifest.jsonl:\d+: .*prepare the suite again"):
        open_suite("parsa-v1")


def test_the_board_gets_no_right_answer(prepared: Path) -> None:
    """Neither the inputs manifest nor a zero-shot question holds a transcript of its recording."""
    suite = open_suite("parsa-v1")
    assert b"reference" not in inputs_manifest(suite.samples)
    asked = json.dumps(chats(suite), ensure_ascii=False)
    assert "چای داغ دوست دارم" not in asked
    assert all(len(sample.attachments) == 1 and sample.audio_seconds == 0.1 for sample in suite.samples)


@pytest.mark.parametrize("condition", ["few-shot", "few-shot-cot"])
def test_examples_are_others_of_the_task(prepared: Path, condition: str) -> None:
    """Three solved examples, never the sample itself, out of four recordings that all samples of a task share."""
    suite = open_suite(f"parsa-v1:{condition}")
    pools: dict[str, set[str]] = {}
    for sample in suite.samples:
        own = sample.attachments[-1].digest
        shots = [attachment.digest for attachment in sample.attachments[:-1]]
        assert len(set(shots)) == 3
        assert own not in shots
        pools.setdefault(sample.sample_id.partition(".")[0], set()).update(shots)
    assert {len(pool) for pool in pools.values()} == {4}
    for sample_id, messages in chats(suite).items():
        assert [message["role"] for message in messages] == ["user", "assistant"] * 3 + ["user"], sample_id
        audio = [part["attachment"] for message in messages for part in message["content"] if part["type"] == "audio"]
        assert audio == [0, 1, 2, 3]


def test_lengths_add_up_exactly(own: Path) -> None:
    """The seconds of a sample with its examples are their sum rounded once: the same inputs under every Python."""
    for number, path in enumerate(sorted((own / "ASR" / "Audios").iterdir())):
        tone(path, seconds=(1601 + 977 * number) / 16_000)
    prepare_suite(find_suite("parsa-v1"), own)
    for sample in open_suite("parsa-v1:few-shot").samples[:SAMPLES]:
        seconds = [Fraction(canonical_wav(Path(str(part.content)))[1]) for part in sample.attachments]
        assert sample.audio_seconds == float(sum(seconds, Fraction()))


def test_guessing_among_three_earns_a_third() -> None:
    """The floor of a guess is exact, however many samples there are."""
    labels: list[list[object]] = [[name, [], None] for name in "abc"]
    right = {"dimension": "d", "task": "t", "kind": "label", "metric": "accuracy", "answer": "a", "labels": labels}
    floors = SCORER.floors({f"t.{number}": json.dumps(right) for number in range(500)})
    assert {floor.value for floor in floors if floor.answer == "a guess"} == {1 / 3}


@pytest.mark.parametrize(
    ("options", "answer", "right"),
    [
        ("تهران|شیراز|تبریز", "شيراز.", "شیراز"),
        ("تهران|شیراز|تبریز", "b", "شیراز"),
        ("تهران|شیراز|تبریز", "گزینه‌ی (۲)", "شیراز"),
        ("تهران|شیراز|تبریز", "ب) شیراز", "شیراز"),
        ("-2|2|0|1", "-2", "-2"),
        ("3|3.2|3.5", "3.2", "3.2"),
        ("4|1|2|3", "D", "3"),
        ("1|2|3", "3", "3"),
        ("a cat|cat", "A cat", "a cat"),
    ],
)
def test_an_answer_names_its_option(tmp_path: Path, options: str, answer: str, right: str) -> None:
    """The text, the letter or the number of an option, or letter and text together, and never another's by chance."""
    settings = read_settings(load_suite("parsa-v1").declaration)
    for number, (name, rows) in enumerate(TASKS.items()):
        write_task(tmp_path / name, rows, **({"options": options, "answer": answer} if "Music" in name else {}))
        for place in range(len(rows)):
            tone(tmp_path / name / "Audios" / f"{place}.wav", seconds=0.001 * (number + 1))
    *_, last = (row for row in read_tables(settings, tmp_path) if row.task == "music")

    assert last.answer == right


def test_text_only_has_no_recording(prepared: Path) -> None:
    """The transcript stands in its place, and where there is none the question says so."""
    suite = open_suite("parsa-v1:text-only")
    assert not any(sample.attachments or sample.audio_seconds for sample in suite.samples)
    asked = {name: messages[0]["content"][0]["text"] for name, messages in chats(suite).items()}
    assert asked["asr.s0"].endswith("سلام دنیا")
    assert "neither the recording nor a transcript" in asked["music.s0"]


def test_steps_are_asked_for_and_given_room(prepared: Path) -> None:
    """Under cot the question asks for steps and a last line that the ladder reads, with more tokens to answer."""
    plain, steps = (open_suite(f"parsa-v1:{condition}") for condition in ("zero-shot", "cot"))
    assert {sample.max_tokens for sample in plain.samples} == {256}
    assert {sample.max_tokens for sample in steps.samples} == {1024}
    assert all('begins with "Answer:"' in messages[0]["content"][1]["text"] for messages in chats(steps).values())


def test_the_examples_answers_score_as_perfect(prepared: Path) -> None:
    """What a model is shown as right earns all there is in every figure of every task, on the recording it is of."""
    few_shot = open_suite("parsa-v1:few-shot")
    shown: dict[str, str] = {}
    for sample, messages in zip(few_shot.samples, chats(few_shot).values(), strict=True):
        answers = [message["content"][0]["text"] for message in messages[1::2]]
        shown |= {shot.digest: answer for shot, answer in zip(sample.attachments, answers, strict=False)}
    grades = [
        SCORER.grade(sample.sample_id, shown[sample.attachments[0].digest], sample.reference)
        for sample in open_suite("parsa-v1").samples
        if sample.attachments[0].digest in shown
    ]
    assert len(grades) == 4 * len(TASKS)
    assert {grade.state for grade in grades} == {"ok"}
    figures = {
        metric.name: metric.value(part.stats)
        for part in parts_of(cells_of(grades), SCORER, AXES)
        for metric in part.metrics
    }
    perfect = dict.fromkeys(figures, 1.0) | dict.fromkeys(("wer", "cer", "wer-zwnj-joined"), 0.0)
    assert figures == pytest.approx(perfect | {"bleu": 100.0, "chrf++": 100.0})


def test_every_declared_label_and_alias_is_read_as_itself() -> None:
    """All label sets of the suite: names and aliases, as such, marked, in JSON, and with Arabic letters."""
    for task in read_settings(load_suite("parsa-v1").declaration).tasks:
        if task.kind != "label" or task.labels is None:
            continue
        labels = task.labels.value
        sets = [[label.name, label.aliases, label.numbers] for label in labels]
        for label in labels:
            reference = json.dumps(
                {"dimension": "d", "task": task.id, "kind": "label", "metric": "accuracy", "answer": label.name}
                | {"labels": sets}
            )
            for name in (label.name, *label.aliases):
                arabic = name.replace("ی", "ي").replace("ک", "ك")
                for reply in (name, arabic, f"**Answer:** {name}.", f"پاسخ: {name}", json.dumps({"answer": name})):
                    assert SCORER.grade("s", reply, reference).answer == label.name, (task.id, reply)
