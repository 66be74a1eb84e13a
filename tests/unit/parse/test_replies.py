"""From replies to answers: upstream's rules, one by one, and that no reply at all can break them."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench_client.parse.questions import TYPES
from orinbench_client.parse.replies import Reply, read_reply
from orinbench_client.text.surrogates import replace_halves
from orinbench_profiles import canonical_json

COT, ZERO = "chain_of_thought", "zero_shot"
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from("۱2"),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.sampled_from(["answer", "answers"]), inner),
    max_leaves=8,
)
_replies = st.text() | _json.map(json.dumps) | st.text(alphabet='{}[]":,answers1 ۲\n', max_size=60)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"answer": "Yes"}', True),
        ('{"answer": " بله "}', True),
        ('{"answer": "خیر"}', False),
        ('{"answer": "خير"}', False),
        ('{"answer": "نه"}', False),
        ('I think {"answer": "No"} but then\n{\n"answer": "yes"\n}.', True),
    ],
)
def test_boolean(text: str, answer: bool) -> None:
    """Yes and no are read in both languages, from the last JSON object of a reply."""
    assert Reply(answer, "yes or no") == read_reply("boolean", ZERO, text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"answer": [3, 1]}', [1, 3]),
        ('{"answer": ["۲", "4"]}', [2, 4]),
        ('{"answer": [0, 2, 7]}', [2]),
        ('{"answer": [2, 2]}', [2, 2]),
        ('{"answer": []}', []),
        ('{"answer": [9]}', []),
    ],
)
def test_multichoice(text: str, answer: list[int]) -> None:
    """Numbers are read, Persian ones too, those that name no option dropped, and put in order."""
    assert Reply(answer, "numbers of options") == read_reply("multichoice", ZERO, text)


@pytest.mark.parametrize(
    ("strategy", "text", "answer"),
    [
        (ZERO, '{"answers": ["الف", "ب"]}', ["الف", "ب"]),
        (ZERO, '{"answers": ["1", "2", "3", "4", "5"]}', ["1", "2", "3", "4"]),
        (ZERO, '{"answers": []}', []),
        (COT, 'so {"answers": ["الف', ["الف"]),
        (COT, '{"answers": ["الف"]}\nDone.', ["الف"]),
        (COT, '{"answers": [12, 7]}', ["12", "7"]),
        (ZERO, r'{"answers": ["تهران \ud83d", "\ud83d\ude00", "\\ud83d"]}', ["تهران \ufffd", "😀", r"\ud83d"]),
    ],
)
def test_factoid(strategy: str, text: str, answer: list[str]) -> None:
    """Texts are read, the first four; after chain of thought a reply that was cut off, and numbers, too."""
    assert Reply(answer, "list of texts") == read_reply("factoid", strategy, text)


@pytest.mark.parametrize(
    ("type_", "strategy", "text", "rule"),
    [
        ("boolean", ZERO, "Yes", "no JSON object"),
        ("boolean", ZERO, "", "no JSON object"),
        ("boolean", ZERO, '{"answer": yes}', "not valid JSON"),
        ("boolean", ZERO, '{"answer": true}', "answer missing, or no text"),
        ("boolean", ZERO, '{"answers": "yes"}', "answer missing, or no text"),
        ("boolean", ZERO, '{"answer": "شاید"}', "answer neither yes nor no"),
        ("multichoice", ZERO, '{"answer": 2}', "answer missing, or no list"),
        ("multichoice", ZERO, '{"answer": ["الف"]}', "an option is no number"),
        ("multichoice", ZERO, '{"answer": [true]}', "an option is no number"),
        ("multichoice", ZERO, '{"answer": ["' + "9" * 5000 + '"]}', "an option is no number"),
        ("factoid", ZERO, '{"answers": "الف"}', "answers missing, or no list"),
        ("factoid", ZERO, '{"answers": [12]}', "an answer is no text"),
        ("factoid", ZERO, '{"answers": ["الف', "no JSON object"),
        ("factoid", COT, "I do not know", "no JSON object"),
    ],
)
def test_unparsable(type_: str, strategy: str, text: str, rule: str) -> None:
    """What upstream would ask again has no answer, never an empty list, and says by which rule."""
    assert Reply(None, rule) == read_reply(type_, strategy, text)


@given(st.text(st.sampled_from('a\\"u0123d\ud83d\ude00\U0001f600')))
def test_every_answer_can_be_written_down(text: str) -> None:
    """What is read of JSON is the text itself with U+FFFD for every half of a surrogate pair, and encodes as UTF-8."""
    whole = json.loads(json.dumps(text))
    expected = re.sub("[\ud800-\udfff]", "\ufffd", whole)
    assert json.loads(replace_halves(json.dumps(text))) == expected
    answer = read_reply("factoid", ZERO, json.dumps({"answers": [text]})).answer
    assert answer in ([expected], None)
    canonical_json(answer)


@given(st.sampled_from(sorted(TYPES)), st.sampled_from([ZERO, COT]), _replies)
def test_any_reply_is_read_or_not(type_: str, strategy: str, text: str) -> None:
    """No reply breaks the reader; what is read is of the type's kind and within its bounds."""
    answer = read_reply(type_, strategy, text).answer
    if answer is None:
        return
    if type_ == "boolean":
        assert isinstance(answer, bool)
    elif type_ == "multichoice":
        assert isinstance(answer, list)
        assert answer == sorted(answer)
        assert {1, 2, 3, 4} >= set(answer)
    else:
        assert isinstance(answer, list)
        assert len(answer) <= 4
        assert all(isinstance(item, str) for item in answer)


@given(st.text(alphabet='{}a"1\n', max_size=40))
def test_last_object_is_upstreams(text: str) -> None:
    """The object that is read is the last match of the shortest {…}, as upstream's expression finds it."""
    found = re.findall(r"\{.*?\}", text, re.DOTALL)
    rule = read_reply("boolean", ZERO, text).rule

    assert (rule == "no JSON object") == (not found)
    if found:
        assert rule == read_reply("boolean", ZERO, found[-1]).rule


def test_long_reply_of_braces() -> None:
    """A reply of a million opening braces is read at once: no expression goes back over it."""
    assert read_reply("boolean", ZERO, "{" * 1_000_000).rule == "no JSON object"


@pytest.mark.parametrize("depth", [100_000])
def test_deeply_nested_reply(depth: int) -> None:
    """A reply nested beyond what can be read is unparsable."""
    text = '{"answer": ' + "[" * depth + "]" * depth + "}"

    assert read_reply("multichoice", ZERO, text).rule == "not valid JSON"
