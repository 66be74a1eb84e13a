"""What stands beside every score of Persian speech: where the error comes from, never a rank."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from orinbench_client.bundles.model import Counts, Sample
from orinbench_client.metrics import error_rate, word_edits
from orinbench_client.scoring.score import Score
from orinbench_client.text import get_normalizer
from orinbench_client.text.rules import ZWNJ

ZWNJ_JOIN = "fa-v1-zwnj-join"
#: Upper bounds of the duration buckets in seconds; what is longer is the last one.
BUCKETS_S = (5.0, 10.0, 15.0, 20.0, 30.0)
_DIGIT = re.compile("[0-9۰-۹٠-٩]")


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class _Join(_Stored):
    normalizer: str
    references_with_zwnj: int
    wer: float


class _Part(_Stored):
    samples: int
    wer: float | None = None
    cer: float | None = None

    @model_validator(mode="after")
    def _has_rates(self) -> _Part:
        if self.samples and None in (self.wer, self.cer):
            raise ValueError("a part with samples has a WER and a CER")
        return self


class _Bucket(_Part):
    over_s: float
    up_to_s: float | None = None


class _Digits(_Stored):
    with_: _Part = Field(alias="with")
    without: _Part


class _Diagnostics(_Stored):
    zwnj_join: _Join | None = None
    digits: _Digits | None = None
    durations: list[_Bucket] = []
    over_30_s: _Part | None = None


def check_diagnostics(value: dict[str, Any]) -> dict[str, Any]:
    """Return diagnostics that were read from a file if they are what `diagnose` makes. Raises ValueError."""
    try:
        _Diagnostics.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}") from None
    return value


def diagnose(samples: Sequence[Sample], references: Mapping[str, str], score: Score) -> dict[str, object]:
    """Return the diagnostics of a score.

    `zwnj_join`: WER with ZWNJ removed instead of made a space. `digits`: the part whose references hold digits, and
    the rest. `durations` and `over_30_s`: parts by audio length, left out where a length is not known. A part
    without samples has no rates.
    """
    raw = [references[sample.sample_id] for sample in samples]
    counts = score.counts()
    digits = [bool(_DIGIT.search(reference)) for reference in raw]
    return {
        "zwnj_join": {
            "normalizer": ZWNJ_JOIN,
            "references_with_zwnj": sum(chr(ZWNJ) in reference for reference in raw),
            "wer": _zwnj_join_wer(samples, raw),
        },
        "digits": {"with": _part(counts, digits), "without": _part(counts, [not flag for flag in digits])},
        **_by_duration([sample.audio_seconds for sample in samples], counts),
    }


def _zwnj_join_wer(samples: Sequence[Sample], references: Sequence[str]) -> float:
    normalize: Callable[[str], str] = get_normalizer(ZWNJ_JOIN).normalize
    edits = [
        word_edits(normalize(reference), normalize(sample.reply))
        for sample, reference in zip(samples, references, strict=True)
    ]
    return error_rate(sum(count.edits for count in edits), sum(count.units for count in edits))


def _by_duration(seconds: Sequence[float | None], counts: Counts) -> dict[str, object]:
    known = [second for second in seconds if second is not None]
    if len(known) < len(seconds):
        return {}
    edges = (0.0, *BUCKETS_S, float("inf"))
    buckets = []
    for low, high in itertools.pairwise(edges):
        bounds = {"over_s": low} if high == edges[-1] else {"over_s": low, "up_to_s": high}
        buckets.append({**bounds, **_part(counts, [low < second <= high for second in known])})
    return {"durations": buckets, "over_30_s": _part(counts, [second > 30.0 for second in known])}


def _part(counts: Counts, members: Sequence[bool]) -> dict[str, int | float]:
    mask = np.array(members, dtype=bool)
    samples = int(mask.sum())
    if not samples:
        return {"samples": 0}
    return {
        "samples": samples,
        "wer": error_rate(int(counts.word_edits[mask].sum()), int(counts.word_units[mask].sum())),
        "cer": error_rate(int(counts.character_edits[mask].sum()), int(counts.character_units[mask].sum())),
    }
