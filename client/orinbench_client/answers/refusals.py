"""Refusals, in English and Persian: to be counted apart. They earn what any reply without an answer earns."""

from __future__ import annotations

import re

from orinbench_client.answers.folding import fold

# Matched against folded text: no case, no punctuation, ZWNJ a space, "can't" is "can t".
_CANNOT = r"(?:can ?not|can t|couldn t|could not|am not able to|m not able to|am unable to|m unable to|unable to)"
_PERCEIVE = (
    rf"\b{_CANNOT} (?:\w+ ){{0,2}}?(?:listen|hear|process|access|play|transcribe|analy[sz]e|perceive|understand)\b"
    r" (?:\w+ ){0,4}?"
)
_ABILITY = r"\bdo(?: not|n t) have (?:the )?(?:ability|capability|access)\b"
_GIVE = r"\bplease (?:provide|upload|attach|share) (?:the |an? |your )?"
_UNABLE = r"(?:نمی توانم|نمیتوانم|نمی تونم|نمیتونم)"
_INCAPABLE = r"\b(?:قادر به|توانایی|امکان)"
_NOR = r"(?:نیستم|ندارم|نیست|ندارد)\b"
_NOT_SENT = r"(?:\w+ ){0,2}?(?:ارسال|ارائه|پیوست|ضمیمه) نشده\b"

_AUDIO = r"(?:audio|sound|speech|voice|recording|clip|music)\w*"
_HEARING = r"(?:گوش|بشنوم|شنیدن|صدا|صدای|صدایی|صوت|صوتی|پخش|پردازش|رونویسی)"
#: These speak of audio or of being a model.
_OF_AUDIO = {
    "en": (
        rf"{_PERCEIVE}{_AUDIO}",
        rf"{_ABILITY} (?:\w+ ){{0,6}}?{_AUDIO}",
        r"\b(?:as an? (?:ai|text based|language) (?:\w+ )?(?:model|assistant))\b",
        r"\bno audio (?:file |clip |recording )?(?:was |is |has been )?(?:provided|attached|included|given)\b",
        rf"{_GIVE}(?:audio|recording|transcript)",
    ),
    "fa": (
        rf"{_UNABLE} (?:\w+ ){{0,6}}?{_HEARING}\b",
        rf"\b{_HEARING} (?:\w+ ){{0,6}}?{_UNABLE}\b",
        rf"{_INCAPABLE} (?:\w+ ){{0,5}}?{_HEARING} (?:\w+ ){{0,5}}?{_NOR}",
        r"\bبه عنوان (?:یک )?(?:هوش مصنوعی|مدل زبانی|دستیار)",
        rf"\b(?:صدای?|صوت|فایل صوتی) {_NOT_SENT}",
    ),
}
#: These are no answer out of a closed set either, but may well be a sentence someone said.
_IN_GENERAL = {
    "en": (
        rf"{_PERCEIVE}(?:it|file)\w*",
        rf"\b{_CANNOT} (?:help|assist|comply|answer|determine|fulfil+)\b",
        _ABILITY,
        rf"{_GIVE}file",
    ),
    "fa": (
        rf"{_UNABLE} (?:\w+ ){{0,6}}?(?:پاسخ|کمک|فایل)\b",
        rf"\b(?:پاسخ|کمک|فایل) (?:\w+ ){{0,6}}?{_UNABLE}\b",
        rf"{_INCAPABLE} (?:\w+ ){{1,6}}?{_NOR}",
        rf"\bفایل {_NOT_SENT}",
    ),
}
_FREE = {language: re.compile("|".join(patterns)) for language, patterns in _OF_AUDIO.items()}
_CLOSED = {language: re.compile("|".join((*_OF_AUDIO[language], *more))) for language, more in _IN_GENERAL.items()}


def refusal_in(text: str, free: bool = False) -> str | None:
    """Return ``en`` or ``fa`` if a text says that the model will not or cannot answer; None if it does not.

    `free`: the answer may be any text, so that only words about audio or about being a model count.
    """
    folded = fold(text)
    patterns = _FREE if free else _CLOSED
    return next((language for language, pattern in patterns.items() if pattern.search(folded)), None)
