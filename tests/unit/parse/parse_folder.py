"""A small folder in Parse's layout, its questions and prompts our own; and answers to it as upstream stores them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orinbench_client.parse.layout import LANGUAGES, STRATEGIES, prompt_file
from orinbench_client.parse.questions import APPROACHES, DIFFICULTIES, FACTOID, MULTICHOICE, TYPES
from orinbench_profiles import load_suite

NONE = "هیچ‌کدام"
OPTIONS = ["تهران", "شیراز", "تبریز", NONE]
ANSWERS: Mapping[tuple[str, str], Any] = {
    ("boolean", "comparative"): True,
    ("boolean", "negation"): False,
    ("boolean", "simple"): True,
    (FACTOID, "listbased"): ["شیراز", "تبریز"],
    (FACTOID, "nonanswerable"): None,
    (FACTOID, "simple"): "دریای خزر",
    (MULTICHOICE, "multi"): ["تهران", "تبریز"],
    (MULTICHOICE, "non_answerable"): NONE,
    (MULTICHOICE, "single"): "شیراز",
}
#: Questions of each configuration in the test split; one more is in the train split, and solved in few-shot prompts.
TEST, ALL = 3, 4
CONFIGURATIONS = [(type_, approach, subtype) for type_ in TYPES for approach in APPROACHES for subtype in TYPES[type_]]


def question(type_: str, approach: str, subtype: str, number: int) -> dict[str, Any]:
    """One question of ours."""
    made: dict[str, Any] = {
        "id": f"{type_}_{approach}_{subtype}_{number}",
        "question": f"پرسش {number} از نوع {type_} {approach} {subtype} چیست؟",
        "answer": ANSWERS[type_, subtype],
        "difficulty": DIFFICULTIES[(number - 1) % 3],
    }
    return made | ({"options": OPTIONS} if type_ == MULTICHOICE else {})


def write_parse(folder: Path, name: str = "parse-own") -> Path:
    """Write the folder with a suite.toml of its own."""
    for split, numbers in (("test", range(1, TEST + 1)), ("train", range(TEST + 1, ALL + 1))):
        write_questions(folder, split, [question(*labels, number) for labels in CONFIGURATIONS for number in numbers])
    for strategy in STRATEGIES:
        for language in LANGUAGES:
            for type_ in TYPES:
                path = folder / prompt_file(strategy, language, type_)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(prompt(strategy, language, type_))
    (folder / "suite.toml").write_text(suite_toml(name))
    return folder


def write_questions(folder: Path, split: str, questions: list[dict[str, Any]]) -> Path:
    """Write one file of questions, three levels deep."""
    content: dict[str, Any] = {}
    for item in questions:
        type_, approach, subtype = item["id"].rpartition("_")[0].split("_", 2)
        content.setdefault(type_, {}).setdefault(approach, {}).setdefault(subtype, []).append(item)
    path = folder / "dataset" / f"{split}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=4))
    return path


def prompt(strategy: str, language: str, type_: str) -> str:
    """One prompt of ours; a few-shot one holds the question of the train split of each configuration."""
    solved = [question(*labels, ALL)["question"] for labels in CONFIGURATIONS if labels[0] == type_]
    lines = [f"[{language}, {strategy}] JSON", *(solved if strategy == "few_shot" else []), "<Question>"]
    if type_ == MULTICHOICE:
        lines += [f"{number}) <Option_{number}>" for number in range(1, 5)]
    return "\n".join(lines)


def suite_toml(name: str) -> str:
    """The declaration: as ours of upstream, but for the source, the numbers and the pinned files."""
    variants = load_suite("parse-v1").declaration.variants or {}
    return f"""
id = "{name}"
title = "Our own"
description = "A test."
task = "parse"
language = "fa"
license = "CC0-1.0"
samples = {TEST * len(CONFIGURATIONS)}
scorer = "parse-upstream"
metrics = ["score"]

[source]
kind = "folder"

[variants]
{"".join(f"{axis} = {json.dumps(words)}" + chr(10) for axis, words in variants.items())}
[settings]
samples = {{ test = {TEST * len(CONFIGURATIONS)}, full = {ALL * len(CONFIGURATIONS)} }}
max_tokens = {{ zero_shot = 16, few_shot = 16, chain_of_thought = 64 }}
sampling = {{ top_p = 0.7, temperature = 1.0, seed = 7 }}
"""


def right_answer(type_: str, subtype: str) -> Any:
    """The right answer as upstream stores a model's."""
    answer = ANSWERS[type_, subtype]
    if type_ == "boolean":
        return answer
    texts = [] if answer is None else answer if isinstance(answer, list) else [answer]
    return [OPTIONS.index(text) + 1 for text in texts] if type_ == MULTICHOICE else texts


def write_answers(
    folder: Path,
    model: str = "model-a",
    language: str = "persian",
    strategy: str = "zero_shot",
    numbers: range = range(1, ALL + 1),
    changes: Mapping[str, Any] | None = None,
    extra: Mapping[str, list[Any]] | None = None,
) -> None:
    """Write right answers to the questions of `numbers`, but for `changes` by id; `extra` rows by type follow."""
    for type_ in TYPES:
        rows: list[Any] = [
            {"id": f"{type_}_{approach}_{subtype}_{number}", "predicted_answer": right_answer(type_, subtype)}
            for _, approach, subtype in (labels for labels in CONFIGURATIONS if labels[0] == type_)
            for number in numbers
        ]
        for row in rows:
            row["predicted_answer"] = (changes or {}).get(row["id"], row["predicted_answer"])
        path = answers_file(folder, type_, model, language, strategy)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([*rows, *(extra or {}).get(type_, [])], indent=4))


def answers_file(
    folder: Path, type_: str, model: str = "model-a", language: str = "persian", strategy: str = "zero_shot"
) -> Path:
    """Where a model's answers to one type are."""
    return folder / "evaluation" / strategy / "prompt_results" / type_ / language / f"answers_{model}.json"
