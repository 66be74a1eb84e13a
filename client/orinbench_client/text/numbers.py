"""Persian words for numbers written in digits (the experimental part of `fa-v2`).

Spelled are integers and comma-grouped integers below 10^18, decimals, times of day, ratios, and fractions with a
denominator of 2 to 10. A longer run of digits stays as it is.
"""

from __future__ import annotations

import re

_UNITS = [
    "صفر",
    "یک",
    "دو",
    "سه",
    "چهار",
    "پنج",
    "شش",
    "هفت",
    "هشت",
    "نه",
    "ده",
    "یازده",
    "دوازده",
    "سیزده",
    "چهارده",
    "پانزده",
    "شانزده",
    "هفده",
    "هجده",
    "نوزده",
]
_TENS = ["_", "ده", "بیست", "سی", "چهل", "پنجاه", "شصت", "هفتاد", "هشتاد", "نود"]
_HUNDREDS = ["_", "صد", "دویست", "سیصد", "چهارصد", "پانصد", "ششصد", "هفتصد", "هشتصد", "نهصد"]
_SCALES = ("", "هزار", "میلیون", "میلیارد", "تریلیون", "کوادریلیون")
_ORDINALS = dict(enumerate(["دوم", "سوم", "چهارم", "پنجم", "ششم", "هفتم", "هشتم", "نهم", "دهم"], start=2))
_AND, _TO, _POINT = " و ", " به ", " ممیز "
_MAX_DIGITS = 18

_VULGAR = {0x00BC: " یک چهارم ", 0x00BD: " یک دوم ", 0x00BE: " سه چهارم "}

# A form of several parts counts only where no further part follows: 1402/5/12 is no fraction, 1.2.3 no decimal.
_ALONE = r"(?<![0-9])(?<![0-9][.:/٫]){}(?![0-9])(?![.:/٫][0-9])"
_WHOLE = r"[0-9]{1,3}(?:[,٬][0-9]{3})+|[0-9]+"
_FORMS = (
    _ALONE.format("(?P<left>[0-9]+):(?P<right>[0-9]+)"),
    _ALONE.format("(?P<numerator>[0-9]+)/(?P<denominator>10|[2-9])"),
    _ALONE.format(f"(?P<whole>{_WHOLE})[.٫](?P<part>[0-9]+)"),
    r"(?<![0-9])(?<![0-9][,٬])(?P<grouped>[0-9]{1,3}(?:[,٬][0-9]{3})+)(?![0-9])(?![,٬][0-9])",
    "(?P<plain>[0-9]+)",
)
# No form of its own: groups that make no number, of which each would be tried in vain and found to be plain, in time
# that is the square of how many there are. All but the last one are taken at once.
_LISTED = r"(?P<listed>[0-9]{1,3}(?:[,٬][0-9]{3}(?=[,٬][0-9]{3}(?![0-9])))+)"
_NUMBER = re.compile("|".join((*_FORMS[:-1], _LISTED, _FORMS[-1])))
_DIGITS = re.compile("[0-9]+")

#: What defines this rule, for a policy's digest: the forms in order, and the words.
DEFINITION = " ".join(["|".join(_FORMS), *_UNITS, *_TENS, *_HUNDREDS, *_SCALES, *_ORDINALS.values(), _AND, _TO, _POINT])


def spell_vulgar_fractions(text: str) -> str:
    """Return `text` with ¼ ½ ¾ as words: before NFKC, which would turn them into 1⁄4, 1⁄2, 3⁄4."""
    return text.translate(_VULGAR)


def spell_numbers(text: str) -> str:
    """Return `text` with every number in ASCII digits as Persian words, a space on either side."""
    return _NUMBER.sub(_spell_match, text)


def spell_integer(value: int) -> str:
    """Return the words of 0 ≤ value < 10^18. 1000 is هزار, without یک before it."""
    if value == 0:
        return _UNITS[0]
    groups = []
    for scale in _SCALES:
        value, group = divmod(value, 1000)
        if group:
            groups.append(_scaled(group, scale))
    return _AND.join(reversed(groups))


def _scaled(group: int, scale: str) -> str:
    if group == 1 and scale == _SCALES[1]:
        return scale
    return f"{_below_thousand(group)} {scale}".rstrip()


def _below_thousand(value: int) -> str:
    hundreds, rest = divmod(value, 100)
    words = [_HUNDREDS[hundreds]] if hundreds else []
    if 0 < rest < len(_UNITS):
        words.append(_UNITS[rest])
    elif rest:
        tens, units = divmod(rest, 10)
        words += [_TENS[tens], *([_UNITS[units]] if units else [])]
    return _AND.join(words)


def _spell_match(match: re.Match[str]) -> str:
    if match.lastgroup == "listed":
        return _DIGITS.sub(lambda digits: f" {_spell(digits[0])} ", match[0])
    parts = {name: re.sub("[,٬]", "", text) for name, text in match.groupdict().items() if text is not None}
    if all(len(part) <= _MAX_DIGITS for part in parts.values()):
        return f" {_spell_parts(parts)} "
    return f" {' '.join(part if len(part) > _MAX_DIGITS else _spell(part) for part in parts.values())} "


def _spell_parts(parts: dict[str, str]) -> str:
    if "left" in parts:
        joint = _AND if _is_time(parts["left"], parts["right"]) else _TO
        return _spell(parts["left"]) + joint + _spell(parts["right"])
    if "numerator" in parts:
        return f"{_spell(parts['numerator'])} {_ORDINALS[int(parts['denominator'])]}"
    if "part" in parts:
        return _spell(parts["whole"]) + _POINT + _spell_fraction(parts["part"])
    return _spell(parts.get("grouped") or parts["plain"])


def _spell(digits: str) -> str:
    return spell_integer(int(digits))


def _spell_fraction(digits: str) -> str:
    if digits.startswith("0"):
        return " ".join(_UNITS[int(digit)] for digit in digits)
    return _spell(digits)


def _is_time(hours: str, minutes: str) -> bool:
    return len(hours) <= 2 and len(minutes) == 2 and int(hours) < 24 and int(minutes) < 60
