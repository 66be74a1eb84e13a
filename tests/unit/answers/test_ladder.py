"""The one ladder that finds the answer in a reply, for every kind of answer and in both languages."""

from __future__ import annotations

import json
import re
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
from orinbench_client.answers.entities import annotation_entities
from orinbench_profiles import canonical_json

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
LENGTHS = ClosedSet.options(["3", "3.5", "4", "4.5"])
VOICES = ClosedSet.options(["a man", "woman", "a child", "two men"])
CHORDS = ClosedSet.options(["tar", "tar and ney", "ney", "santur"])
FORMS = ClosedSet(
    [
        Label("ghazal/qat'eh", ("ghazal", "qat'eh", "غزل")),
        Label("masnavi", ("مثنوی",)),
        Label("ruba'i", ("rubai", "رباعی")),
        Label("dobeyti", ("دوبیتی", "do-beyti")),
    ]
)
INTENTS = ClosedSet([Label("alarm_set"), Label("iot_wemo_on"), Label("play_music")])
ECHO = "A) تهران\nB) شیراز\nC) اصفهان\nD) کرمان‌شاه"
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
        ("The answer is 4", NUMBERS, 1, "letter"),
        ("4) −1", NUMBERS, 3, "letter"),
        (f"{ECHO}\n\nThe correct answer is B.", CITIES, 1, "letter"),
        (f"{ECHO}\n\nگزینه ج", CITIES, 2, "letter"),
        ("A: no, it is not A. The answer is C", CITIES, 2, "letter"),
        ("A is wrong; the correct option is C.", CITIES, 2, "letter"),
        ("Option A is not correct, option B is.", CITIES, 1, "letter"),
        ("The answer is B, not A", CITIES, 1, "letter"),
        ("B, since it has 2 rivers (and 1 lake)", CITIES, 1, "letter"),
        ("C\n\nIt is the largest.", CITIES, 2, "letter"),
        ("A) تهران، زیرا B) نادرست است", CITIES, 0, "letter"),
        ("The answer is B, and A is wrong.", CITIES, 1, "letter"),
        ("گزینه درست ج است", CITIES, 2, "letter"),
        ("B is the correct answer.", CITIES, 1, "letter"),
        ("**A** is correct", CITIES, 0, "letter"),
        ("I compared them. (C) is the best option.", CITIES, 2, "letter"),
        ("ب درست است.", CITIES, 1, "letter"),
        ("tar and ney, I think", CHORDS, 1, "leading"),
        ("tar, ney", CHORDS, None, "none"),
        ('{"answer": ["B"]}', CITIES, 1, "json/letter"),
        ("پاسخ ج است", CITIES, 2, "letter"),
        ("پاسخ درست ج است.", CITIES, 2, "letter"),
        ("پاسخ صحیح «ب» می‌باشد", CITIES, 1, "letter"),
        ("3.5 متر", LENGTHS, 1, "words"),
        ("3.5 is the answer", LENGTHS, 1, "words"),
        ("Answer: 3.5 m", LENGTHS, 1, "mark/words"),
        ("3,5 m", LENGTHS, 1, "words"),
        ("۳/۵ متر", LENGTHS, 1, "words"),
        ("پاسخ: ۴.۵ کیلومتر است", LENGTHS, 3, "mark/words"),
        ("3, since it is short", LENGTHS, 0, "letter"),
        ("3.7 m", LENGTHS, None, "none"),
        ("I think this is a masnavi.", FORMS, 1, "words"),
        ("I do think it is masnavi", FORMS, 1, "words"),
        ("Based on the words, alarm_set", INTENTS, 0, "words"),
        ("It is a woman", VOICES, 1, "words"),
    ],
)
def test_the_rule_that_held_has_a_name(reply: str, labels: ClosedSet, place: int | None, rule: str) -> None:
    """Each rung of the ladder decides what it is meant to decide, and says so."""
    reading = read_closed(reply, labels)
    assert (reading.value, reading.rule) == (place, rule)


@pytest.mark.parametrize(
    "reply",
    [
        ECHO,
        ECHO.replace(")", "."),
        "A\nB\nC\nD",
        "A, C, D",
        "A, B",
        "(A) or (C)",
        "A and C",
        "الف، ج",
        "ب یا ج",
        "۱، ۲، ۳، ۴",
        "B) شیراز is incorrect. C) اصفهان is the answer.",
        "The answer is B or C",
        "B or C is the correct answer",
        "Neither A nor B is correct.",
        "The answer is A, B, C and D.",
        "پاسخ گزینه ب یا ج است",
        "پاسخ گزینه ب نیست",
        "Option A is wrong.",
        "Option A or option B",
        "تهران، شیراز، اصفهان",
        "تهران\nشیراز",
    ],
)
@pytest.mark.parametrize("form", ["{}", "Answer: {}", "پاسخ:\n{}"])
def test_several_options_are_none(reply: str, form: str) -> None:
    """Who lists options, repeats them all, wavers between them or denies one has not chosen, and earns nothing."""
    assert read_closed(form.format(reply), CITIES) == Reading(None, "none", "unparsable")


@pytest.mark.parametrize("answer", [["A", "C"], [1, 2, 3, 4], ["الف", "ب"], ["تهران", "شیراز"], "A, C", []])
def test_a_json_list_of_several_options_is_none(answer: object) -> None:
    """A list is an answer only if it has one item, or names the same option throughout."""
    assert read_closed(json.dumps({"answer": answer}), CITIES).state == "unparsable"


@pytest.mark.parametrize("reply", ["male, female", "male/female", "Male.\nFemale.", "مرد یا زن", "مرد، زن"])
@pytest.mark.parametrize("form", ["{}", "Answer: {}"])
def test_several_labels_are_none(reply: str, form: str) -> None:
    """What holds for options holds for classes: the first of a list is not the answer."""
    genders = ClosedSet([Label("male", ("مرد",)), Label("female", ("زن",))])
    assert read_closed(form.format(reply), genders).value is None


@given(
    place=st.integers(0, 3),
    others=st.sets(st.integers(0, 3), min_size=1),
    separator=st.sampled_from([", ", "، ", "\n"]),
)
def test_listing_earns_nothing(place: int, others: set[int], separator: str) -> None:
    """Whatever letters are listed, in whatever order, more than one different letter is no answer."""
    letters = [place, *sorted(others)]
    reading = read_closed(separator.join("ABCD"[letter] for letter in letters), CITIES)
    assert reading.value == (place if others == {place} else None)


@pytest.mark.parametrize("name", ["ruba'i", "ruba’i", "rubaʿi", "rubai", "Ruba-i", "ruba i", "رباعی"])
@pytest.mark.parametrize("form", ["{}", "I'd say it is a {}", "I think it's {}, on the whole", "Answer: {}"])
def test_a_name_is_spelled_with_and_without_its_apostrophe(name: str, form: str) -> None:
    """However it is joined, it is one name, and no part of it is a word that speaks against another label."""
    assert read_closed(form.format(name), FORMS).value == 2


@pytest.mark.parametrize("name", ["do-beyti", "do beyti", "dobeyti", "Do‑beyti", "دوبیتی"])
def test_a_name_is_spelled_with_and_without_its_hyphen(name: str) -> None:
    """A hyphen, a space or nothing: one name."""
    assert [read_closed(form.format(name), FORMS).value for form in ("{}", "I do think it is a {}")] == [3, 3]


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
    "said",
    [
        "I can't answer that question now.",
        "She said: I cannot help it.",
        "I do not have access to the room.",
        "I couldn't understand it.",
        "Please provide a file.",
        "نمی‌توانم به شما کمک کنم",
        "امکان سفر با قطار نیست",
    ],
)
def test_what_people_say_is_a_translation(said: str) -> None:
    """In free text only words about audio or about being a model refuse; out of a closed set the others do as well."""
    assert read_free(said, "x") == Reading(said, "text")
    assert read_closed(said, EMOTIONS).state == "refused"


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


@given(
    st.text("[]: ab\n", max_size=30)
    | st.builds("[{}:{}]".format, *[st.integers(0, 500).map(lambda size: " " + "a" * size)] * 2)
)
def test_annotations_are_those_of_their_definition(text: str) -> None:
    """Types of 1 to 80 characters and values of 1 to 400, without the spaces around them: as one expression says it."""
    defined = re.findall(
        r"\[\s*([^\[\]:\s](?:[^\[\]:]{0,78}?[^\[\]:\s])?)\s*:\s*([^\[\]\s](?:[^\[\]]{0,398}?[^\[\]\s])?)\s*\]", text
    )
    assert annotation_entities(text) == [Entity(*one) for one in defined]


@given(st.lists(st.sampled_from(["`", "```", "\n", " ", "a"]), max_size=12).map("".join))
def test_a_fence_is_that_of_its_definition(text: str) -> None:
    """What stands between an opening line of three backticks and three at the end, as one expression says it."""
    whole = re.match(r"\A```\w*\s*\n(.*?)\n?```\Z", text.strip(), re.DOTALL)
    reading = read_free(text, "x")
    assert (reading.rule.endswith("fence") or not reading.value) or whole is None
    if whole and whole[1].strip():
        assert reading == Reading(whole[1].strip(), "text/fence")


def test_half_a_surrogate_pair_is_the_replacement_character() -> None:
    """A reply cut off within an emoji can be kept with its grade, whatever it answers; a whole emoji is none of it."""
    listed = r'[{"type": "date", "value": "\ud83d فردا"}]'
    readings = [
        read_free(r'{"answer": "\ud83d سلام \ud83d\ude00"}', "x"),
        read_entities(listed),
        read_closed(r'{"answer": ["\ude00 B"]}', CITIES),
    ]
    assert canonical_json(readings)
    assert readings[0].value == "\ufffd سلام 😀"
    assert readings[1].value == [Entity("date", "فردا")]


@given(st.text() | st.text(st.sampled_from("<think>/{}[]:\"'`*\nAnswer پاسخ:الف۱ ")))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises, and there is an answer exactly where the state says so."""
    for reading in (read_closed(text, EMOTIONS), read_closed(text, CITIES), read_entities(text), read_free(text, "x")):
        assert (reading.value is not None) == (reading.state == "ok")
        assert reading.rule


@pytest.mark.parametrize(
    "piece", ["\n", "{", "[", '[{"type":', "```\n", "<think>", "answer ", "* ", "نمی توانم ", "b or ", "\\"]
)
@pytest.mark.parametrize("start", ["", "[", "```"])
def test_a_long_reply_is_read(start: str, piece: str) -> None:
    """60,000 characters are read to the end: a rule that took the square of its length would run into the timeout."""
    text = start + piece * (60_000 // len(piece)) + "x"
    assert read_closed(text, CITIES).value is None
    assert read_entities(text).value is None
    assert read_free(text, "x").rule


@given(st.text())
def test_folding_is_stable(text: str) -> None:
    """What is folded is the same when folded again, so equality has no second opinion."""
    assert fold(fold(text)) == fold(text)
