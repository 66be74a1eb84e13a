"""The registry of normalisers. A published policy never changes: a new rule is a new name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from orinbench_profiles.digest import canonical_json, digest_bytes

from orinbench_client.errors import BadInput
from orinbench_client.text import rules
from orinbench_client.text.numbers import DEFINITION, spell_numbers, spell_vulgar_fractions


@dataclass(frozen=True)
class Normalizer:
    """A named policy: `normalize` never raises on a string, and its output holds no two spaces in a row.

    `steps` says each rule with its code points, in order. `digest` covers the name, the steps and the version of
    the Unicode tables, so a score can say by what exactly it was made.
    """

    name: str
    steps: tuple[str, ...]
    normalize: Callable[[str], str]
    digest: str


def get_normalizer(name: str) -> Normalizer:
    """Return a registered policy. Raises BadInput for an unknown name or another Unicode table than the pinned."""
    if name not in _STEPS:
        raise BadInput(f"no normaliser is called {name!r}: there are {', '.join(normalizer_names())}")
    if rules.INSTALLED_UNICODE_VERSION != rules.UNICODE_VERSION:
        raise BadInput(
            f"unicodedata2 has the tables of Unicode {rules.INSTALLED_UNICODE_VERSION}, the normalisers are defined by"
            f" {rules.UNICODE_VERSION}: install unicodedata2=={rules.UNICODE_VERSION}"
        )
    return _build(name)


def normalizer_names() -> list[str]:
    """Return the names of all policies, sorted."""
    return sorted(_STEPS)


@functools.cache
def _build(name: str) -> Normalizer:
    steps, normalize = _STEPS[name]
    content = {"name": name, "steps": list(steps), "unicode": rules.UNICODE_VERSION}
    return Normalizer(name, steps, normalize, digest_bytes(canonical_json(content)))


def _words(text: str) -> str:
    # Every character that split() takes for white space has become an ASCII space by now.
    return " ".join(text.translate(rules.CHARACTERS).split())


def _fa_v1(text: str) -> str:
    # NFKC leaves Arabic digits alone, so the digits of step 1 can wait for those of step 4.
    return _words(rules.nfkc(text))


def _fa_v1_zwnj_join(text: str) -> str:
    return _words(rules.nfkc(text).replace(chr(rules.ZWNJ), ""))


def _fa_v2(text: str) -> str:
    return _words(spell_numbers(rules.nfkc(spell_vulgar_fractions(text)).translate(rules.DIGITS)))


_COMPOSE_STEPS = (
    "digits: " + " ".join(rules.code_points(rules.DIGITS)),
    "NFKC",
    "letters: " + " ".join(rules.code_points(rules.LETTERS)),
    "digits again",
)
_SPACE_STEPS = (
    f"remove U+{rules.TATWEEL:04X}",
    "remove " + " ".join(f"U+{first:04X}-U+{last:04X}" for first, last in rules.MARKS),
    "to one space each: "
    + " ".join(f"U+{code:04X}" for code in rules.SPACED)
    + " and categories "
    + " ".join(rules.SPACED_CATEGORIES),
    "runs of white space to one space, trimmed",
)
_STEPS: dict[str, tuple[tuple[str, ...], Callable[[str], str]]] = {
    "fa-v1": (_COMPOSE_STEPS + _SPACE_STEPS, _fa_v1),
    "fa-v1-zwnj-join": ((*_COMPOSE_STEPS, f"remove U+{rules.ZWNJ:04X}", *_SPACE_STEPS), _fa_v1_zwnj_join),
    "fa-v2": (
        (
            "vulgar fractions to Persian words: U+00BC U+00BD U+00BE",
            *_COMPOSE_STEPS,
            f"numbers below 10^18 to Persian words: {DEFINITION}",
            *_SPACE_STEPS,
        ),
        _fa_v2,
    ),
}
