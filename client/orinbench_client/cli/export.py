"""`orinbench export`: bundles in another tool's layout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from orinbench_client.cli.common import JsonOption, print_json
from orinbench_client.cli.score import BundlesArgument, SuiteOption, bundle_paths, suite_for

FormatOption = Annotated[Literal["peste-1", "peste-2"], typer.Option("--format", help="The layout.")]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder that is not there yet.")]
SourceOption = Annotated[
    str | None, typer.Option("--source", metavar="DIGEST", help="Of several imports the one with these specifications.")
]


def export(
    bundles: BundlesArgument,
    out: OutOption,
    form: FormatOption = "peste-1",
    suite: SuiteOption = None,
    source: SourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export bundles in PESTE's layout; imported ones come out exactly as they came in.

    \b
    Examples:
      orinbench export results --format peste-1 --out peste
    """
    from orinbench_client.bundles.peste_export import export_peste
    from orinbench_client.bundles.peste_native import translate
    from orinbench_client.bundles.results import open_bundle
    from orinbench_client.errors import BadInput

    found = [open_bundle(path) for path in bundle_paths(bundles)]
    imported = [bundle for bundle in found if bundle.facts.origin != "orinbench"]
    native = []
    for bundle in found:
        if bundle.facts.origin == "orinbench":
            answers = suite_for(bundle, suite)
            if answers is None:
                raise BadInput(f"{bundle.path}: the right answers are not in it: name its suite with --suite")
            native.append(translate(bundle, answers, form))
    export_peste(imported, native, out, form, source)
    if as_json:
        print_json({"out": str(out), "format": form, "runs": len(found)})
    else:
        print(f"{out}: {len(found)} runs as {form}")
