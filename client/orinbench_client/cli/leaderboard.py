"""`orinbench leaderboard`: boards of all bundles in a results folder, written or checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orinbench_client.cli.common import JsonOption, TrustOption, print_json
from orinbench_client.cli.terminal import plain

ResultsOption = Annotated[Path, typer.Option("--results", metavar="DIR", help="Folder of bundles.")]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the boards are written.")]
SuiteOption = Annotated[str | None, typer.Option("--suite", metavar="ID", help="Only this suite.")]
NormalizerOption = Annotated[
    str | None, typer.Option("--normalizer", metavar="NAME", help="Rank by this score; the suite's own if not given.")
]
ScorerOption = Annotated[
    str | None, typer.Option("--scorer", metavar="NAME", help="The same where answers are graded.")
]
CheckOption = Annotated[bool, typer.Option("--check", help="Write nothing; fail if what is there differs.")]
GATE_NOT_MET = 1


def leaderboard(
    results: ResultsOption,
    out: OutOption,
    suite: SuiteOption = None,
    normalizer: NormalizerOption = None,
    scorer: ScorerOption = None,
    check: CheckOption = False,
    trust: TrustOption = None,
    trusted_only: Annotated[
        bool, typer.Option("--trusted-only", help="Rank only what a trusted board signed (official boards).")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make the leaderboards of a results folder.

    Each run is marked by its board's signature: trusted (orinbench trust), unknown, or invalid, which is never ranked.

    \b
    Examples:
      orinbench leaderboard --results results --out boards
      orinbench leaderboard --results results --out boards --check
      orinbench leaderboard --results results --out boards --trusted-only
    """
    from orinbench_client.boards.output import differing, make_files, write_files
    from orinbench_client.bundles.results import find_bundles, load_run
    from orinbench_client.bundles.trust import TrustList, trust_file
    from orinbench_client.cli.score import one_of

    by = one_of(normalizer, scorer) if normalizer or scorer else None
    trusted = TrustList(trust or trust_file())
    runs = [trusted.judge(load_run(path, by), trusted_only) for path in find_bundles(results, suite)]
    for run in runs:
        if run.facts.standing == "invalid":
            typer.echo(plain(f"{run.facts.run_id}: not ranked: {'; '.join(run.facts.causes)}"), err=True)
    files = make_files(runs)
    different = differing(out, files) if check else []
    if not check:
        write_files(out, files)
    if as_json:
        print_json({"out": str(out), "runs": len(runs), "files": sorted(files), "different": list(different)})
    elif not different:
        print(f"{out}: {len(files)} files" + (", all as the bundles give them" if check else ""))
    if different:
        typer.echo(f"{out}: not what the bundles give: {', '.join(different)}", err=True)
        raise typer.Exit(GATE_NOT_MET)
