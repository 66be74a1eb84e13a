"""All scores of a bundle, of edits and of grades, as what wants one of them finds them."""

from __future__ import annotations

from pathlib import Path

from orinbench_client.bundles.files import parse_model, read_json
from orinbench_client.errors import BadInput
from orinbench_client.scoring.grade_store import GradeSummary
from orinbench_client.scoring.store import FOLDER, ScoreSummary

Summary = ScoreSummary | GradeSummary


def list_scores(bundle: Path) -> list[Summary]:
    """Return the summaries of all scores of a bundle, by name. Raises BadInput for a file that is none."""
    return [_read_summary(path) for path in sorted((bundle / FOLDER).glob("*.json"))]


def _read_summary(path: Path) -> Summary:
    value = read_json(path)
    graded = isinstance(value, dict) and value.get("schema") == GradeSummary.model_fields["schema_"].default
    where = str(path)
    summary: Summary = parse_model(GradeSummary, value, where) if graded else parse_model(ScoreSummary, value, where)
    if summary.name != path.stem:
        raise BadInput(f"{path}: holds the score {summary.name}: give the file its own name again")
    return summary
