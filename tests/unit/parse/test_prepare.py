"""Getting upstream's files: from a server over HTTP, or from a copy; never with a file that is not the pinned one."""

from __future__ import annotations

import functools
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from orinbench_client.errors import BadInput
from orinbench_client.parse.layout import blob_id, layout_files
from orinbench_client.parse.prepare import prepare
from orinbench_client.suites import find_suite, verify_suite
from orinbench_profiles import GithubSource, Loaded, SuiteDeclaration

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEST_FILE = "dataset/test.json"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A server of what lies in ``served``, laid out as raw.githubusercontent.com lays it out."""
    handler = functools.partial(_Quiet, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


@pytest.fixture
def loaded(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Loaded[SuiteDeclaration]:
    """A suite whose files, pinned, are said to be in a repository."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    found = find_suite(str(folder))
    blobs = {name: blob_id((folder / name).read_bytes()) for name in layout_files()}
    source = GithubSource(kind="github", repository="somebody/Own", revision=COMMIT)
    settings = {**found.declaration.settings, "blobs": blobs}
    declaration = found.declaration.model_copy(update={"source": source, "settings": settings})
    return replace(found, declaration=declaration, folder=None)


def _serve(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "served" / "somebody" / "Own" / COMMIT))


def test_fetched(loaded: Loaded[SuiteDeclaration], folder: Path, tmp_path: Path, server: str) -> None:
    """Every file is fetched at the pinned commit, once; then the suite opens without the server."""
    served = _serve(folder, tmp_path)
    with pytest.raises(BadInput, match="not prepared here: orinbench prepare --suite parse-own"):
        verify_suite(loaded)
    prepared = prepare(loaded, raw=server)
    shutil.rmtree(served)

    assert prepared == prepare(loaded, raw=server)
    assert sorted(layout_files()) == sorted(str(p.relative_to(prepared)) for p in prepared.rglob("*") if p.is_file())
    assert len(verify_suite(loaded).samples) == 54


def test_wrong_or_missing_file_leaves_nothing(
    loaded: Loaded[SuiteDeclaration], folder: Path, tmp_path: Path, server: str
) -> None:
    """A file that is not the pinned one, or is not there, ends it with one error and nothing half-written."""
    served = _serve(folder, tmp_path)
    (served / TEST_FILE).write_text("{}")
    with pytest.raises(BadInput, match=f"{TEST_FILE}: its git blob id is"):
        prepare(loaded, raw=server)
    (served / TEST_FILE).unlink()
    with pytest.raises(BadInput, match=f"{TEST_FILE}: cannot be fetched: .*404.*--source DIR"):
        prepare(loaded, raw=server)

    assert list((tmp_path / "home" / "orinbench" / "suites").iterdir()) == []


def test_copy(loaded: Loaded[SuiteDeclaration], folder: Path, tmp_path: Path) -> None:
    """A copy does as well; one that was changed is refused even if the suite was prepared before, and says where."""
    prepared = prepare(loaded, folder)
    assert (prepared / TEST_FILE).read_bytes() == (folder / TEST_FILE).read_bytes()
    text = (folder / TEST_FILE).read_text()
    (folder / TEST_FILE).write_text(text.replace('"difficulty": "Easy"', '"difficulty": "Odd"', 1))

    with pytest.raises(BadInput, match=f"{TEST_FILE}: line 5: difficulty 'Odd' is none of"):
        prepare(loaded, folder)


def test_prepared_files_are_verified_each_time(loaded: Loaded[SuiteDeclaration], folder: Path) -> None:
    """What was prepared and changed afterwards is noticed before a run."""
    prepared = prepare(loaded, folder)
    (prepared / TEST_FILE).write_text((folder / TEST_FILE).read_text() + "\n")

    with pytest.raises(BadInput, match=f"{TEST_FILE}: its git blob id is"):
        verify_suite(loaded)
