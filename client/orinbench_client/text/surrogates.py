"""Halves of surrogate pairs, which JSON can spell but no text that is written down can hold."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def replace_halves(json_text: str) -> str:
    r"""Return JSON in which every half of a surrogate pair without its other half is U+FFFD.

    A model that was cut off within an emoji leaves ``"\ud83d"``: valid JSON, and a text that cannot be encoded. The
    replacement character is what Unicode has for it (chapter 3.9): the words around it stay, and half an emoji is
    compared as a whole one is. To refuse it instead would lose an answer over a sign that says nothing.
    """
    return _ESCAPE.sub(lambda escape: r"\ufffd" if escape["half"] else escape[0], json_text)
