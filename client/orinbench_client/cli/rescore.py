"""`orinbench rescore`: a new named score beside the old ones."""

from __future__ import annotations

from typing import Annotated

import typer

from orinbench_client.cli.common import JsonOption
from orinbench_client.cli.score import BundlesArgument, SuiteOption, one_of, score_all

NormalizerOption = Annotated[
    str | None, typer.Option("--normalizer", metavar="NAME", help="The normaliser, such as fa-v2.")
]
ScorerOption = Annotated[
    str | None, typer.Option("--scorer", metavar="NAME", help="The scorer, where answers are graded.")
]


def rescore(
    bundles: BundlesArgument,
    normalizer: NormalizerOption = None,
    scorer: ScorerOption = None,
    suite: SuiteOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score bundles anew by another normaliser or scorer.

    The old score stays beside the new one.

    \b
    Examples:
      orinbench rescore results --normalizer fa-v2
      orinbench rescore results --scorer parse-strict
    """
    score_all(bundles, suite, one_of(normalizer, scorer), as_json)
