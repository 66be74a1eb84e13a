"""What is shown of a run, from its records alone."""

from __future__ import annotations

from io import StringIO

import pytest
from orinbench.v1.record_pb2 import (
    AXIS_ENERGY,
    AXIS_SPEED,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARNING,
    MEMORY_METHOD_NONE,
    MEMORY_METHOD_PROCESS_RSS,
    MEMORY_METHOD_TORCH_RESERVED,
    RUN_STATE_PREPARING,
    RUN_STATE_QUEUED,
    RUN_STATE_RUNNING,
    LogRecord,
    MemoryReading,
    ProgressRecord,
    RecordBody,
    SampleRecord,
    Segment,
    StateRecord,
    TelemetryRecord,
    Violation,
    ViolationRecord,
)
from orinbench.v1.telemetry_pb2 import Telemetry
from orinbench_client.cli.view import LineView, draw, status
from orinbench_client.errors import BadInput
from orinbench_client.follow.progress import Progress, headline_bytes
from orinbench_client.scoring.score import RunningScore
from orinbench_client.text import get_normalizer
from rich.cells import cell_len
from rich.console import Console


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def running(progress: Progress) -> None:
    """Let the run be running."""
    progress.take(RecordBody(state=StateRecord(state=RUN_STATE_RUNNING, segment=Segment(number=1))))


def sample(index: int, text: str = "سلام", rss: int | None = None) -> RecordBody:
    """A sample of half a second that took a tenth."""
    memory = MemoryReading(method=MEMORY_METHOD_PROCESS_RSS, peak_rss_bytes=rss)
    record = SampleRecord(
        index=index, sample_id=f"s{index}", text=text, window_ns=50_000_000, audio_seconds=0.5, memory=memory
    )
    return RecordBody(sample=record)


def test_nothing_is_invented() -> None:
    """Before the first sample there is no rate, no memory, no pace; nothing of it is shown as 0."""
    progress = Progress(4, None)
    running(progress)

    assert (progress.rtf, progress.memory_bytes, progress.eta_s) == (None, None, None)
    assert status(progress) == "running  0/4"


def test_figures() -> None:
    """RTF is window over audio, memory the highest peak, and the time left follows from the pace."""
    clock = Clock()
    progress = Progress(6, None, clock)
    running(progress)
    for index, rss in enumerate([300 << 20, 200 << 20]):
        progress.take(sample(index, rss=rss))
        clock.now += 2.0

    assert progress.rtf == pytest.approx(0.1)
    assert status(progress) == "running  2/6  ETA 16.0 s  RTF 0.1000  peak memory 300 MiB"


def test_what_was_kept_sets_no_pace() -> None:
    """Records from an earlier time count as done, and the pace is measured from what comes then."""
    clock = Clock()
    progress = Progress(4, None, clock)
    progress.take(sample(0))
    progress.take(sample(1))
    progress.restart_pace()

    assert progress.eta_s is None
    progress.take(sample(2))
    clock.now += 3.0
    assert progress.eta_s is None
    progress.take(sample(3))
    assert progress.eta_s == 0.0


def test_running_score() -> None:
    """The running CER is that of the samples so far, and stands in the line with its interval."""
    score = RunningScore({"s0": "سلام", "s1": "سلام"}, get_normalizer("fa-v1"))
    progress = Progress(2, score)
    running(progress)
    progress.take(sample(0))
    assert "CER 0.0 %  WER 0.0 %" in status(progress)
    progress.take(sample(1, "سلا"))
    assert "CER 12.5 % (" in status(progress)
    assert "WER 50.0 % (" in status(progress)


def test_unknown_sample_is_told() -> None:
    """A sample the suite does not have is an error, never a silent miss."""
    progress = Progress(1, RunningScore({}, get_normalizer("fa-v1")))

    with pytest.raises(BadInput, match="s0"):
        progress.take(sample(0))


def test_queue() -> None:
    """While a run waits, its place and the expected wait are shown if the daemon knows them."""
    progress = Progress(4, None)
    bookmark = ProgressRecord(state=RUN_STATE_QUEUED, queue_position=0, expected_wait_s=75.0)
    progress.take(RecordBody(progress=bookmark))

    assert status(progress) == "queued  0 ahead  expected wait 1:15"
    progress.take(RecordBody(progress=ProgressRecord(state=RUN_STATE_QUEUED)))
    assert status(progress) == "queued"


def test_segment_and_phase() -> None:
    """A second segment and the worker's phase are shown."""
    progress = Progress(4, None)
    progress.take(RecordBody(state=StateRecord(state=RUN_STATE_PREPARING, segment=Segment(number=2))))
    progress.take(RecordBody(progress=ProgressRecord(state=RUN_STATE_PREPARING, phase="WARMING_UP")))

    assert status(progress) == "preparing (warming up) segment 2  0/4"


def test_board_readings() -> None:
    """Power and the hottest temperature are shown where the board gives them, 0 W included."""
    progress = Progress(4, None)
    running(progress)
    reading = Telemetry(module_power_w=0.0, temperatures_c={"cpu": 41.0, "gpu": 44.5})
    progress.take(RecordBody(telemetry=TelemetryRecord(telemetry=reading)))

    assert "0.0 W  44 °C" in status(progress)


def test_notes() -> None:
    """Violations and warnings are for people at once, plain log lines are not."""
    progress = Progress(1, None)
    throttled = Violation(reason="THROTTLED", message="too hot", voids=[AXIS_SPEED, AXIS_ENERGY])
    violation = RecordBody(violation=ViolationRecord(violation=throttled))
    warning = RecordBody(log=LogRecord(level=LOG_LEVEL_WARNING, origin="worker", message="hot"))
    plain = RecordBody(log=LogRecord(level=LOG_LEVEL_INFO, origin="worker", message="hm"))

    assert [progress.take(body) for body in (violation, warning, plain)] == [
        "violation THROTTLED (voids speed, energy): too hot",
        "worker: hot",
        None,
    ]


def test_headline_follows_method() -> None:
    """The peak that counts is that of the method; one that was not read, or not measured, is None."""
    both = {"peak_reserved_bytes": 5, "peak_rss_bytes": 7}
    methods = (MEMORY_METHOD_TORCH_RESERVED, MEMORY_METHOD_PROCESS_RSS, MEMORY_METHOD_NONE)

    assert [headline_bytes(MemoryReading(method=method, **both)) for method in methods] == [5, 7, None]
    assert headline_bytes(MemoryReading(method=MEMORY_METHOD_TORCH_RESERVED, peak_rss_bytes=7)) is None


def test_lines_are_few(capsys: pytest.CaptureFixture[str]) -> None:
    """Away from a terminal a line comes at each change of state, else after 5 s, then ever more seldom."""
    clock = Clock()
    view = LineView(clock)
    progress = Progress(9, None, clock)
    view.update(progress)
    running(progress)
    for index in range(9):
        progress.take(sample(index))
        view.update(progress)
        clock.now += 2.0

    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[:2] for line in lines] == [
        ["queued"],
        ["running", "1/9"],
        ["running", "4/9"],
        ["running", "9/9"],
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_drawn_within_a_terminal(width: int) -> None:
    """On a terminal all that is known of a run is drawn in three lines, none of them too long."""
    clock = Clock()
    references = {f"s{index}": "سلام دنیا" for index in range(4)}
    progress = Progress(40, RunningScore(references, get_normalizer("fa-v1")), clock)
    running(progress)
    for index in range(4):
        progress.take(sample(index, "سلام دنی" if index % 2 else "سلام دنیا", rss=300 << 20))
        clock.now += 2.0
    reading = Telemetry(module_power_w=34.25, temperatures_c={"cpu-thermal": 51.0, "gpu-thermal": 49.0})
    progress.take(RecordBody(telemetry=TelemetryRecord(telemetry=reading)))
    console = Console(width=width, file=StringIO())
    with console.capture() as shown:
        console.print(draw(progress))
    lines = shown.get().splitlines()

    assert len(lines) == 3
    assert max(map(cell_len, lines)) <= width
    for part in ("running", "4/40", "ETA 1:36", "CER ", "WER 25.0 %", "RTF 0.1000", "300 MiB", "34.2 W", "51 °C"):
        assert part in shown.get()
