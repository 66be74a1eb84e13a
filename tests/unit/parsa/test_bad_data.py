"""Everything that can be wrong with a copy of PARSA-Bench or a declaration of it: one error, by file and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from orinbench_client.errors import BadInput
from orinbench_client.parsa.prepared import folder_of
from orinbench_client.parsa.settings import read_settings
from orinbench_client.suites import find_suite, open_suite, prepare_suite
from orinbench_profiles import load_suite

from tests.integration.parsa_data import TASKS, write_task

Change = Callable[[Path], Any]


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All tables, with recordings that are empty: whatever is wrong with a table must be found before they are read."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    for name, rows in TASKS.items():
        write_task(tmp_path / name, rows)
        for place in range(len(rows)):
            (tmp_path / name / "Audios" / f"{place}.wav").touch()
    return tmp_path


def changed(task: str, **cells: str) -> Change:
    """Write the table of a task with other cells in its last row, which is line 6."""
    return lambda copy: write_task(copy / task, TASKS[task], **cells)


def replaced(task: str, old: str, new: str) -> Change:
    """Change the bytes of a task's table."""

    def change(copy: Path) -> None:
        path = copy / task / f"{task}.csv"
        path.write_text(path.read_text().replace(old, new, 1))

    return change


CASES: list[tuple[Change, str]] = [
    (lambda copy: (copy / "ASR" / "ASR.csv").unlink(), "ASR/ASR.csv: the table of task asr cannot be read"),
    (lambda copy: (copy / "ASR" / "ASR.csv").write_text("id,audio,transcript\n"), "ASR.csv: the table .* has no rows"),
    (lambda copy: (copy / "ASR" / "ASR.csv").write_bytes(b"id,audio\n\xff\xfe,x\n"), "ASR.csv: not a UTF-8 CSV table"),
    (replaced("ASR", "transcript", "words"), "ASR.csv:1: no column for the transcript .*there are id, audio, words"),
    (replaced("Gender-Recognition", ",gender", ",sex"), "Gender-Recognition.csv:1: no column for the label"),
    (replaced("ASR", "s1,", ""), "ASR.csv:3: more or fewer cells than the header has"),
    (changed("ASR", audio="Audios/none.wav"), "ASR.csv:6: audio 'Audios/none.wav' is neither in"),
    (changed("ASR", audio="../ASR/Audios/0.wav"), "ASR.csv:6: audio .* lies outside the task's folder"),
    (changed("ASR", id="s0"), "ASR.csv:6: 'asr.s0' was there before, in line 2"),
    (changed("ASR", id="یک"), "ASR.csv:6: id 'یک' must be"),
    (changed("ASR", transcript=" "), "ASR.csv:6: the transcript is empty"),
    (changed("ASR", transcript="؟!"), "ASR.csv:6: transcript '؟!' holds no word"),
    (changed("Emotion-Recognition", emotion="boredom"), "csv:6: label 'boredom' is not in the set: anger, fear"),
    (changed("Music-Understanding", answer="E"), "csv:6: answer 'E' is none of the options"),
    (changed("Music-Understanding", options='["a"]'), "csv:6: options must be 2 to 8, all different"),
    (changed("Music-Understanding", options="a|a"), "csv:6: options must be 2 to 8, all different"),
    (changed("Music-Understanding", options="4|1|2|3", answer="1"), r"names several options \(A: 4; B: 1\): give the"),
    (changed("Music-Understanding", answer="A, B"), "csv:6: answer 'A, B' names several options"),
    (changed("Music-Understanding", options="a x|b y", answer="A) b y"), r"several options \(A: a x; B: b y\)"),
    (changed("Story-Comprehension", question=""), "csv:6: the question is empty"),
    (
        changed("Entity-Recognition", annot_utt="[place : x]"),
        "csv:6: entity type 'place' is not in the set",
    ),
    (changed("Entity-Recognition", annot_utt="{}"), "csv:6: entities must be a JSON list"),
    (lambda _: None, "ASR.csv:2: .*Audios/0.wav: no audio that can be read"),
]


@pytest.mark.parametrize(("change", "problem"), CASES, ids=[problem for _, problem in CASES])
def test_a_copy_with_a_fault_is_refused(copy: Path, change: Change, problem: str) -> None:
    """The error names file, line and what to look for; nothing is prepared, not even in part."""
    change(copy)
    loaded = find_suite("parsa-v1")
    with pytest.raises(BadInput, match=problem):
        prepare_suite(loaded, copy)
    assert not list(folder_of(loaded.declaration).parent.glob("*"))


def test_a_suite_that_is_not_prepared_says_how_to_get_it(copy: Path) -> None:
    """The one line has where the data are, their terms, and the command."""
    with pytest.raises(
        BadInput, match=r"MohammadJRanjbar/PARSA-Bench on the Hugging Face Hub .*prepare --suite parsa-v1 --source"
    ):
        open_suite("parsa-v1")


def test_a_suite_with_its_own_data_takes_no_source(copy: Path) -> None:
    """A source for the demonstration is a mistake, not something to be passed over."""
    with pytest.raises(BadInput, match=r"fa-demo-v1 has its data beside its declaration"):
        prepare_suite(find_suite("fa-demo-v1"), copy)


def edited(**changes: Any) -> Any:
    """The settings of our declaration with changes to its first task."""
    settings = load_suite("parsa-v1").declaration.settings
    first, *others = settings["tasks"]
    return {**settings, "tasks": [{**first, **changes}, *others]}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (edited(prompt="Write down {wordz}."), r"tasks.0: .*the slots \['wordz'\]"),
        (edited(prompt="Choose: {labels}"), "tasks.0: .*slot 'labels', the task has none"),
        (edited(prompt="Say it."), "prompts.digest: the texts have sha256:"),
        (edited(metric={"value": "bleu", "provenance": "paper"}), "tasks.0: .*a task of kind transcript has"),
        (edited(metric={"value": "wer", "provenance": "hearsay"}), "tasks.0.metric.provenance"),
        (edited(metric={"value": "wer"}), "tasks.0.metric.provenance: Field required"),
        (edited(kind="label"), "tasks.0"),
        (edited(id="translation-fa-en"), "tasks named twice: translation-fa-en"),
        ({**edited(), "temprature": {"value": 0, "provenance": "paper"}}, "temprature"),
        ({**edited(), "extraction": {"value": "ladder-0", "provenance": "convention"}}, "this version has ladder-2"),
    ],
)
def test_a_declaration_with_a_fault_is_refused(settings: dict[str, Any], problem: str) -> None:
    """An unknown slot, figure, key or provenance, and a wording that is not the one declared, are named."""
    declaration = load_suite("parsa-v1").declaration.model_copy(update={"settings": settings})
    with pytest.raises(BadInput, match=f"suite parsa-v1: settings.*{problem}"):
        read_settings(declaration)


def test_every_detail_the_paper_leaves_open_has_a_provenance() -> None:
    """What the paper says is marked so, and only that."""
    settings = read_settings(load_suite("parsa-v1").declaration)
    by_paper = {task.id for task in settings.tasks if task.metric.provenance == "paper"}
    assert by_paper == {"asr", "poetry-meter", "poetry-style"}
    assert {task.id for task in settings.tasks if task.samples.provenance == "paper"} == {"poetry-meter", "music"}
    assert (settings.temperature.provenance, settings.shots.provenance) == ("paper", "convention")
    assert len(settings.tasks) == 16
