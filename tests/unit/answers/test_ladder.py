"""The one ladder that finds the answer in a reply, for every kind of answer and in both languages."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench_client.answers import (
    ClosedSet,
    Entity,
    Label,
    Reading,
    fold,
    read_closed,
    read_entities,
    read_free,
    refusal_in,
)

EMOTIONS = ClosedSet(
    [
        Label("anger", ("angry", "خشم", "عصبانیت")),
        Label("happiness", ("happy", "joy", "خوش‌حالی")),
        Label("sadness", ("sad", "غم")),
        Label("neutral", ("خنثی",)),
    ]
)
YES_NO = ClosedSet([Label("yes", ("بله", "آری")), Label("no", ("خیر", "نه"))])
AGES = ClosedSet([Label("twenties", ("20s",), (20, 29)), Label("thirties", ("30s",), (30, 39))])
CITIES = ClosedSet.options(["تهران", "شیراز", "اصفهان", "کرمان‌شاه"])
NUMBERS = ClosedSet.options(["3", "4", "1", "−1"])
REFUSALS = [
    ("I'm sorry, but I can't listen to audio files.", "en"),
    ("As an AI language model, I am unable to process the recording you sent.", "en"),
    ("No audio was provided. Please upload the file.", "en"),
    ("متأسفم، من نمی‌توانم به فایل صوتی گوش دهم.", "fa"),
    ("به عنوان یک مدل زبانی، امکان شنیدن این صدا را ندارم.", "fa"),
    ("صدایی که فرستادید را نمی‌توانم بشنوم.", "fa"),
]

# Every dress keeps the answer what it is.
DRESSES: list[Callable[[str], str]] = [
    str,
    str.upper,
    lambda text: f"**{text}**.",
    lambda text: f"<think>anger? no: sadness</think>\n{text}",
    lambda text: f"Let me think: anger and sadness are likely.\n**Answer:** {text}\n\nNot joy.",
    lambda text: f"گوینده غم دارد.\nپاسخ: «{text}»",
    lambda text: "```json\n" + json.dumps({"answer": text}, ensure_ascii=False) + "\n```",
    lambda text: text.replace("ک", "ك").replace("ی", "ي"),
    lambda text: "".join(f"{letter}\u0651" if "\u0628" <= letter <= "\u06cc" else letter for letter in text),
]


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize(
    ("name", "place"), [("anger", 0), ("خشم", 0), ("joy", 1), ("خوش‌حالی", 1), ("غم", 2), ("neutral", 3), ("خنثی", 3)]
)
def test_a_label_is_itself_in_any_dress(dress: Callable[[str], str], name: str, place: int) -> None:
    """Case, markup, thinking, JSON, marks of both languages, Arabic letters and vowel signs change no answer."""
    assert read_closed(dress(name), EMOTIONS).value == place


@pytest.mark.parametrize(
    ("reply", "labels", "place", "rule"),
    [
        ("anger", EMOTIONS, 0, "label"),
        ("Anger.\n\nThere is no sadness in it.", EMOTIONS, 0, "leading"),
        ("I believe it is joy", EMOTIONS, 1, "words"),
        ("The speaker is happy, not sad", EMOTIONS, None, "none"),
        ("The speaker sounds sad.\nAnswer: unclear", EMOTIONS, None, "none"),
        ("<think>it may be anger", EMOTIONS, None, "unfinished-thinking"),
        ("", EMOTIONS, None, "none"),
        ("Yes, there is no doubt", YES_NO, 0, "leading"),
        ("خیر، چنین نیست", YES_NO, 1, "leading"),
        ('{"answer": true}', YES_NO, 0, "json/label"),
        ("No audio was provided.", YES_NO, None, "refusal-en"),
        ("۲۵ ساله", AGES, 0, "numbers"),
        ("30-39", AGES, 1, "numbers"),
        ("25 or 35", AGES, None, "none"),
        ("in his 20s", AGES, 0, "words"),
        ("(b) شیراز", CITIES, 1, "letter"),
        ("ج) اصفهان", CITIES, 2, "letter"),
        ("گزینه‌ی ۲", CITIES, 1, "letter"),
        ("گزینه ۱ نادرست است و پاسخ گزینه ۲ است", CITIES, 1, "letter"),
        ("Option A is wrong, so the answer is C because", CITIES, 2, "letter"),
        ("پاسخ: الف", CITIES, 0, "mark/letter"),
        ("کرمانشاه", CITIES, None, "none"),
        ("کرمان شاه", CITIES, 3, "label"),
        ("The answer is a city", CITIES, None, "none"),
        ("A large city", CITIES, None, "none"),
        ("4", NUMBERS, 1, "label"),
        ("-1", NUMBERS, 3, "label"),
        ("option 4", NUMBERS, 3, "letter"),
    ],
)
def test_the_rule_that_held_has_a_name(reply: str, labels: ClosedSet, place: int | None, rule: str) -> None:
    """Each rung of the ladder decides what it is meant to decide, and says so."""
    reading = read_closed(reply, labels)
    assert (reading.value, reading.rule) == (place, rule)


@given(
    place=st.integers(0, 3), form=st.sampled_from(["{}", "({})", "{}.", "{})", "Answer: {}", "گزینه {}", "پاسخ: {}"])
)
def test_letters_and_digits_of_both_languages_name_an_option(place: int, form: str) -> None:
    """B, b, ب, 2 and ۲ are the second option, alone, in brackets, after a mark or the word for option."""
    for letters in ("ABCD", "abcd", ("الف", "ب", "ج", "د"), "1234", "۱۲۳۴", "١٢٣٤"):
        assert read_closed(form.format(letters[place]), CITIES).value == place


@pytest.mark.parametrize(("reply", "language"), REFUSALS)
def test_refusals_are_found_in_both_languages(reply: str, language: str) -> None:
    """A refusal is one for every kind of answer, and a label that is named as the answer outweighs it."""
    refused = (None, f"refusal-{language}", "refused")
    assert (read_closed(reply, EMOTIONS), read_entities(reply), read_free(reply, "سلام")) == (refused,) * 3
    assert read_closed(f"{reply}\nAnswer: anger", EMOTIONS).value == 0


def test_a_transcript_may_speak_of_not_hearing() -> None:
    """Words of refusal that the right answer holds as well are the answer."""
    said = "صدای تو را نمی‌توانم بشنوم"
    assert read_free(said, f"الو {said}") == Reading(said, "text")


@pytest.mark.parametrize(
    "text", ["صدای باران را می‌شنوم", "I heard the audio: a man speaks", "او پاسخ را نمی‌داند", "the file is long", ""]
)
def test_plain_statements_are_no_refusals(text: str) -> None:
    """Speaking of sounds, files and answers is not refusing."""
    assert refusal_in(text) is None


@pytest.mark.parametrize(
    ("reply", "text", "rule"),
    [
        ("متن: سلام دنیا", "سلام دنیا", "text/lead-in"),
        ("```\nسلام\n```", "سلام", "text/fence"),
        ("It is a greeting.\nAnswer: «سلام»", "سلام", "mark"),
        ('{"answer": "سلام"}', "سلام", "json"),
        ("He said. Answer: no", "He said. Answer: no", "text"),
        ("  ", None, "empty"),
    ],
)
def test_free_text_loses_its_frame_only(reply: str, text: str | None, rule: str) -> None:
    """Fences, lead-ins, quotation marks and marks at a line's start go; the words stay."""
    assert read_free(reply, "x")[:2] == (text, rule)


WORDS = st.text(st.sampled_from("abc یک۱ـ‌ "), min_size=1, max_size=8).filter(fold)
ENTITIES = st.lists(st.tuples(WORDS, WORDS), max_size=4)


@given(
    ENTITIES, st.sampled_from(["{}", "```json\n{}\n```", 'The entities are:\n{{"entities": {}}}', "first [], then {}"])
)
def test_entities_come_back_as_they_were_listed(entities: list[tuple[str, str]], form: str) -> None:
    """A JSON list, bare, fenced or inside an object, gives its entities, folded."""
    listed = json.dumps([{"type": kind, "value": value} for kind, value in entities], ensure_ascii=False)
    reading = read_entities(form.format(listed))
    assert reading == Reading([Entity(fold(kind), fold(value)) for kind, value in entities], "json")


@pytest.mark.parametrize(
    ("reply", "entities", "rule"),
    [
        ("ساعت [time : نه صبح] بیدارم کن", [("time", "نه صبح")], "annotation"),
        ("هیچ", [], "none-said"),
        ("None.", [], "none-said"),
        ("[1, 2]", None, "none"),
        ("time, place", None, "none"),
    ],
)
def test_entities_in_other_forms(reply: str, entities: list[tuple[str, str]] | None, rule: str) -> None:
    """MASSIVE's notation is read, a word for none is an empty list, and anything else is unparsable, never empty."""
    assert read_entities(reply)[:2] == (entities, rule)


@given(st.text() | st.text(st.sampled_from("<think>/{}[]:\"'`*\nAnswer پاسخ:الف۱ ")))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises, and there is an answer exactly where the state says so."""
    for reading in (read_closed(text, EMOTIONS), read_closed(text, CITIES), read_entities(text), read_free(text, "x")):
        assert (reading.value is not None) == (reading.state == "ok")
        assert reading.rule


@pytest.mark.parametrize("piece", ["\n", "{", "[", '[{"type":', "```\n", "<think>", "answer ", "* ", "نمی توانم "])
def test_a_long_reply_is_read(piece: str) -> None:
    """300,000 characters are read to the end: a rule that took the square of its length would run into the timeout."""
    text = piece * (300_000 // len(piece))
    assert read_closed(text, CITIES).value is None
    assert read_entities(text).value is None
    assert read_free(text, "x").rule


@given(st.text())
def test_folding_is_stable(text: str) -> None:
    """What is folded is the same when folded again, so equality has no second opinion."""
    assert fold(fold(text)) == fold(text)
