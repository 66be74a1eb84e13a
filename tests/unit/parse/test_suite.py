"""Parse as a suite: what is asked under which variant, and everything that can be wrong with its files."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from orinbench_client.errors import BadInput
from orinbench_client.parse.layout import blob_id
from orinbench_client.suites import inputs_manifest, open_suite, open_variant, references

from tests.unit.parse.parse_folder import OPTIONS, prompt, question, write_questions

TEST_FILE = "dataset/test.json"
PROMPT = "evaluation/zero_shot/utils/persian_prompt/multichoice.txt"


def _asked(sample: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(sample.content)
    return content


def test_what_is_asked(folder: Path) -> None:
    """A question is one user turn, its prompt filled; greedy, and as many tokens as the strategy allows."""
    suite = open_suite(str(folder))
    sample = next(sample for sample in suite.samples if sample.sample_id == "multichoice_reasoning_multi_2")

    text = prompt("zero_shot", "persian", "multichoice")
    text = text.replace("<Question>", question("multichoice", "reasoning", "multi", 2)["question"])
    for number, option in enumerate(OPTIONS, 1):
        text = text.replace(f"<Option_{number}>", option)
    turn = {"role": "user", "content": [{"type": "text", "text": text}]}
    assert {"messages": [turn], "decoding": {"strategy": "greedy"}} == _asked(sample)
    assert (len(suite.samples), sample.max_tokens) == (54, 16)


def test_variants(folder: Path) -> None:
    """Language, strategy, split and decoding each change what is asked, and every choice has a digest of its own."""
    first = open_suite(f"{folder}:english,few_shot,full,sampled").samples[0]
    axes = open_suite(str(folder)).declaration.variants or {}
    found = {words: open_suite(f"{folder}:{','.join(words)}") for words in product(*axes.values())}

    assert "[english, few_shot]" in _asked(first)["messages"][0]["content"][0]["text"]
    assert _asked(first)["decoding"] == {"strategy": "sample", "top_p": 0.7, "temperature": 1.0, "seed": 7}
    assert len({suite.digest for suite in found.values()}) == 24
    assert {len(suite.samples) for words, suite in found.items() if "full" in words} == {72}
    assert open_suite(f"{folder}:english").digest == found["english", "zero_shot", "test", "greedy"].digest


def test_variant_is_found_by_digest(folder: Path) -> None:
    """Whoever has only a run's suite digest finds the variant it was run on."""
    wanted = open_suite(f"{folder}:chain_of_thought,english")

    assert wanted.declaration.variant == open_variant(str(folder), wanted.digest).declaration.variant


def test_unknown_variant(folder: Path) -> None:
    """A variant that is not there is refused with those that are."""
    with pytest.raises(BadInput, match=r"has no variant 'french': prompt_language: persian, english; strategy: zero"):
        open_suite(f"{folder}:french")


def test_right_answers_stay_here(folder: Path) -> None:
    """The board gets no right answer; the scorer gets it with what places the question in the tables."""
    suite = open_suite(f"{folder}:full")
    known = {key: json.loads(reference) for key, reference in references(suite).items()}

    assert "دریای خزر".encode() not in inputs_manifest(suite.samples)
    assert all("دریای خزر".encode() not in bytes(sample.content) for sample in suite.samples if sample.max_tokens)
    assert known["factoid_multihop_simple_2"]["answer"] == "دریای خزر"
    assert known["factoid_multihop_simple_2"]["difficulty"] == "Medium"


def test_few_shot_examples_are_told(folder: Path) -> None:
    """The questions that stand solved in the few-shot prompts are known: one of each configuration."""
    known = references(open_suite(f"{folder}:full"))
    examples = {key for key, reference in known.items() if json.loads(reference)["example"]}

    assert len(examples) == 18
    assert all(key.endswith("_4") for key in examples)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answer": ...}, "line 17: the column 'answer' is missing"),
        ({"options": ...}, "line 17: the column 'options' is missing"),
        ({"answer": "قم"}, "line 17: answer 'قم' must be one of the options"),
        ({"answer": 2}, "line 17: answer 2 must be one of the options"),
        ({"difficulty": "Impossible"}, "line 17: difficulty 'Impossible' is none of Easy, Medium, Hard"),
        ({"options": OPTIONS[:3]}, "line 17: options must be 4 different texts"),
        ({"options": [*OPTIONS[:3], OPTIONS[0]]}, "line 17: options must be 4 different texts"),
        ({"question": " "}, "line 17: question must be a text"),
        ({"hint": "x"}, "line 17: 'hint' is no column of a multichoice question"),
        ({"id": "multichoice_multihop_single_1"}, "id 'multichoice_multihop_single_1' is there twice"),
        ({"id": "multichoice_multihop_single"}, "line 17: id 'multichoice_multihop_single' must be"),
    ],
)
def test_bad_question(folder: Path, change: dict[str, Any], problem: str) -> None:
    """A question that is wrong is named with its file, its line and what is wrong."""

    items = [question("multichoice", "multihop", "single", number) for number in (1, 2, 3)]
    changed = {**items[1], **change}
    items[1] = {column: value for column, value in changed.items() if value is not ...}
    content = {"multichoice": {"multihop": {"single": items}}}
    (folder / TEST_FILE).write_text(json.dumps(content, ensure_ascii=False, indent=4))

    with pytest.raises(BadInput, match=rf"{TEST_FILE}: .*{problem}"):
        open_suite(str(folder))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: expected '{', found 'the end of the file'"),
        ("[]", r"line 1: expected '\{', found '\['"),
        ('{"song": {"multihop": {"simple": [{}]}}}', "line 1: type 'song' is none of boolean"),
        ('{"boolean": {"direct": {"simple": [{}]}}}', "line 1: approach 'direct' is none of multihop"),
        ('{"boolean": {"multihop": {"single": [{}]}}}', "line 1: subtype 'single' is none of comparative"),
        ('{"boolean": {"multihop": {"simple": [3]}}}', "line 1: a question must be an object"),
        ('{"boolean":\n {"multihop": {"simple": [{"id": ]}}}', "line 2: not valid JSON"),
        ('{"boolean": {"multihop": {"simple": [] "x"}}}', "line 1: expected ',', found '\"'"),
        ("{} {}", "line 1: more text after the end"),
    ],
)
def test_bad_file(folder: Path, text: str, problem: str) -> None:
    """A file that is no set of questions is refused by its line."""
    (folder / TEST_FILE).write_text(text)

    with pytest.raises(BadInput, match=rf"{TEST_FILE}: {problem}"):
        open_suite(str(folder))


@pytest.mark.parametrize("name", [TEST_FILE, "dataset/train.json", PROMPT])
def test_missing_file(folder: Path, name: str) -> None:
    """Each file that a suite is made of must be there."""
    (folder / name).unlink()

    with pytest.raises(BadInput, match=rf"{name}: cannot be read"):
        open_suite(str(folder))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("JSON\n<Question> <Option_1> <Option_2> <Option_3>", "the slot <Option_4> is missing"),
        ("<Option_1> <Option_2> <Option_3> <Option_4>", "the slot <Question> is missing"),
        ("<Question>\n<Option_1> <Option_2> <Option_3> <Option_4> <Option_5>", "line 2: nothing fills the slot"),
    ],
)
def test_bad_prompt(folder: Path, text: str, problem: str) -> None:
    """A prompt that lacks a slot, or has one that nothing fills, is refused before anything is run."""
    (folder / PROMPT).write_text(text)

    with pytest.raises(BadInput, match=rf"{PROMPT}: {problem}"):
        open_suite(str(folder))


def test_question_that_looks_like_a_slot(folder: Path) -> None:
    """What stands in a question stays as it is, even if it looks like a slot."""
    items = [question("multichoice", "multihop", "single", number) for number in (1, 2, 3)]
    items[0]["question"] = "<Option_1> چیست؟"
    write_questions(folder, "test", items)
    toml = folder / "suite.toml"
    toml.write_text(toml.read_text().replace("test = 54", "test = 3"))

    assert (
        "\n<Option_1> چیست؟\n1) تهران"
        in _asked(open_suite(str(folder)).samples[0])["messages"][0]["content"][0]["text"]
    )


def test_pinned_file_that_was_changed(folder: Path) -> None:
    """A file with another git blob id than the suite pins is refused, and named with both ids."""
    pinned = blob_id((folder / TEST_FILE).read_bytes())
    toml = folder / "suite.toml"
    toml.write_text(f'{toml.read_text()}\n[settings.blobs]\n"{TEST_FILE}" = "{pinned}"\n')
    open_suite(str(folder))
    with (folder / TEST_FILE).open("a") as file:
        file.write("\n")

    with pytest.raises(BadInput, match=rf"{TEST_FILE}: its git blob id is [0-9a-f]{{40}}, the suite says {pinned}"):
        open_suite(str(folder))


def test_git_blob_id() -> None:
    """The blob id is git's: that of the empty file and of a known text."""
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert blob_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_too_few_questions(folder: Path) -> None:
    """A split with another number of questions than the suite says is refused."""
    write_questions(folder, "test", [question("boolean", "multihop", "simple", 1)])

    with pytest.raises(BadInput, match=r"1 questions in the split test, settings.samples says"):
        open_suite(str(folder))
