"""The normalisers: their published rules, and what must hold for any text whatever."""

from __future__ import annotations

import subprocess
import sys

import pytest
import unicodedata2  # type: ignore[import-not-found]
from hypothesis import example, given
from hypothesis import strategies as st
from orinbench_client.errors import BadInput
from orinbench_client.text import get_normalizer, normalizer_names, rules

PATH = ":".join(sys.path)
FA_V1 = "sha256:ce520223d12efd679c0cd28b4e7f6122b3d787792eaaa1d909be11b95f86306d"
ANY_TEXT = st.text(st.characters())
ARABIC_RANGES = ((0x0600, 0x06FF), (0x0750, 0x077F), (0x08A0, 0x08FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF))
ARABIC_OR_ASCII = st.text(
    st.one_of(
        st.characters(max_codepoint=0x7F),
        *(st.characters(min_codepoint=first, max_codepoint=last) for first, last in ARABIC_RANGES),
        st.sampled_from("\u200c\u200d\u00a0۱۲۳ٔٓ"),
    )
)


def step_by_step(text: str) -> str:
    """fa-v1 as the specification words it, one step after the other, without any table of ours."""
    digits = {ord(sign): str(index % 10) for index, sign in enumerate("۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩")}
    text = unicodedata2.normalize("NFKC", text.translate(digits))
    for old, new in (("ك", "ک"), ("يىےۍ", "ی"), ("ةۀە", "ه"), ("ؤ", "و"), ("إأٱ", "ا")):
        for letter in old:
            text = text.replace(letter, new)
    text = text.translate(digits).replace("\u0640", "")
    marks = [*range(0x0610, 0x061B), *range(0x064B, 0x0660), 0x0670, *range(0x06D6, 0x06EE)]
    text = "".join(sign for sign in text if ord(sign) not in marks)
    spaced = []
    for sign in text:
        category = unicodedata2.category(sign)
        blank = sign in "\u200c\u200d\u00a0" or category[0] in "PS" or category in ("Cf", "Cc", "Zl", "Zp", "Zs")
        spaced.append(" " if blank else sign)
    return " ".join(word for word in "".join(spaced).split(" ") if word)


@given(ANY_TEXT)
@example("۱٢3\u0640 كتابِ «مي‌شود» ۀةؤإ آئ ½ ﷺ\u2067 ۍ")
def test_fa_v1_is_the_published_rule(text: str) -> None:
    """fa-v1, made of one table, gives for any text what the eight published steps give one after the other."""
    assert step_by_step(text) == get_normalizer("fa-v1").normalize(text)


@pytest.mark.parametrize("name", normalizer_names())
@given(text=ANY_TEXT)
@example(text="a\ud800 \udfff  b\n\t")
def test_any_text_is_normalised(name: str, text: str) -> None:
    """No policy raises on any string, lone surrogates included, nor leaves two spaces or one at an end."""
    normal = get_normalizer(name).normalize(text)

    assert "  " not in normal
    assert normal.strip() == normal


@pytest.mark.parametrize("name", normalizer_names())
@given(text=ARABIC_OR_ASCII)
def test_idempotent_on_arabic_script_and_ascii(name: str, text: str) -> None:
    """Normalising normalised text of Arabic script and ASCII changes nothing."""
    normalize = get_normalizer(name).normalize
    once = normalize(text)

    assert once == normalize(once)


def test_published_policy_is_not_idempotent_everywhere() -> None:
    """A tatweel between a Latin letter and U+0301 keeps them apart until it is gone; the rule stays as published."""
    normalize = get_normalizer("fa-v1").normalize
    once = normalize("e\u0640\u0301")

    assert once == "e\u0301"
    assert normalize(once) == "\u00e9"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("علی‌ رفت، آمد!", "علی رفت آمد"),
        ("ﻻ", "لا"),
        ("كتابـــ", "کتاب"),
        ("سَلامٌ", "سلام"),
        ("مسئلهٔ آب", "مسئله آب"),
        ("٣٫۵ ۱۹۶۷", "3 5 1967"),
        ("…", ""),
    ],
)
def test_examples(text: str, expected: str) -> None:
    """Single rules at work: spaces for ZWNJ and signs, presentation forms, letters, marks, digits."""
    assert expected == get_normalizer("fa-v1").normalize(text)


def test_zwnj_join() -> None:
    """The diagnostic joins what ZWNJ parts, and is fa-v1 otherwise."""
    assert get_normalizer("fa-v1-zwnj-join").normalize("می\u200cشود\u00a0كه") == "میشود که"
    assert get_normalizer("fa-v1").normalize("می\u200cشود\u00a0كه") == "می شود که"


def test_digest_of_the_published_policy_is_fixed() -> None:
    """fa-v1 keeps its digest; the digests of the policies differ; the Unicode table is named in what they cover."""
    digests = {name: get_normalizer(name).digest for name in normalizer_names()}

    assert digests["fa-v1"] == FA_V1
    assert len(set(digests.values())) == len(digests)


def test_digest_is_the_same_in_another_process() -> None:
    """Neither hash seeds nor the order of imports reach a digest."""
    code = "from orinbench_client.text import get_normalizer as g; print(g('fa-v2').digest)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, env={"PYTHONPATH": PATH}
    )

    assert done.stdout.strip() == get_normalizer("fa-v2").digest


def test_every_rule_names_its_code_points() -> None:
    """The documented steps of a policy hold every code point its tables map or remove."""
    steps = " ".join(get_normalizer("fa-v1").steps)

    for code in (
        *rules.DIGITS,
        *rules.LETTERS,
        rules.TATWEEL,
        *rules.SPACED,
        *(code for pair in rules.MARKS for code in pair),
    ):
        assert f"U+{code:04X}" in steps


def test_unknown_policy() -> None:
    """A name nobody registered is refused with those there are."""
    with pytest.raises(BadInput, match="no normaliser is called 'fa-v9': there are fa-v1, fa-v1-zwnj-join, fa-v2"):
        get_normalizer("fa-v9")


def test_another_unicode_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With other tables than the pinned ones nothing is normalised: the digest would lie."""
    monkeypatch.setattr(rules, "INSTALLED_UNICODE_VERSION", "15.0.0")

    with pytest.raises(BadInput, match=r"install unicodedata2==18\.0\.0"):
        get_normalizer("fa-v1")
