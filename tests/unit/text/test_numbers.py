"""Numbers in Persian words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench_client.text import get_normalizer
from orinbench_client.text.numbers import DEFINITION, spell_integer, spell_numbers

SCALES = {"هزار": 10**3, "میلیون": 10**6, "میلیارد": 10**9, "تریلیون": 10**12, "کوادریلیون": 10**15}
WORDS = {
    word: value
    for values, words in (
        (range(20), "صفر یک دو سه چهار پنج شش هفت هشت نه ده یازده دوازده سیزده چهارده پانزده شانزده هفده هجده نوزده"),
        (range(20, 100, 10), "بیست سی چهل پنجاه شصت هفتاد هشتاد نود"),
        (range(100, 1000, 100), "صد دویست سیصد چهارصد پانصد ششصد هفتصد هشتصد نهصد"),
    )
    for value, word in zip(values, words.split(), strict=True)
}


def read_back(words: str) -> int:
    """The number that words say: an independent reading of them."""
    total = group = 0
    for word in words.split():
        if word in SCALES:
            total += (group or 1) * SCALES[word]
            group = 0
        elif word != "و":
            group += WORDS[word]
    return total + group


@given(st.integers(0, 10**18 - 1))
def test_words_say_the_number(value: int) -> None:
    """Whoever reads the words back gets the number, for every number below 10^18."""
    assert value == read_back(spell_integer(value))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1000", "هزار"),
        ("۱۹۶۷", "هزار و نهصد و شصت و هفت"),
        ("1,234,567", "یک میلیون و دویست و سی و چهار هزار و پانصد و شصت و هفت"),
        ("سال 20م", "سال بیست م"),
        ("3.14", "سه ممیز چهارده"),
        ("۳٫۰۵", "سه ممیز صفر پنج"),
        ("10:30", "ده و سی"),
        ("23:59", "بیست و سه و پنجاه و نه"),
        ("24:30", "بیست و چهار به سی"),
        ("2:1", "دو به یک"),
        ("3/4", "سه چهارم"),
        ("1/10", "یک دهم"),
        ("½ ¼ ¾", "یک دوم یک چهارم سه چهارم"),
        ("5/11", "پنج یازده"),
        ("1402/5/12", "هزار و چهارصد و دو پنج دوازده"),
        ("1.2.3", "یک دو سه"),
        ("10:30:15", "ده سی پانزده"),
        ("1234567890123456789", "1234567890123456789"),
        ("1,000,000,000,000,000,000", "1000000000000000000"),
        ("0 007", "صفر هفت"),
    ],
)
def test_forms(text: str, expected: str) -> None:
    """Each form of number that fa-v2 names, and where a form ends."""
    assert expected == get_normalizer("fa-v2").normalize(text)


@given(st.text("0123456789۴٥.,/:٫٬ ½a", max_size=60))
def test_fa_v2_is_idempotent_on_numbers(text: str) -> None:
    """Whatever digits and signs come together, a second pass finds nothing more to spell."""
    normalize = get_normalizer("fa-v2").normalize
    once = normalize(text)

    assert once == normalize(once)


@given(
    st.lists(
        st.sampled_from(
            ["0", "1", "12", "000", "345", "1234", ",", "٬", ",000", ".", "٫", ":", "/", "10", "2", " ", "a"]
        ),
        max_size=14,
    ).map("".join)
)
def test_numbers_are_those_of_the_definition(text: str) -> None:
    """The words are those of the expression in the policy's digest, applied as it stands, whatever is tried faster."""
    forms = DEFINITION.split(" ", 1)[0]
    assert spell_numbers(text) == re.sub(forms, lambda number: spell_numbers(number[0]), text)


def test_the_policy_is_the_one_that_was_published() -> None:
    """How fa-v2 finds numbers may change, what it finds may not: its digest is that of the first release."""
    assert get_normalizer("fa-v2").digest == "sha256:f7be4f20a78b6c8a10873346df03f586915adfeb0a689e3c1c0624048fd1be26"


@pytest.mark.parametrize(
    "text", ["7" * 1_000_000, "1" + ",000" * 100_000 + ",00", "1" + ",000" * 100_000 + ",0000", "1.000,000" * 30_000]
)
def test_a_long_run_of_digits_is_no_burden(text: str) -> None:
    """A megabyte of digits, or of groups that make no number, takes one pass: in its square none of it would end."""
    assert get_normalizer("fa-v2").normalize(text)


def test_digits_beyond_the_words_stay() -> None:
    """A megabyte of digits is left as it is."""
    assert get_normalizer("fa-v2").normalize("7" * 1_000_000) == "7" * 1_000_000
