"""The grammar of gates: what is meant is what is read, and everything else is refused in one line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from orinbench_client.ci.gates import Regression, Threshold, load_gates, parse_gate
from orinbench_client.ci.metrics import METRICS
from orinbench_client.errors import BadInput

_WORD = st.from_regex(r"[A-Za-z0-9_+.-]+", fullmatch=True)
_VALUE = st.one_of(_WORD, st.from_regex(r'[^"\\\n]+', fullmatch=True))
_BOUND = st.floats(0, 1e90).map(lambda value: float(f"{value:.15g}"))
_OPERATOR = st.sampled_from(["<=", "<", ">=", ">"])
_LABELS = st.dictionaries(_WORD, _VALUE, min_size=1, max_size=4).map(lambda labels: tuple(labels.items()))
_THRESHOLDS = st.one_of(
    st.builds(Threshold, st.sampled_from(sorted(METRICS)), _OPERATOR, _BOUND),
    st.builds(Threshold, _WORD.filter(lambda word: word != "regression"), _OPERATOR, _BOUND, _LABELS),
)
_GATES = st.one_of(_THRESHOLDS, st.builds(Regression, st.sampled_from([None, "cer", "wer", "score"])))


@given(_GATES)
def test_a_gate_is_read_as_it_is_written(gate: Threshold | Regression) -> None:
    """Whatever gate there can be, its text is read as that gate, with room around it or not."""
    assert parse_gate(str(gate)) == gate
    assert parse_gate(f"  {gate}\t") == gate


@given(st.text(max_size=60))
@example("cer <= nan")
@example("cer <= -1")
@example("cer == 0.1")
@example("cer <= 0,1")
@example("cer <= 1 and wer <= 1")
@example("cer <= ٠")
@example("score[] >= 1")
@example("score[a=1,a=2] >= 1")
@example(f"cer <= {'9' * 400}")
def test_text_is_a_gate_or_refused(text: str) -> None:
    """Any other text ends in one line of BadInput; what is read says the same again when it is written."""
    try:
        gate = parse_gate(text)
    except BadInput as error:
        assert "\n" not in str(error)
        return
    assert parse_gate(str(gate)) == gate
    if isinstance(gate, Threshold):
        assert math.isfinite(gate.bound)
        assert gate.bound >= 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cerr <= 0.1", "did you mean 'cer'"),
        ("cer <= nan", "not of the form"),
        ("cer <= -1", "not of the form"),
        ("cer == 0.1", "not of the form"),
        ("cer <= 6.5%", "not of the form"),
        ("score[a=1,a=2] >= 1", "names an axis twice"),
        ("regression rtf", "a regression is of cer, wer, score"),
        (f"cer <= {'9' * 400}", "no finite number"),
        ("", "not of the form"),
    ],
)
def test_a_refusal_says_what_is_wrong(text: str, said: str) -> None:
    """The line names the gate's fault."""
    with pytest.raises(BadInput, match=said.replace("(", r"\(")):
        parse_gate(text)


@given(_BOUND, st.sampled_from([-1.0, 0.0, 1.0]))
def test_the_bound_itself_is_in_or_out(bound: float, side: float) -> None:
    """A figure below, at and above the bound: each operator lets through what it says, the bound only with ``=``."""
    value = math.nextafter(bound, math.inf * side) if side else bound
    met = {word: Threshold("cer", word, bound).holds(value) for word in ("<=", "<", ">=", ">")}

    assert met == {"<=": side <= 0, "<": side < 0, ">=": side >= 0, ">": side > 0}


def test_a_file_has_gates_for_all_for_a_suite_and_for_a_model(tmp_path: Path) -> None:
    """A run has the gates of everybody, of its suite and of its model, each once; a section of nobody is told."""
    file = tmp_path / "gates.toml"
    file.write_text(
        'gates = ["rtf <= 0.5"]\n[suites.s]\ngates = ["cer <= 0.1", "rtf <= 0.5"]\n'
        '[models.m]\ngates = ["peak_reserved_gib <= 1.9"]\n[models.other]\ngates = ["wer <= 0.2"]\n'
    )
    gates = load_gates(file, ["regression"])

    assert [str(gate) for gate in gates.of("s", "m")] == [
        "rtf <= 0.5",
        "regression",
        "cer <= 0.1",
        "peak_reserved_gib <= 1.9",
    ]
    assert [str(gate) for gate in gates.of("t", "n")] == ["rtf <= 0.5", "regression"]
    assert gates.unused([("s", "m"), ("t", "n")]) == ["models.other"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gate = []", "unknown key 'gate': did you mean 'gates'"),
        ("gates = 'cer <= 1'", "gates: must be a list of gates"),
        ("gates = [1]", "gates: must be a list of gates"),
        ("gates = ['cer < x']", "gates: gate 'cer < x'"),
        ("[suites]\na = 1", "suites.a: must be a table"),
        ("[suites.a]\ngates = []", "suites.a: holds no gate"),
        ("[models.a]\nmax = 1", "unknown key 'models.a.max'"),
        ("gates = [", "not valid TOML"),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """The line names the file, the key and what is wrong there."""
    file = tmp_path / "gates.toml"
    file.write_text(text)

    with pytest.raises(BadInput) as caught:
        load_gates(file, [])
    assert str(caught.value).startswith(f"{file}: ")
    assert said in str(caught.value)
