"""What a run's recorder takes over from a daemon that died: over a real journal, without a board."""

from __future__ import annotations

import asyncio
from pathlib import Path

from orinbench.v1 import record_pb2 as pb
from orinbench.v1 import run_pb2
from orinbench.v1.telemetry_pb2 import Telemetry
from orinbench_profiles import load_hardware
from orinbenchd.journal.reader import Reader
from orinbenchd.journal.writer import Writer
from orinbenchd.runs.live import LiveRun
from orinbenchd.runs.recorder import Recorder
from orinbenchd.telemetry.hub import TelemetryHub

NS = 1_000_000_000
KINDS = {
    "telemetry": pb.RECORD_KIND_TELEMETRY,
    "sample": pb.RECORD_KIND_SAMPLE,
    "energy": pb.RECORD_KIND_ENERGY,
}


def reading(at_s: float) -> pb.RecordBody:
    at_ns = round(at_s * NS)
    telemetry = Telemetry(monotonic_ns=at_ns, module_power_w=20.0, power_monotonic_ns=at_ns)
    return pb.RecordBody(telemetry=pb.TelemetryRecord(telemetry=telemetry))


def sample(index: int, start_s: float) -> pb.RecordBody:
    start_ns = round(start_s * NS)
    made = pb.SampleRecord(
        index=index, sample_id=f"s{index}", segment=1, start_monotonic_ns=start_ns, window_ns=NS // 4
    )
    return pb.RecordBody(sample=made)


async def taken_over(folder: Path, history: list[pb.RecordBody]) -> tuple[list[pb.EnergyRecord], run_pb2.Run]:
    """Journal a history as a daemon that died left it, go on in a second segment; return all energies and the run."""
    writer, reader = (
        Writer(folder / "journal.sqlite", lambda _: None, lambda _: None),
        Reader(folder / "journal.sqlite"),
    )
    dead = LiveRun(writer, 1, run_pb2.Run(name="runs/a", planned_samples=2), lambda _: None)
    for record in history:
        kind = KINDS[record.WhichOneof("body")]
        await dead.log.append(
            kind, record.SerializeToString(), record.sample.index if record.HasField("sample") else None
        )
    live = LiveRun(writer, 1, run_pb2.Run(name="runs/a", planned_samples=2), lambda _: None)
    hub = TelemetryHub([], interval_s=0.5, module_power_rails=["GPU_BOARD"])
    recorder = Recorder(live, hub, load_hardware("cuda-dev").declaration)
    await reader.ask(lambda connection: live.log.load(connection, recorder.replay))
    live.run.segments.extend([pb.Segment(number=1), pb.Segment(number=2)])
    recorder.open()
    recorder.close()
    await live.log.flush()
    bodies = [pb.RecordBody.FromString(record.body) for record in await reader.page(1, 0)]
    await writer.close()
    await reader.close()
    return [made.energy for made in bodies if made.HasField("energy")], live.run


def test_an_energy_that_was_closed_and_not_written_is_written_by_the_next_daemon(tmp_path: Path) -> None:
    """The reading that closes a window is durable before the energy; a kill between them loses none, doubles none."""
    history = [reading(1.0), sample(0, 1.0), sample(1, 1.5), reading(1.5)]
    written = pb.RecordBody(energy=pb.EnergyRecord(index=0, sample_id="s0", segment=1, energy_j=5.0, coverage=1.0))

    for before in (history, [*history, written], [*history, written, reading(2.0)]):
        folder = tmp_path / str(len(before))
        folder.mkdir()
        energies, run = asyncio.run(taken_over(folder, before))

        assert [energy.index for energy in energies] == [0, 1]
        assert sum(energy.energy_j for energy in energies) == run.telemetry.energy_j
    assert [energy.energy_j for energy in energies] == [5.0, 5.0]
