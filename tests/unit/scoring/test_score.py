"""Scores of texts, running scores, and the files that keep them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_cases.synthetic import make_references, make_samples
from hypothesis import given, settings
from hypothesis import strategies as st
from orinbench_client.bundles.model import Sample
from orinbench_client.bundles.peste_terms import prediction_lines
from orinbench_client.errors import BadInput
from orinbench_client.scoring.catalogue import list_scores
from orinbench_client.scoring.diagnostics import diagnose
from orinbench_client.scoring.score import RunningScore, score_samples
from orinbench_client.scoring.store import ScoredTexts, read_counts, write_score
from orinbench_client.statistics import Replicates, percentile_interval
from orinbench_client.text import get_normalizer
from orinbench_profiles import digest_file

FA_V1 = get_normalizer("fa-v1")
TEXTS = ScoredTexts("suite", "sha256:" + "1" * 64, "sha256:" + "2" * 64, "fa-v1")


def test_corpus_rates() -> None:
    """Rates are sums of edits over sums of units: an empty text is all deletions, and a rate may exceed 1."""
    references = {"a": "یک دو سه چهار", "b": "پنج"}
    score = score_samples([Sample("a", ""), Sample("b", "پنج شش هفت هشت نه ده")], references, FA_V1)
    counts = score.counts()

    assert score.lines[0].words == (0, 4, 0, 4)
    assert score.lines[1].words == (0, 0, 5, 1)
    assert counts.wer == 9 / 5
    assert counts.cer > 1


@pytest.mark.parametrize(
    ("samples", "references", "expected"),
    [
        ([Sample("a", "x")], {"a": "x", "b": "y"}, "incomplete: 1 of 2 samples have no result, the first b"),
        ([Sample("a", "x"), Sample("c", "x")], {"a": "x"}, "sample c: the suite has no reference"),
        ([Sample("a", "x")] * 3, {"a": "x"}, "sample a has 3 results: each may have one"),
        ([Sample("a", "x")], {"a": "…!"}, "sample a: its reference is empty after fa-v1"),
    ],
)
def test_what_cannot_be_scored(samples: list[Sample], references: dict[str, str], expected: str) -> None:
    """A missing or repeated result, a missing reference and an empty reference are errors that name the sample."""
    with pytest.raises(BadInput, match=expected):
        score_samples(samples, references, FA_V1)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.floats(0, 0.9))
def test_running_score_ends_at_the_score(samples: int, error_rate: float) -> None:
    """After the last sample the running rates are exactly the corpus rates."""
    references = make_references(samples)
    said = make_samples(references, error_rate)
    running = RunningScore(references, FA_V1)
    for sample in said:
        running.add(sample.sample_id, sample.text)
    counts = score_samples(said, references, FA_V1).counts()

    assert running.samples == samples
    assert running.wer is not None
    assert running.cer is not None
    assert (running.wer.value, running.cer.value) == (counts.wer, counts.cer)
    assert (running.cer.interval is None) == (samples == 1)


def test_running_interval_is_near_the_bootstrap() -> None:
    """With a few hundred samples the cheap interval is within a tenth of its width of the bootstrap's."""
    references = make_references(400)
    running = RunningScore(references, FA_V1)
    said = make_samples(references, 0.3)
    for sample in said:
        running.add(sample.sample_id, sample.text)
    counts = score_samples(said, references, FA_V1).counts()
    replicates = Replicates([counts.word_edits, counts.word_units])
    bootstrap = percentile_interval(replicates.rates(counts.word_edits, counts.word_units))

    assert running.wer is not None
    assert running.wer.interval is not None
    width = bootstrap.hi - bootstrap.lo
    assert running.wer.interval == pytest.approx(bootstrap, abs=width / 10)


def test_running_score_before_the_first_sample() -> None:
    """With nothing added there is no rate: not zero."""
    running = RunningScore({"a": "x"}, FA_V1)

    assert running.wer is None
    assert running.cer is None


def test_diagnostics_divide_the_samples() -> None:
    """Parts by digits and by length are disjoint, complete, and have the rates of their samples alone."""
    references = {"a": "سال ۱۹۶۷ بود", "b": "می\u200cرود به خانه", "c": "او رفت"}
    samples = [Sample("a", "سال بود", 4.0), Sample("b", "میرود به خانه", 5.0), Sample("c", "او رفت", 31.0)]
    found = diagnose(samples, references, score_samples(samples, references, FA_V1))

    assert found["zwnj_join"] == {"normalizer": "fa-v1-zwnj-join", "references_with_zwnj": 1, "wer": 1 / 8}
    assert found["digits"]["with"] == {"samples": 1, "wer": 1 / 3, "cer": 4 / 10}  # type: ignore[index]
    assert found["digits"]["without"]["samples"] == 2  # type: ignore[index]
    assert [part["samples"] for part in found["durations"]] == [2, 0, 0, 0, 0, 1]  # type: ignore[attr-defined]
    assert found["over_30_s"] == {"samples": 1, "wer": 0.0, "cer": 0.0}


def test_thoughts_count_nowhere() -> None:
    """What a thinking model thought is neither scored, nor in a diagnostic, nor exported beside its score."""
    samples = [Sample("a", "<think>یک متن دیگر</think>سلام دنیا", 1.0, "سلام دنیا")]
    references = {"a": "سلام دنیا"}
    score = score_samples(samples, references, FA_V1)
    join: Any = diagnose(samples, references, score)["zwnj_join"]
    (line,) = prediction_lines(samples, references, score)

    assert (score.counts().wer, join["wer"]) == (0.0, 0.0)
    assert FA_V1.normalize(line["prediction"]) == line["normalized_prediction"] == "سلام دنیا"


def test_unknown_lengths_give_no_buckets() -> None:
    """Where a length is not known there are no duration parts: not zero-length samples."""
    found = diagnose([Sample("a", "x")], {"a": "x"}, score_samples([Sample("a", "x")], {"a": "x"}, FA_V1))

    assert "durations" not in found
    assert "over_30_s" not in found


def test_score_files(tmp_path: Path) -> None:
    """A score is read back as it was written; the same again is no error; other content under the name is."""
    references = make_references(5)
    score = score_samples(make_samples(references, 0.4), references, FA_V1)
    summary = write_score(tmp_path, TEXTS, score, {})
    path = tmp_path / "scores" / f"{summary.name}.json"
    before = path.read_bytes()

    assert [summary] == list_scores(tmp_path)
    assert np.array_equal(score.counts().words, read_counts(tmp_path, summary).words)
    assert summary == write_score(tmp_path, TEXTS, score, {})
    other = score_samples(make_samples(references, 0.9), references, FA_V1)
    with pytest.raises(BadInput, match="there with other content"):
        write_score(tmp_path, TEXTS, other, {})
    assert before == path.read_bytes()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"normalizer": {}}, "normalizer: Value error, must have a name and a digest"),
        ({"words": {"units": 1}}, "words: Dictionary should have at least 4 items"),
        ({"diagnostics": {"digits": {"with": {"samples": 1}}}}, "diagnostics: Value error, digits.with: "),
        ({"diagnostics": {"zwnj_join": 3}}, "diagnostics: Value error, zwnj_join: "),
        ({"diagnostics": {"other": 3}}, "diagnostics: Value error, other: "),
    ],
)
def test_doctored_summary(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    """A summary that lacks what every score has is an error that names the file and the field."""
    references = make_references(5)
    samples = make_samples(references, 0.4)
    score = score_samples(samples, references, FA_V1)
    summary = write_score(tmp_path, TEXTS, score, diagnose(samples, references, score))
    assert [summary] == list_scores(tmp_path)
    path = tmp_path / "scores" / f"{summary.name}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    with pytest.raises(BadInput, match=re.escape(f"{path}: {problem}")):
        list_scores(tmp_path)


@pytest.mark.parametrize(
    "changes", [{"words": [0, 0, 0]}, {"words": [0, 0, 0, 0]}, {"words": ["a"] * 4}, {"reference": 1}]
)
def test_doctored_lines(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Lines that no score has, under a digest that fits them, are an error that names file and line."""
    references = make_references(5)
    summary = write_score(tmp_path, TEXTS, score_samples(make_samples(references, 0.4), references, FA_V1), {})
    path = tmp_path / "scores" / f"{summary.name}.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), **changes}), *others]) + "\n")

    with pytest.raises(BadInput, match="line 1: not a line of a score"):
        read_counts(tmp_path, summary.model_copy(update={"lines_digest": digest_file(path)}))


def test_name_binds_suite_normaliser_and_scorer(tmp_path: Path) -> None:
    """Another suite digest or another normaliser is another name beside the first."""
    references = make_references(3)
    said = make_samples(references, 0.4)
    names = set()
    for digest in ("1", "2"):
        for name in ("fa-v1", "fa-v2"):
            texts = ScoredTexts("suite", "sha256:" + digest * 64, "sha256:" + "2" * 64, "fa-v1")
            score = score_samples(said, references, get_normalizer(name))
            names.add(write_score(tmp_path, texts, score, {}).name)

    assert len(names) == 4
    assert len(list((tmp_path / "scores").iterdir())) == 8


def test_summary_names_what_it_was_made_by(tmp_path: Path) -> None:
    """The summary names normaliser, Unicode table, scorer, suite and texts by their digests."""
    score = score_samples([Sample("a", "x")], {"a": "x"}, FA_V1)
    summary = write_score(tmp_path, TEXTS, score, {})
    content = json.loads((tmp_path / "scores" / f"{summary.name}.json").read_text())

    assert content["normalizer"] == {"name": "fa-v1", "digest": FA_V1.digest, "unicode": "18.0.0"}
    assert content["scorer"]["name"] == "asr-edits-1"
    assert (content["suite_digest"], content["texts_digest"]) == (TEXTS.suite_digest, TEXTS.texts_digest)
