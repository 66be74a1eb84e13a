"""Names that would be paths, and links that lead out: nothing beyond the data folder is ever touched."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from orinbench.v1 import artifact_pb2, run_pb2

from tests.integration.harness import Daemon, Wire, reason_of

OUTSIDE = "secret"
NAMES = (
    "../../secret",
    "sha256:../../secret",
    "sha256:" + "../" * 20 + "secret",
    "sha256:" + "0" * 63,
    "sha256:" + "0" * 64 + "\n",
    "sha256:" + "A" * 64,
    "sha256:" + "٠" * 64,
    "/etc/passwd",
    "a\0b",
    "",
)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content, the journal and the log apart."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "journal" not in path.name and path.name != "log"
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_never_a_path(wire: Wire, folder: Path, name: str) -> None:
    """Each call that takes a digest or a run refuses what is none; no file is read, made or removed by it."""
    (folder / OUTSIDE).write_text("not yours")
    before = tree(folder)
    header = artifact_pb2.PutArtifactHeader(digest=name, size_bytes=3)
    upload = [artifact_pb2.PutArtifactRequest(header=header), artifact_pb2.PutArtifactRequest(chunk=b"abc")]
    for call in (
        lambda: wire.artifacts.HasArtifacts(artifact_pb2.HasArtifactsRequest(digests=[name])),
        lambda: wire.artifacts.DeleteArtifact(artifact_pb2.DeleteArtifactRequest(digest=name)),
        lambda: wire.artifacts.PutArtifact(iter(upload)),
        lambda: wire.runs.GetRun(run_pb2.GetRunRequest(name=name)),
        lambda: wire.runs.CancelRun(run_pb2.CancelRunRequest(name=name)),
        lambda: list(wire.runs.WatchRun(run_pb2.WatchRunRequest(name=name))),
        lambda: wire.create(run_pb2.RunPlan(suite_id=name, model_digest=name), name),
    ):
        with pytest.raises(grpc.RpcError) as error:
            call()
        assert reason_of(error.value)[1] in ("FIELD_INVALID", "RUN_NOT_FOUND")

    assert tree(folder) == before


def test_a_link_in_what_is_cleared_leads_nowhere(daemon: Daemon, folder: Path) -> None:
    """What a worker left is removed at the next start; what it linked to stays."""
    daemon.stop()
    (folder / "mine").mkdir()
    (folder / "mine" / "kept").write_text("kept")
    left = folder / "data" / "worker-left"
    left.mkdir()
    (left / "out").symlink_to(folder / "mine")
    (folder / "data" / "worker-link").symlink_to(folder / "mine")
    daemon.start()

    assert not left.exists()
    assert (folder / "mine" / "kept").read_text() == "kept"
