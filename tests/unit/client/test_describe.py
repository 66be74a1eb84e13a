"""A checkpoint's folder becomes a declaration: which files, which type, which name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from orinbench_client.errors import BadInput
from orinbench_client.sdk.describe import describe_checkpoint


def safetensors(*dtypes: str) -> bytes:
    """The header of a file with one empty tensor of each type."""
    tensors = {f"t{i}": {"dtype": name, "shape": [0], "data_offsets": [0, 0]} for i, name in enumerate(dtypes)}
    header = json.dumps({"__metadata__": {"format": "pt"}, **tensors}).encode()
    return len(header).to_bytes(8, "little") + header


def test_what_belongs_to_a_checkpoint(tmp_path: Path) -> None:
    """Cards, other frameworks' copies, training state, hidden files, and pickles beside safetensors are left out."""
    wanted = ["config.json", "model.safetensors", "sub/vocab.txt"]
    others = ["README.md", "flax_model.msgpack", "pytorch_model.bin", "training_args.bin", "optimizer.pt"]
    for name in [*wanted, *others, ".git/config", ".gitattributes"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(safetensors("BF16", "F32", "BF16", "I64", "I64", "I64"))
    found = describe_checkpoint(tmp_path, "mine")
    assert [file.path for file in found.files] == wanted
    assert sorted(found.left_out) == sorted(others)
    assert found.dtype() == "bfloat16"


def test_pickles_stay_where_there_is_nothing_else(tmp_path: Path) -> None:
    """An old checkpoint keeps its weights, and its type must be named."""
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    found = describe_checkpoint(tmp_path, "old")
    assert [file.path for file in found.files] == ["pytorch_model.bin"]
    with pytest.raises(BadInput, match="--dtype"):
        found.dtype()


@pytest.mark.parametrize(
    "data", [b"", b"\xff" * 8, (9).to_bytes(8, "little") + b"{", (2).to_bytes(8, "little") + b"[]"]
)
def test_a_damaged_header(data: bytes, tmp_path: Path) -> None:
    """A file that only bears the name of safetensors is named."""
    (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(BadInput, match=r"model.safetensors: its header is not that of a safetensors file"):
        describe_checkpoint(tmp_path, "mine").dtype()


def test_a_name_that_is_none(tmp_path: Path) -> None:
    """Where the folder's name gives no id, one must be given."""
    (tmp_path / "سلام").mkdir()
    with pytest.raises(BadInput, match=r"give one of .* with --id"):
        describe_checkpoint(tmp_path / "سلام", None)
    with pytest.raises(BadInput, match="holds no file of a checkpoint"):
        describe_checkpoint(tmp_path / "سلام", "empty")
    with pytest.raises(BadInput, match="not a folder"):
        describe_checkpoint(tmp_path / "nothing", None)
