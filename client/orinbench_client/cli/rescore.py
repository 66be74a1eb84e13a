"""`orinbench rescore`: a new named score beside the old ones."""

from __future__ import annotations

from typing import Annotated

import typer

from orinbench_client.cli.score import BundlesArgument, JsonOption, SuiteOption, score_all

NormalizerOption = Annotated[str, typer.Option("--normalizer", metavar="NAME", help="The normaliser, such as fa-v2.")]


def rescore(
    bundles: BundlesArgument, normalizer: NormalizerOption, suite: SuiteOption = None, as_json: JsonOption = False
) -> None:
    """Score bundles by another normaliser; no score is ever replaced.

    \b
    orinbench rescore results --normalizer fa-v2
    """
    score_all(bundles, suite, normalizer, as_json)
