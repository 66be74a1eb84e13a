"""What is read out of a chat model's reply."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from orinbench_engines.chat import split_reply

PLAIN = st.text().filter(lambda text: "think>" not in text)


@given(PLAIN, st.booleans())
def test_a_plain_reply_has_only_its_ending(text: str, cut: bool) -> None:
    """Without thinking nothing but how it ended is added."""
    assert split_reply(text, cut) == {"finish_reason": "length" if cut else "stop"}


@given(PLAIN, PLAIN, st.booleans())
def test_thinking_and_answer_are_told_apart(thinking: str, answer: str, opened: bool) -> None:
    """The parts around the closing mark come out, whether the template or the model opened the thinking."""
    found = split_reply(f"{'<think>' if opened else ''}{thinking}</think>{answer}", False)

    assert (found["thinking"], found["answer_text"]) == (thinking.strip(), answer.strip())


@given(PLAIN)
def test_thinking_without_an_end_has_no_answer(thinking: str) -> None:
    """A reply cut off while the model thinks answers nothing."""
    found = split_reply(f"<think>{thinking}", True)

    assert (found["thinking"], found["answer_text"], found["finish_reason"]) == (thinking.strip(), "", "length")
