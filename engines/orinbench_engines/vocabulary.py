"""From the best class of each frame to text, by the CTC rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import groupby
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from orinbench_engines.contract import Model
from orinbench_engines.failures import model_failure
from orinbench_engines.validation import first_problem

Best = np.ndarray[tuple[int], np.dtype[np.int64]]


def _content(token: object) -> object:
    return token["content"] if isinstance(token, dict) and "content" in token else token


# Written as text, or with its properties beside it.
_Token = Annotated[str, BeforeValidator(_content)]


class Vocabulary(ABC):
    """The text of each class of a CTC model's output.

    `classes` are the numbers of classes that an output may have for it.
    """

    classes: range

    @abstractmethod
    def text(self, best: Best) -> str:
        """Collapse repeats, drop blanks, join the rest."""


class _Listed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    blank: Annotated[int, Field(ge=0)]
    tokens: Annotated[list[str], Field(min_length=2)]


class ListedVocabulary(Vocabulary):
    """Our own form: a list of the classes' texts, and which of them is the blank."""

    def __init__(self, model: Model, name: str) -> None:
        listed = _validated(name, TypeAdapter(_Listed), model.files[name].read_bytes())
        count = len(listed.tokens)
        self.classes = range(count, count + 1)
        if listed.blank >= count:
            raise model_failure("VOCABULARY_INVALID", f"{name}: blank is {listed.blank} of {count} tokens")
        self._listed = listed

    def text(self, best: Best) -> str:
        """Return the text, nothing trimmed."""
        kept = best != self._listed.blank
        kept[1:] &= best[1:] != best[:-1]
        return "".join(map(self._listed.tokens.__getitem__, best[kept].tolist()))


class _Tokenizer(BaseModel):
    """What of a tokenizer_config.json bears on decoding; the defaults are those of Wav2Vec2CTCTokenizer."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    pad_token: _Token = "<pad>"  # noqa: S105
    unk_token: _Token = "<unk>"  # noqa: S105
    word_delimiter_token: _Token | None = "|"  # noqa: S105
    replace_word_delimiter_char: str = " "
    do_lower_case: bool = False
    added_tokens_decoder: dict[int, _Token] = {}


class TokenizerVocabulary(Vocabulary):
    """The files of a Wav2Vec2CTCTokenizer: vocab.json and, where it is there, tokenizer_config.json.

    Decodes as that class does: equal neighbours collapse, the padding token is the blank, other special tokens
    stay, the word delimiter becomes a space, the ends are trimmed.
    """

    def __init__(self, model: Model, name: str) -> None:
        numbers = _validated(name, TypeAdapter(dict[str, int]), model.files[name].read_bytes())
        beside = name.removesuffix("vocab.json") + "tokenizer_config.json"
        config = model.files[beside].read_bytes() if beside in model.files else b"{}"
        self._config = _validated(beside, TypeAdapter(_Tokenizer), config)
        self._tokens = self._config.added_tokens_decoder | {number: token for token, number in numbers.items()}
        # A tokenizer adds <s> and </s> behind the last letter where vocab.json has none: no class need be theirs.
        self.classes = range(max(numbers.values(), default=0) + 1, max(self._tokens, default=0) + 2)
        if self._config.pad_token not in self._tokens.values():
            problem = f"{name}: the padding token {self._config.pad_token!r}, which is the blank, is not in it"
            raise model_failure("VOCABULARY_INVALID", problem)

    def text(self, best: Best) -> str:
        """Return the text as Wav2Vec2CTCTokenizer.decode does with skip_special_tokens False and no clean-up."""
        config = self._config
        tokens = (token for token, _ in groupby(self._tokens.get(number, config.unk_token) for number in best.tolist()))
        spoken = (token for token in tokens if token != config.pad_token)
        space = config.replace_word_delimiter_char
        text = "".join(space if token == config.word_delimiter_token else token for token in spoken).strip()
        return text.lower() if config.do_lower_case else text


def _validated(name: str, schema: TypeAdapter[Any], data: bytes) -> Any:
    try:
        return schema.validate_json(data)
    except ValidationError as error:
        raise model_failure("VOCABULARY_INVALID", f"{name}: {first_problem(error)}") from None
