"""Refusals, in English and Persian: to be counted apart. They earn what any reply without an answer earns."""

from __future__ import annotations

import re

from orinbench_client.answers.folding import fold

# Matched against folded text: no case, no punctuation, ZWNJ a space, "can't" is "can t".
_CANNOT = r"(?:can ?not|can t|couldn t|could not|am not able to|m not able to|am unable to|m unable to|unable to)"
_ENGLISH = (
    rf"\b{_CANNOT} (?:\w+ ){{0,2}}?(?:listen|hear|process|access|play|transcribe|analy[sz]e|perceive|understand)\b"
    r" (?:\w+ ){0,4}?(?:audio|sound|speech|voice|recording|file|clip|it|music)\w*",
    rf"\b{_CANNOT} (?:help|assist|comply|answer|determine|fulfil+)\b",
    r"\bdo(?: not|n t) have (?:the )?(?:ability|capability|access)\b",
    r"\b(?:as an? (?:ai|text based|language) (?:\w+ )?(?:model|assistant))\b",
    r"\bno audio (?:file |clip |recording )?(?:was |is |has been )?(?:provided|attached|included|given)\b",
    r"\bplease (?:provide|upload|attach|share) (?:the |an? |your )?(?:audio|recording|file|transcript)",
)
_UNABLE = r"(?:نمی توانم|نمیتوانم|نمی تونم|نمیتونم)"
_HEARING = r"(?:گوش|بشنوم|شنیدن|صدا|صدای|صوت|صوتی|فایل|پخش|پردازش|پاسخ|کمک|رونویسی)"
_PERSIAN = (
    rf"{_UNABLE} (?:\w+ ){{0,6}}?{_HEARING}\b",
    rf"\b{_HEARING} (?:\w+ ){{0,6}}?{_UNABLE}\b",
    r"\b(?:قادر به|توانایی|امکان) (?:\w+ ){1,6}?(?:نیستم|ندارم|نیست|ندارد)\b",
    r"\bبه عنوان (?:یک )?(?:هوش مصنوعی|مدل زبانی|دستیار)",
    r"\b(?:فایل|صدای?|صوت|فایل صوتی) (?:\w+ ){0,2}?(?:ارسال|ارائه|پیوست|ضمیمه) نشده\b",
)
_LANGUAGES = {"en": re.compile("|".join(_ENGLISH)), "fa": re.compile("|".join(_PERSIAN))}


def refusal_in(text: str) -> str | None:
    """Return ``en`` or ``fa`` if a text says that the model will not or cannot answer; None if it does not."""
    folded = fold(text)
    return next((language for language, pattern in _LANGUAGES.items() if pattern.search(folded)), None)
