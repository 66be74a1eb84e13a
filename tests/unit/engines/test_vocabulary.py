"""The tokenizer rule of wav2vec2 in NumPy and Python, against transformers' own."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from orinbench_engines.contract import Model
from orinbench_engines.failures import WorkerFailure
from orinbench_engines.features import read_rule
from orinbench_engines.vocabulary import TokenizerVocabulary
from orinbench_profiles import ModelDeclaration

with suppress(ImportError):  # the tests that need it skip
    import transformers

_TOKENS = ["<pad>", "<s>", "</s>", "<unk>", "|", "ا", "ب", "‌", "xy"]


def _model(folder: Path, **files: Any) -> Model:
    paths = {}
    for name, value in files.items():
        path = folder / f"{name}.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        paths[path.name] = path
    declaration = ModelDeclaration(id="m", title="", license="", engine="x", adapter="ctc", dtype="float32")
    return Model(declaration, paths, "cpu", folder)


def _vocabulary(folder: Path, **config: Any) -> TokenizerVocabulary:
    numbers = {token: number for number, token in enumerate(_TOKENS)}
    return TokenizerVocabulary(_model(folder, vocab=numbers, tokenizer_config=config), "vocab.json")


def test_repeats_collapse_and_the_blank_parts_them(tmp_path: Path) -> None:
    """Equal neighbours are one, the padding token is the blank, the delimiter a space, other special tokens stay."""
    vocabulary = _vocabulary(tmp_path, pad_token={"content": "<pad>"}, added_tokens_decoder={"9": {"content": "<x>"}})

    assert vocabulary.text(np.array([4, 5, 5, 0, 5, 4, 4, 6, 1, 9, 12, 4])) == "اا ب<s><x><unk>"
    assert vocabulary.text(np.array([], np.int64)) == ""
    assert list(vocabulary.classes) == [9, 10]


@pytest.mark.models
@pytest.mark.filterwarnings("ignore")
@settings(deadline=None, max_examples=50)
@given(best=st.lists(st.integers(0, len(_TOKENS) + 1), max_size=40), lower=st.booleans(), space=st.sampled_from(" _"))
def test_text_is_what_transformers_decodes(
    tmp_path_factory: pytest.TempPathFactory, best: list[int], lower: bool, space: str
) -> None:
    """For every sequence of classes, known or not, the text is that of Wav2Vec2CTCTokenizer by PESTE's rule."""
    folder = tmp_path_factory.getbasetemp() / f"vocabulary-{lower}-{space}"
    folder.mkdir(exist_ok=True)
    ours = _vocabulary(folder, do_lower_case=lower, replace_word_delimiter_char=space)
    theirs = transformers.Wav2Vec2CTCTokenizer(
        str(folder / "vocab.json"), do_lower_case=lower, replace_word_delimiter_char=space
    )
    expected = theirs.decode(best, group_tokens=True, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    assert ours.text(np.array(best, np.int64)) == expected


@pytest.mark.models
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("normalised", [True, False])
def test_features_are_those_of_transformers(tmp_path: Path, normalised: bool) -> None:
    """Loud, quiet and silent recordings come out bit by bit as from Wav2Vec2FeatureExtractor."""
    rule = read_rule(_model(tmp_path, preprocessor_config={"do_normalize": normalised, "sampling_rate": 16_000}))
    theirs = transformers.Wav2Vec2FeatureExtractor(do_normalize=normalised)
    noise = np.random.default_rng(1).normal(0, 1, 4000)
    for level in (0.3, 1e-5, 0):
        audio = (noise * level).astype(np.float32)
        expected = theirs(audio, sampling_rate=16_000, return_tensors="np").input_values
        assert np.array_equal(rule(audio)["input_values"], expected)
        assert rule(audio)["input_values"].dtype == np.float32


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no preprocessor is among its files"),
        ({"preprocessor_config": "{"}, "preprocessor_config.json: not JSON"),
        ({"preprocessor_config": {"sampling_rate": 8000}}, "the model wants 8000 Hz"),
        ({"processor_config": {"feature_extractor": {"feature_extractor_type": "W"}}}, "is known, not W with 1"),
        ({"preprocessor_config": {"feature_size": 80}}, "with 80 features"),
        ({"preprocessor_config": {"do_normalize": "maybe"}}, "preprocessor_config.json: do_normalize: "),
    ],
)
def test_another_preprocessor_is_refused(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    """A rule that is not known outside torch is refused by the name of its file, never guessed at."""
    with pytest.raises(WorkerFailure) as caught:
        read_rule(_model(tmp_path, **files))
    assert message in str(caught.value)


def test_a_vocabulary_without_its_blank_is_refused(tmp_path: Path) -> None:
    """Where the padding token is not in the vocabulary nothing could be the blank."""
    with pytest.raises(WorkerFailure, match=r"vocab.json: the padding token '\[PAD\]'"):
        _vocabulary(tmp_path, pad_token="[PAD]")
