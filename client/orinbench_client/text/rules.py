"""The character rules of the Persian normalisers, each with its code points."""

from __future__ import annotations

import unicodedata2  # type: ignore[import-not-found]  # it has no stubs

#: The one Unicode table every Python uses: the tables of Python 3.10, 3.11 and 3.12 differ.
UNICODE_VERSION = "18.0.0"
#: The table that is installed.
INSTALLED_UNICODE_VERSION: str = unicodedata2.unidata_version

#: Extended Arabic-Indic and Arabic-Indic digits, to ASCII digits.
DIGITS = {start + value: 0x30 + value for start in (0x06F0, 0x0660) for value in range(10)}

#: Letters with one spelling in Persian. U+0622 (alef with madda) and U+0626 (yeh with hamza) stay.
LETTERS = {
    0x0643: 0x06A9,  # ك kaf → ک keheh
    0x064A: 0x06CC,  # ي yeh → ی Farsi yeh
    0x0649: 0x06CC,  # ى alef maksura → ی
    0x06D2: 0x06CC,  # ے yeh barree → ی
    0x06CD: 0x06CC,  # ۍ yeh with tail → ی
    0x0629: 0x0647,  # ة teh marbuta → ه heh
    0x06C0: 0x0647,  # ۀ heh with yeh above → ه
    0x06D5: 0x0647,  # ە ae → ه
    0x0624: 0x0648,  # ؤ waw with hamza → و waw
    0x0625: 0x0627,  # إ alef with hamza below → ا alef
    0x0623: 0x0627,  # أ alef with hamza above → ا
    0x0671: 0x0627,  # ٱ alef wasla → ا
}

TATWEEL = 0x0640
#: First and last code point of each range of marks that is removed.
MARKS = ((0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06ED))

ZWNJ = 0x200C
#: Characters that become a space whatever their category: ZWNJ, ZWJ, no-break space.
SPACED = (ZWNJ, 0x200D, 0x00A0)
#: General categories that become a space: punctuation, symbols, format, control and separators.
SPACED_CATEGORIES = ("P", "S", "Cf", "Cc", "Zl", "Zp", "Zs")


class _CharacterTable(dict[int, "int | str"]):
    """Steps 3 to 7 as one table for str.translate: each acts on single characters, so they can be one.

    It fills itself: a plain dict raises inside translate at every character it does not name.
    """

    def __missing__(self, code: int) -> int | str:
        self[code] = value = _character(LETTERS.get(code, DIGITS.get(code, code)))
        return value


def _character(code: int) -> int | str:
    """Return what steps 5 to 7 make of a character: nothing, a space, or itself."""
    if code == TATWEEL or any(first <= code <= last for first, last in MARKS):
        return ""
    if code in SPACED or unicodedata2.category(chr(code)).startswith(SPACED_CATEGORIES):
        return " "
    return code


CHARACTERS = _CharacterTable()


def nfkc(text: str) -> str:
    """Return the compatibility composition of `text` by the pinned table. Lone surrogates pass unchanged."""
    return str(unicodedata2.normalize("NFKC", text))


def code_points(codes: dict[int, int]) -> list[str]:
    """Return a mapping as ``U+0643>U+06A9`` in order, to be shown and digested."""
    return [f"U+{source:04X}>U+{target:04X}" for source, target in sorted(codes.items())]
