"""PARSA-Bench from a user's copy to its board: sixteen tasks, five conditions, answers at every edge of the figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from orinbench_client.text import get_normalizer
from orinbench_profiles import digest_bytes
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sklearn.metrics import accuracy_score, f1_score

from tests.integration.cli.program import Orinbench, program_in
from tests.integration.harness import running, to_toml
from tests.integration.parsa_data import _ENGLISH, _SENTENCES, SAMPLES, TASKS, write_parsa

pytestmark = pytest.mark.tool("espeak-ng")

CONDITIONS = ("zero-shot", "few-shot", "cot", "few-shot-cot", "text-only")
REFUSAL, WEIGERUNG = "I'm sorry, but I cannot listen to audio.", "متأسفم، نمی‌توانم به فایل صوتی گوش دهم."
HALLUCINATED = "یک دو سه چهار پنج شش هفت هشت نه ده"

# Five replies a task: right ones in many forms, empty, refused in both languages, too long, all of one class.
EDGES: dict[str, Sequence[str]] = {
    "asr": [_SENTENCES[0], "", REFUSAL, WEIGERUNG, HALLUCINATED],
    "translation-fa-en": [f"Translation: {_ENGLISH[0]}", "", REFUSAL, "We read books.", _ENGLISH[4]],
    "translation-en-fa": [_SENTENCES[0], "امروز هوا خیلی خوب است.", WEIGERUNG, "", "متن: چاي داغ دوست دارم"],
    "intent": ["alarm_set", "Answer: play music", '{"answer": "weather:query"}', "alarm_set", "no idea"],
    "entities": [
        '[{"type": "time", "value": "نُه صبح"}]',
        '```json\n[{"type": "date", "value": "امروز"}]\n```',
        "[song name : مرغ سحر]",
        REFUSAL,
        "[]",
    ],
    "register": ["formal"] * SAMPLES,
    "code-switching": ["بله، دو زبان", "No, it is one language.", "yes", WEIGERUNG, ""],
    "multiple-choice": ["A", "(D) تهران", "گزینه ۳", "تهران", REFUSAL],
    "reading-comprehension": ["The correct answer is A", "D.", "پاسخ: ج", "I cannot tell", "B"],
    "story-comprehension": ["نرگس", "گربه از آنِ علی است", "", REFUSAL, "Answer: یک"],
    "age": ["15", "twenties", "۴۲ ساله", "twenties", "twenties"],
    "gender": ["مرد", "female", "male", "male or female", "<think>he?</think>male"],
    "emotion": ["خشم", "happiness", "The speaker sounds sad.", "neutral", "neutral"],
    "poetry-meter": ["رمل مثمن محذوف"] * SAMPLES,
    "poetry-style": ["غزل", "مثنوي", "it is a ruba'i", "do-beyti", "masnavi"],
    "music": [REFUSAL, WEIGERUNG, "", "<think>A", "B"],
}
# What the same replies are, told by hand: the place of a class in the task's own list, -1 for no answer.
READ: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "intent": (
        ["alarm_set", "play_music", "weather_query", "alarm_set", "play_music"],
        ["alarm_set", "play_music", "weather_query", "alarm_set", "-"],
    ),
    "register": (["formal", "informal", "formal", "informal", "formal"], ["formal"] * SAMPLES),
    "code-switching": (["yes", "no", "yes", "no", "yes"], ["yes", "no", "yes", "-", "-"]),
    "age": (
        ["teens", "twenties", "forties", "teens", "twenties"],
        ["teens", "twenties", "forties", "twenties", "twenties"],
    ),
    "gender": (["male", "female", "male", "female", "male"], ["male", "female", "male", "-", "male"]),
    "emotion": (
        ["anger", "happiness", "sadness", "neutral", "anger"],
        ["anger", "happiness", "sadness", "neutral", "neutral"],
    ),
    "poetry-meter": (["ramal", "salem", "ramal", "salem", "ramal"], ["ramal"] * SAMPLES),
    "poetry-style": (
        ["ghazal", "masnavi", "rubai", "dobeyti", "ghazal"],
        ["ghazal", "masnavi", "rubai", "dobeyti", "masnavi"],
    ),
}


class World(NamedTuple):
    """A daemon's results: scores by condition, the board, and the program."""

    program: Orinbench
    folder: Path
    scores: dict[str, dict[str, Any]]
    board: dict[str, Any]
    markdown: str


def replay_model(folder: Path, replies: Mapping[str, Sequence[str]]) -> str:
    """Write a model that gives these replies, by task; return its declaration."""
    lines = [
        {"sample_id": f"{task}.s{place}", "text": reply}
        for task, own in replies.items()
        for place, reply in enumerate(own)
    ]
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    (folder / "edges.jsonl").write_bytes(data)
    declaration = {
        "id": "edges",
        "title": "Replies at the edges",
        "license": "Apache-2.0",
        "engine": "replay",
        "adapter": "none",
        "dtype": "none",
        "warmup": 0,
        "source": {"kind": "folder"},
        "files": [{"path": "edges.jsonl", "digest": digest_bytes(data), "bytes": len(data)}],
    }
    path = folder / "edges.toml"
    path.write_text(to_toml(declaration))
    return str(path)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Everything a user does: prepare a copy, run every condition, make the board."""
    folder = tmp_path_factory.mktemp("d")
    with running(folder) as daemon, program_in(folder, daemon) as program:
        program.environment["XDG_DATA_HOME"] = str(folder / "share")
        program.good("prepare", "--suite", "parsa-v1", "--source", str(write_parsa(folder / "PARSA-Bench")))
        model = replay_model(folder, EDGES)
        scores = {}
        for condition in CONDITIONS:
            outcome = json.loads(program.good("run", "-s", f"parsa-v1:{condition}", "-m", model, "--json"))
            (score,) = (folder / outcome["bundle"] / "scores").glob("*.json")
            scores[condition] = json.loads(score.read_text())
        program.good("leaderboard", "--results", "results", "--out", "board")
        board = json.loads((folder / "board" / "leaderboard.json").read_text())
        yield World(program, folder, scores, board, (folder / "board" / "leaderboard.md").read_text())


def cell(world: World, task: str, condition: str = "zero-shot") -> dict[str, Any]:
    """The row of one task."""
    rows = world.board["boards"]["tasks"]
    (found,) = [row for row in rows if row["task"] == task and row["condition"] == condition]
    return dict(found)


def test_every_condition_has_all_tasks(world: World) -> None:
    """Sixteen tasks of five samples under each of the five conditions, each its own suite digest."""
    assert len(TASKS) == len(EDGES) == 16
    assert {score["samples"] for score in world.scores.values()} == {16 * SAMPLES}
    assert len({score["suite_digest"] for score in world.scores.values()}) == 5
    rows = world.board["boards"]["tasks"]
    assert sorted((row["condition"], row["task"]) for row in rows) == sorted((c, t) for c in CONDITIONS for t in EDGES)
    assert all(row["n"] == SAMPLES for row in rows)


def test_an_error_rate_above_one_is_kept(world: World) -> None:
    """The corpus WER counts empty and refused replies as deletions and is never clipped."""
    normalize = get_normalizer("fa-v1").normalize
    words = [len(normalize(sentence).split()) for sentence in _SENTENCES]
    # Nothing of the last reply is right: as many substitutions as there are words, the rest insertions.
    edits = [0, *words[1:4], len(HALLUCINATED.split())]
    assert cell(world, "asr")["score"] == pytest.approx(sum(edits) / sum(words))
    assert cell(world, "asr")["score"] > 1
    assert cell(world, "asr")["floor"] == 1.0
    assert not cell(world, "asr")["above_floor"]


def test_translations_are_sacrebleus(world: World) -> None:
    """BLEU and chrF++ are corpus_score's of the replies as read, Persian with one spelling of its letters."""
    english = [_ENGLISH[0], "", "", "We read books.", _ENGLISH[4]]
    persian = [_SENTENCES[0], "امروز هوا خیلی خوب است.", "", "", "چای داغ دوست دارم"]
    for task, hypotheses, references, tokenizer in (
        ("translation-fa-en", english, _ENGLISH, "13a"),
        ("translation-en-fa", persian, _SENTENCES, "intl"),
    ):
        bleu = BLEU(tokenize=tokenizer).corpus_score(hypotheses, [references])
        assert cell(world, task)["score"] == pytest.approx(bleu.score)
        assert cell(world, task)["chrf++"] == pytest.approx(
            CHRF(word_order=2).corpus_score(hypotheses, [references]).score
        )
        assert f"tok:{tokenizer}" in world.scores["zero-shot"]["scorer"][f"{task} bleu"]


@pytest.mark.parametrize("task", READ)
def test_classes_are_scikit_learns(world: World, task: str) -> None:
    """Accuracy and macro-F1 are scikit-learn's over the classes that occur; no answer is wrong and no class."""
    truth, predicted = READ[task]
    macro = f1_score(truth, predicted, labels=sorted(set(truth)), average="macro", zero_division=0)
    row = cell(world, task)
    found = {row["metric"]: row["score"]} | {name: row[name] for name in ("accuracy", "macro-f1") if name in row}
    assert found == {"accuracy": pytest.approx(accuracy_score(truth, predicted)), "macro-f1": pytest.approx(macro)}


@pytest.mark.parametrize(
    ("task", "score"),
    [
        ("multiple-choice", 4 / 5),
        ("reading-comprehension", 3 / 5),
        ("music", 0 / 5),
        # Two of three found are right, of four there are; the third has the right type and the wrong words.
        ("entities", 2 * 2 / (3 + 4)),
        # Token F1: the second reply has the one word among five.
        ("story-comprehension", (1 + 2 * 1 / (5 + 1) + 0 + 0 + 1) / 5),
    ],
)
def test_options_entities_and_short_answers(world: World, task: str, score: float) -> None:
    """The figures of the other kinds are what counting by hand gives."""
    assert cell(world, task)["score"] == pytest.approx(score)


def test_refusals_and_unparsables_stay_in_the_denominator(world: World) -> None:
    """They are counted apart, shown on the board with their rule, and never leave a sample out."""
    assert (cell(world, "music")["refused"], cell(world, "music")["unparsable"]) == (2, 2)
    rules = {row["rule"] for row in world.board["boards"]["unread"]}
    assert {"refusal-en", "refusal-fa", "empty", "none", "unfinished-thinking"} <= rules
    assert "refusal-fa" in world.markdown


def test_floors_stand_beside_every_figure(world: World) -> None:
    """The best of empty reply, most frequent class and guess is named, and whether the figure is clear of it."""
    assert cell(world, "register")["floor"] == cell(world, "register")["score"] == 3 / 5
    assert not cell(world, "register")["above_floor"]
    floors = {(row["task"], row["answer"]): row["value"] for row in world.board["boards"]["floors"]}
    assert floors["emotion", "a guess"] == pytest.approx(sum(2 * s / 6 / (s + 1 / 6) for s in (0.4, 0.2, 0.2, 0.2)) / 4)
    assert floors["intent", "a guess"] == 1 / 60
    assert floors["register", "always formal"] == 3 / 5


def test_audio_and_text_are_compared_in_pairs(world: World) -> None:
    """The same replies with recording and with transcript differ by nothing, on every task, and the board says so."""
    rows = world.board["boards"]["contrasts"]
    assert len(rows) == 16
    assert all((row["contrast"], row["difference"], row["ci"]) == ("audio-minus-text", 0, [0, 0]) for row in rows)
    assert "Paired difference: audio minus text" in world.markdown


def test_the_board_is_a_matrix_by_dimension(world: World) -> None:
    """Each condition has a table a dimension, models down and tasks across, the floors below."""
    for dimension in ("speech", "paralinguistic", "cultural"):
        assert f"## Tasks: {dimension} (few-shot)" in world.markdown
    assert "| floor |" in world.markdown
    assert "## Tasks in detail (zero-shot)" in world.markdown


def test_a_second_score_is_the_same(world: World) -> None:
    """Scoring and making the boards again gives the same bytes."""
    world.program.good("leaderboard", "--results", "results", "--out", "board", "--check")
