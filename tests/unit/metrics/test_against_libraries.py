"""Our figures are those of sacreBLEU and scikit-learn, called directly, on samples of every kind of edge."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench_client.errors import BadInput
from orinbench_client.metrics.classes import class_columns, expected_macro_f1, macro_f1
from orinbench_client.metrics.overlap import (
    BLEU_COUNTS,
    CHRF_COUNTS,
    FloatArray,
    Tokenizer,
    _metrics,
    bleu,
    bleu_counts,
    chrf,
    chrf_counts,
    signatures,
)
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sklearn.metrics import f1_score

SENTENCES = st.lists(st.sampled_from(["a", "b", "the", "cat.", "سلام", "دنیا،", "می‌روم", "؟", "don't"]), max_size=8)
PAIRS = st.lists(st.tuples(SENTENCES.map(" ".join), SENTENCES.map(" ".join)), min_size=1, max_size=6)


def summed(counts: list[list[int]]) -> FloatArray:
    """The counts of a corpus as one replicate."""
    sums: FloatArray = np.array(counts, dtype=np.float64).sum(axis=0, keepdims=True).T
    return sums


@given(PAIRS, st.sampled_from(["13a", "intl"]))
def test_bleu_is_sacrebleus(pairs: list[tuple[str, str]], tokenizer: Tokenizer) -> None:
    """Summed counts give corpus_score's figure: empty sides, no match, too short for an order included."""
    hypotheses, references = map(list, zip(*pairs, strict=True))
    wanted = BLEU(tokenize=tokenizer, force=True).corpus_score(hypotheses, [references]).score
    found = bleu(summed([bleu_counts(one, other, tokenizer) for one, other in pairs]))[0]
    assert found == pytest.approx(wanted, abs=1e-9)


@given(PAIRS)
def test_chrf_is_sacrebleus(pairs: list[tuple[str, str]]) -> None:
    """Summed counts give corpus_score's chrF++."""
    hypotheses, references = map(list, zip(*pairs, strict=True))
    wanted = CHRF(word_order=2).corpus_score(hypotheses, [references]).score
    assert chrf(summed([chrf_counts(*pair) for pair in pairs]))[0] == pytest.approx(wanted, abs=1e-9)


def test_a_sentence_has_so_many_counts() -> None:
    """The numbers of counts are those the score files are laid out by."""
    assert (len(bleu_counts("a b", "a c", "13a")), len(chrf_counts("a b", "a c"))) == (BLEU_COUNTS, CHRF_COUNTS)


def test_signatures_name_tokeniser_and_version() -> None:
    """The signatures say by what the counts were made."""
    found = signatures("intl")
    assert "tok:intl" in found["bleu"]
    assert "nrefs:1" in found["bleu"]
    assert "nw:2" in found["chrf"]
    assert all("version:" in signature for signature in found.values())


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 5)), min_size=1, max_size=30))
def test_macro_f1_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    """The mean over the classes that occur, no answer (-1) lowering recall and making no class."""
    truth, predicted = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    wanted = f1_score(truth, predicted, labels=sorted(set(truth.tolist())), average="macro", zero_division=0)
    sums = [column.sum(keepdims=True).astype(np.float64) for column in class_columns(truth, predicted)]
    assert macro_f1(sums)[0] == pytest.approx(wanted, abs=1e-12)


def test_chance_of_balanced_classes_is_one_over_their_number() -> None:
    """Guessing among ten equal classes earns the 0.10 the paper names; a skewed set earns less."""
    assert expected_macro_f1([0.1] * 10, 10) == pytest.approx(0.1)
    assert expected_macro_f1([0.9, 0.1], 2) < 0.5


@given(st.permutations([0.1, 0.2, 0.3, 0.15, 0.05, 0.07, 0.03, 0.1]))
def test_chance_does_not_depend_on_the_order_of_classes(shares: list[float]) -> None:
    """The floor is the sum rounded once, whatever the order and the version of Python."""
    terms = (2 * share * (1 / 8) / (share + 1 / 8) for share in shares)
    assert expected_macro_f1(shares, 8) == float(sum(map(Fraction, terms), Fraction())) / 8


def test_without_the_library_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scoring a translation without the extra is refused by name, and nothing else needs it."""
    _metrics.cache_clear()
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    with pytest.raises(BadInput, match=r"needs sacrebleu: pip install 'orinbench\[qa\]'"):
        bleu_counts("a", "a", "13a")
