"""What a report gathers: marks, verdicts, figures, samples, and where references are lacking."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from orinbench.v1.record_pb2 import AXIS_ENERGY, AXIS_SPEED, RecordBody
from orinbench.v1.run_pb2 import Run
from orinbench_client.bundles.native import read_native
from orinbench_client.bundles.results import open_bundle
from orinbench_client.bundles.trust import TrustList
from orinbench_client.errors import BadInput
from orinbench_client.report.facts import Report, RunView
from orinbench_client.report.gather import gather
from orinbench_client.report.recorded import recorded
from orinbench_profiles import digest_file

from tests.unit.bundles.native_run import NativeRun
from tests.unit.bundles.peste_directory import CommandLine, PesteDirectory
from tests.unit.parse.parse_folder import write_answers, write_parse
from tests.unit.report.bundles import write_run


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder of results."""
    return tmp_path / "results"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line."""
    return CommandLine(capsys)


def report_on(results: Path) -> Report:
    """Gather, trusting nobody."""
    return gather(results, None, TrustList(results / "none.json"))


def view_of(results: Path, *runs: NativeRun, scored: bool = True) -> RunView:
    """Return the view of the first of some runs."""
    for run in runs:
        write_run(results, run, scored)
    return next(view for view in report_on(results).runs if view.run_id == runs[0].run_id)


def test_a_voided_axis_is_said_with_its_cause_and_the_others_count(results: Path) -> None:
    """A throttled run counts for accuracy and memory, not for speed and energy, and says why."""
    view = view_of(results, NativeRun(violations=[("THROTTLED", [AXIS_SPEED, AXIS_ENERGY])]))
    words = {verdict.axis: (verdict.mark.word, list(verdict.causes)) for verdict in view.verdict}

    assert words == {
        "accuracy": ("counts", []),
        "memory": ("counts", []),
        "speed": ("does not count", ["seen: THROTTLED"]),
        "energy": ("does not count", ["seen: THROTTLED"]),
    }


def test_a_reading_that_is_not_there_is_no_figure(results: Path) -> None:
    """A run without energy has no figure of energy, and its verdict says that there is no reading: never 0."""
    view = view_of(results, NativeRun(energy=False))

    assert view.verdict[3].mark.word == "no reading"
    assert not [fact for fact in view.headline if "nergy" in fact.name]
    assert {row[6] for row in view.samples.rows} == {None}


def test_figures_are_those_of_the_board(results: Path) -> None:
    """The figures and intervals of a run are those of the board it is ranked in."""
    view = view_of(results, NativeRun(), NativeRun(run_id="other", model_id="model-o", error_rate=0.6))
    row = next(row for row in report_on(results).boards[0].document["boards"]["accuracy"]["rows"] if row["rank"] == 1)
    cer = next(fact for fact in view.headline if fact.name == "CER")

    assert cer.value == f"{row['cer']:.4f}"
    assert cer.beside == f"95 %: {row['cer_ci'][0]:.4f} to {row['cer_ci'][1]:.4f}"


def test_a_failed_run_is_marked_and_has_no_score(results: Path) -> None:
    """A run that broke off is marked as failed and incomplete, is in no ranking, and shows what it did say."""
    view = view_of(results, NativeRun(failed=True), scored=False)

    assert [(mark.tone, mark.word) for mark in view.marks[:2]] == [("bad", "FAILED"), ("bad", "INCOMPLETE")]
    assert view.marks[1].why == "3 of 6 samples have a result"
    assert view.samples.kind == "texts"
    assert view.samples.note.startswith("No references: ")
    assert {row[1] for row in view.samples.rows} == {None}
    assert "hung: no progress for 60 s" in [cause for _, _, cause in report_on(results).boards[0].unranked]


class _Forged(NativeRun):
    def run(self) -> Run:
        """The run with a signature that its records do not bear."""
        run = super().run()
        run.signed_verdict, run.signature = b"verdict", b"signature"
        return run


@pytest.mark.parametrize(
    "others", [[], [NativeRun(run_id="other", suite_id="other", suite_digest="sha256:" + "9" * 64)]]
)
def test_a_forged_signature_is_marked_and_ranked_nowhere(results: Path, others: list[NativeRun]) -> None:
    """A run whose signature does not hold says so beside its name and counts on no axis, whatever lies beside it."""
    view = view_of(results, _Forged(), *others)

    assert [(mark.tone, mark.word) for mark in view.marks] == [("bad", "signature invalid")]
    assert {verdict.mark.word for verdict in view.verdict} == {"does not count"}


class _Doctored(NativeRun):
    def bodies(self) -> list[RecordBody]:
        """The records, the first of which says with what the run was made."""
        first, *others = super().bodies()
        first.state.environment.packages["torch"] = "2.9"
        return [first, *others]

    def run(self) -> Run:
        """The run with another environment and segments, as somebody could have written them into run.json."""
        run = super().run()
        run.environment.packages["torch"] = "9.9"
        run.segments.add(number=1, reason="doctored")
        run.failure.message = "doctored"
        return run


def test_surroundings_are_those_of_the_records(results: Path) -> None:
    """What the board signed is shown, not what run.json says beside it; what no record tells is said to be unsigned."""
    sections = {section.title: section.facts for section in view_of(results, _Doctored()).sections}
    (path,) = results.glob("*/*/run.json")
    found = recorded(*read_native(path.parent))
    signed = replace(open_bundle(path.parent).facts, key_id="sha256:" + "1" * 64)

    assert [tuple(fact) for fact in sections["Packages"]] == [("torch", "2.9", "")]
    assert [fact.value for fact in sections["Segments"]] == ["submitted, from sample 0"]
    assert [found.remark(field, signed) for field in ("environment", "failure")] == ["", " (not signed)"]
    assert found.remark("failure", replace(signed, key_id="")) == ""


@pytest.mark.parametrize("value", [None, "n/a", [1, 2], True, -1, 12.5, 10**400])
def test_a_number_of_bytes_that_is_none_is_shown_as_it_is(
    cli: CommandLine, tmp_path: Path, results: Path, value: object
) -> None:
    """Whatever an imported environment has under a name in bytes, the page is made, and says it."""
    directory = PesteDirectory(tmp_path / "peste", {"model-a": 0.1})
    directory.change_run("model-a", environment={"docker_memory_bytes": value})
    cli.ok("import", "peste", directory.path, "--out", results)
    (view,) = report_on(results).runs
    (section,) = (section for section in view.sections if section.title == "Environment")

    numbers: dict[object, str] = {-1: "-0.000 GiB", 12.5: "0.000 GiB"}
    words = ", ".join(map(str, value)) if isinstance(value, list) else numbers.get(value, str(value))
    assert [tuple(fact)[:2] for fact in section.facts] == [("docker memory", words)]


def test_a_score_of_other_samples_is_one_error(results: Path) -> None:
    """A score file that names a sample which the run does not have is refused by the bundle's name."""
    path = write_run(results, NativeRun())
    (lines,) = (path / "scores").glob("*.jsonl")
    lines.write_text(lines.read_text().replace(f'"{next(iter(NativeRun().references))}"', '"other"'))
    summary = lines.with_suffix(".json")
    summary.write_text(json.dumps({**json.loads(summary.read_text()), "lines_digest": digest_file(lines)}))

    with pytest.raises(BadInput, match=f"{path}: its score has a sample 'other'"):
        report_on(results)


def test_an_alignment_holds_both_texts(results: Path) -> None:
    """Of each sample the pieces give back the normalised reference and the normalised hypothesis, word for word."""
    run = NativeRun(error_rate=0.5)
    view = view_of(results, run)
    (lines,) = (results / run.suite_id / run.run_id / "scores").glob("*.jsonl")

    for row, text in zip(view.samples.rows, lines.read_text().splitlines(), strict=True):
        line = json.loads(text)
        said = [piece[-1] for piece in row[1] if piece[0] != "D"]
        assert " ".join(piece[1] for piece in row[1] if piece[0] != "I") == line["reference"]
        assert " ".join(said) == line["prediction"]
        assert row[3] == round(sum(line["characters"][:3]) / line["characters"][3], 4)


def test_graded_answers_stand_beside_the_right_ones(cli: CommandLine, tmp_path: Path, results: Path) -> None:
    """Of graded answers there is the score, and of each sample the right answer, the reply, the grade and the rule."""
    folder = write_parse(tmp_path / "own")
    write_answers(folder, changes={"boolean_multihop_simple_1": False})
    importing = ("import", "parse-answers", folder, "--strategy", "zero_shot", "--suite", folder, "--out", results)
    cli.ok(*importing)
    (view,) = report_on(results).runs
    samples = {row[0]: row for row in view.samples.rows}

    assert [fact.name for fact in view.headline[:2]] == ["Score", "Floor"]
    assert [fact.value for fact in view.headline[2:4]] == [str(len(samples) - 1), "1"]
    assert samples["boolean_multihop_simple_1"][2:7] == ["true", "false\n", "false", "wrong", "as stored"]
    assert samples["multichoice_multihop_single_1"][2].splitlines()[:3] == ["شیراز", "1. تهران", "2. شیراز"]
    assert view.samples.note == ""


def test_each_line_of_a_board_knows_its_run(cli: CommandLine, tmp_path: Path, results: Path) -> None:
    """Imported runs are marked as such, and every line with a model leads to that model's run."""
    directory = PesteDirectory(tmp_path / "peste")
    cli.ok("import", "peste", directory.path, "--out", results)
    (board,) = report_on(results).boards
    titles = [table.title for table in board.tables]

    assert "Accuracy" in titles
    assert not {"Signatures", "Not ranked"} & set(titles)
    for table, runs in zip(board.tables, board.lines, strict=True):
        if "Model" in table.columns:
            models = [cells[table.columns.index("Model")] for cells in table.cells]
            assert models == [run.model for run in runs if run]
    assert [mark.word for mark in report_on(results).runs[0].marks] == ["imported"]
