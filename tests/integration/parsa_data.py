"""Tiny data of our own in PARSA-Bench's layout: five samples for each of the sixteen tasks, spoken by espeak-ng.

Whoever runs an audio-language model can use it: write_parsa(folder), then
``orinbench prepare --suite parsa-v1 --source``.
"""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SAMPLES = 5
_Rows = Sequence[Mapping[str, str]]

_SENTENCES = (
    "سلام دنیا",
    "امروز هوا خوب است",
    "کتاب را می‌خوانم",
    "فردا به تهران می‌رویم",
    "چای داغ دوست دارم",
)
_ENGLISH = ("hello world", "the weather is fine today", "I read the book", "we go to Tehran tomorrow", "I like hot tea")
_STORY = "علی یک گربه دارد. نام گربه نرگس است."


def _labelled(column: str, labels: Sequence[str], transcripts: bool = True) -> _Rows:
    """Rows of a task with classes, in turn."""
    return [
        {column: labels[place % len(labels)], **({"transcript": sentence} if transcripts else {})}
        for place, sentence in enumerate(_SENTENCES)
    ]


def _choices(transcript: str | None = None, question: str = "کدام یک شهر است؟") -> _Rows:
    """Rows of questions with options; the right one stands in another place each time."""
    options = ["تهران", "سیب", "کتاب", "آب"]
    rows = []
    for place in range(SAMPLES):
        turned = options[place % 4 :] + options[: place % 4]
        rows.append(
            {
                "question": question,
                "options": json.dumps(turned, ensure_ascii=False),
                "answer": "ABCD"[turned.index("تهران")],
                **({} if transcript is None else {"transcript": transcript}),
            }
        )
    return rows


def _questions() -> _Rows:
    """Rows of questions whose answers are words of one's own."""
    return [
        {"transcript": _STORY, "question": question, "answer": answer}
        for question, answer in (
            ("نام گربه چیست؟", "نرگس"),
            ("گربه از آن کیست؟", "علی"),
            ("علی چه دارد؟", "یک گربه"),
            ("نرگس چیست؟", "گربه"),
            ("علی چند گربه دارد؟", "یک"),
        )
    ]


_ANNOTATED = (
    "ساعت [time : نه صبح] بیدارم کن",
    "برای [date : فردا] یادآوری بگذار",
    "آهنگ [song_name : مرغ سحر] را پخش کن",
    "هوای [place_name : تهران] چطور است",
    "سلام چطوری",
)
TASKS: dict[str, _Rows] = {
    "ASR": [{"transcript": sentence} for sentence in _SENTENCES],
    "Translation-FA-EN": [
        {"transcript": one, "translation": other} for one, other in zip(_SENTENCES, _ENGLISH, strict=True)
    ],
    "Translation-EN-FA": [
        {"transcript": other, "translation": one} for one, other in zip(_SENTENCES, _ENGLISH, strict=True)
    ],
    "Intent-Classification": _labelled("intent", ["alarm_set", "play_music", "weather_query"]),
    "Entity-Recognition": [
        {"transcript": sentence, "annot_utt": annotated}
        for sentence, annotated in zip(_SENTENCES, _ANNOTATED, strict=True)
    ],
    "Formal-Informal": _labelled("label", ["formal", "informal"]),
    "Code-Switching": _labelled("label", ["code-switched", "monolingual"]),
    "Multiple-Choice-QA": _choices("کدام یک شهر است؟"),
    "Reading-Comprehension": _choices(_STORY),
    "Story-Comprehension": _questions(),
    "Age-Recognition": _labelled("age", ["teens", "twenties", "fourties"]),
    "Gender-Recognition": _labelled("gender", ["male_masculine", "female_feminine"]),
    "Emotion-Recognition": _labelled("emotion", ["A", "H", "S", "N"]),
    "Poetry-Meter": _labelled("vazn", ["رمل مثمن محذوف", "هزج مثمن سالم"]),
    "Poetry-Style": _labelled("sabk", ["غزل", "مثنوی", "رباعی", "دوبیتی"]),
    "Music-Understanding": _choices(question="Which one is a city?"),
}


def write_parsa(folder: Path) -> Path:
    """Write all tasks into a folder, and return it. Needs espeak-ng."""
    for name, rows in TASKS.items():
        write_task(folder / name, rows)
        for place, row in enumerate(rows):
            text = row.get("transcript", "la la la")
            voice = "en" if text.isascii() else "fa"
            path = folder / name / "Audios" / f"{place}.wav"
            subprocess.run(["espeak-ng", "-v", voice, "-p", str(30 + 10 * place), "-w", path, text], check=True)
    return folder


def write_task(folder: Path, rows: _Rows, **changes: Any) -> Path:
    """Write the table of one task, without audio; `changes` go into its last row. Returns the table's path."""
    (folder / "Audios").mkdir(parents=True, exist_ok=True)
    lines = [{"id": f"s{place}", "audio": f"Audios/{place}.wav", **row} for place, row in enumerate(rows)]
    lines[-1] |= changes
    path = folder / f"{folder.name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return path
