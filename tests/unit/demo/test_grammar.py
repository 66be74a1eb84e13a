"""The demo's sentences: the committed references are the grammar's, correct in letters, and apart from training."""

from __future__ import annotations

import re

import pytest
from build_demo.grammar import TEMPLATES, Splits, demo_splits, ezafe, make_splits, vocabulary
from build_demo.lexicon import LEXICON
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.demo.paths import manifest

PERSIAN = "آئابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهی"


@pytest.fixture(scope="module")
def splits() -> Splits:
    return demo_splits()


def test_the_manifest_has_the_sentences_of_the_grammar(splits: Splits) -> None:
    """The committed references are the demo split, in order, so that what follows holds for them."""
    committed = [(entry["reference"], entry["unseen_words"]) for entry in manifest()]

    assert [(sentence.text, sentence.unseen_words) for sentence in splits.demo] == committed


def test_no_sentence_stands_twice(splits: Splits) -> None:
    """No sentence is in two splits, or twice in one: nothing measured was trained on."""
    texts = [s.text for part in (splits.train, splits.valid, splits.heldout, splits.demo) for s in part]

    assert len(texts) == len(set(texts)) == 4640


def test_unseen_words_are_absent_from_training(splits: Splits) -> None:
    """Half of the measured sentences have a word of which training has none; the others have no such word."""
    known = vocabulary(splits.train)
    for part in (splits.valid, splits.heldout, splits.demo):
        assert sum(sentence.unseen_words for sentence in part) * 2 == len(part)
        for sentence in part:
            assert sentence.unseen_words == bool(set(sentence.text.split()) - known), sentence


def test_letters_and_spacing_are_persian(splits: Splits) -> None:
    """Only Persian letters (no Arabic ي or ك), single spaces, and ZWNJ between letters alone."""
    word = f"[{PERSIAN}]+(\N{ZERO WIDTH NON-JOINER}[{PERSIAN}]+)*"
    sentence = re.compile(f"{word}( {word})*")
    for part in (splits.train, splits.valid, splits.heldout, splits.demo):
        assert [s.text for s in part if not sentence.fullmatch(s.text)] == []


def test_measured_sentences_use_the_characters_of_training(splits: Splits) -> None:
    """The models can spell every reference: no character is absent from training."""
    trained = {character for sentence in splits.train for character in sentence.text}

    assert {c for part in (splits.heldout, splits.demo) for s in part for c in s.text} <= trained


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("کتاب", "کتاب"),
        ("گربه", "گربه\N{ZERO WIDTH NON-JOINER}ی"),
        ("کلاه", "کلاه"),
        ("کوه", "کوه"),
        ("دریا", "دریای"),
        ("هلو", "هلوی"),
        ("قوری", "قوری"),
    ],
)
def test_ezafe_is_written_after_vowels_only(phrase: str, expected: str) -> None:
    """The ezafe follows the orthography for each kind of ending."""
    assert ezafe(phrase) == expected


def test_the_lexicon_serves_every_template() -> None:
    """Every slot names a category and every category has a slot: a slip in a name would show."""
    slots = {name for template in TEMPLATES for name in re.findall(r"\{(\w+)", template)}

    assert slots == set(LEXICON)


def test_held_out_phrases_bring_a_new_word() -> None:
    """Each held-out phrase has a word of no template and no training phrase."""
    known = {word for template in TEMPLATES for word in template.split()}
    known |= {word for category in LEXICON.values() for phrase in category.train for word in phrase.split()}

    held = [phrase for category in LEXICON.values() for phrase in category.held]
    assert [phrase for phrase in held if set(phrase.split()) <= known] == []


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_splits_stay_apart_for_any_seed(seed: int) -> None:
    """Disjointness and sizes are the grammar's doing, not the luck of one seed."""
    parts = make_splits(seed, train=500, valid=10, heldout=20, demo=30)
    lists = [parts.train, parts.valid, parts.heldout, parts.demo]

    assert [len(part) for part in lists] == [500, 10, 20, 30]
    assert len({sentence.text for part in lists for sentence in part}) == 560
