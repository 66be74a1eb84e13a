"""What is read off an ONNX file, against the library that knows the format."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from orinbench_engines import onnx_file
from orinbench_engines.onnx_file import NotOnnx, OnnxFile, narrower

_MESSAGES: dict[str, Any] = {
    "model": onnx.ModelProto,
    "graph": onnx.GraphProto,
    "function": onnx.FunctionProto,
    "node": onnx.NodeProto,
    "attribute": onnx.AttributeProto,
    "sparse": onnx.SparseTensorProto,
    "tensor": TensorProto,
    "entry": onnx.StringStringEntryProto,
}


def _tensor(kind: int, sizes: list[int], location: str = "") -> TensorProto:
    tensor = TensorProto(data_type=kind, dims=sizes, name="t")
    if location:
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in {"location": location, "offset": "0"}.items():
            tensor.external_data.add(key=key, value=value)
    return tensor


def _everywhere() -> onnx.ModelProto:
    """A model with tensors and operators in every place that may hold them."""
    inner = helper.make_graph([helper.make_node("MatMulNBits", ["a"], ["b"])], "inner", [], [])
    inner.initializer.append(_tensor(TensorProto.FLOAT16, [5, 7], "sub/b.data"))
    branches = helper.make_node("If", ["c"], ["d"], then_branch=inner, else_branch=inner)
    constant = helper.make_node("Constant", [], ["e"], value=_tensor(TensorProto.DOUBLE, []))
    graph = helper.make_graph([branches, constant], "outer", [], [], [_tensor(TensorProto.FLOAT, [2, 3], "a.data")])
    graph.initializer.extend([_tensor(TensorProto.INT64, [100]), _tensor(TensorProto.FLOAT8E4M3FN, [0])])
    sparse = onnx.SparseTensorProto(values=_tensor(TensorProto.BFLOAT16, [4]), indices=_tensor(TensorProto.INT64, [4]))
    graph.sparse_initializer.append(sparse)
    function = helper.make_function("own", "F", ["x"], ["y"], [helper.make_node("QLinearConv", ["x"], ["y"])], [])
    return helper.make_model(graph, functions=[function])


def _read(folder: Path, data: bytes) -> OnnxFile:
    path = folder / "graph"
    path.write_bytes(data)
    return OnnxFile(path)


def test_the_field_numbers_are_those_of_onnx() -> None:
    """Each message that is looked into stands where onnx.proto has it, and no place of a tensor is left out."""
    for kind, inside in onnx_file._INSIDE.items():
        fields = {field.number: field.message_type for field in _MESSAGES[kind].DESCRIPTOR.fields}
        wanted = {number: _MESSAGES[inner].DESCRIPTOR for number, inner in inside.items()}
        assert {number: fields[number] for number in wanted} == wanted
        tensors_in = {message.DESCRIPTOR for inner, message in _MESSAGES.items() if inner != "entry"}
        assert (
            kind == "model" or {number for number, message in fields.items() if message in tensors_in} <= wanted.keys()
        )
    # An older onnx does not know the newest types.
    known = onnx_file._FLOATING.keys() & set(TensorProto.DataType.values())
    assert len(known) > 6
    for number, name in ((number, onnx_file._FLOATING[number]) for number in known):
        theirs = TensorProto.DataType.Name(number).replace("DOUBLE", "FLOAT64").lower()
        assert theirs.removesuffix("32") == name.replace("_", "").removesuffix("32")


def test_everything_is_found_wherever_it_stands(tmp_path: Path) -> None:
    """Subgraphs, constants, sparse tensors and functions count as the main graph does."""
    found = _read(tmp_path, _everywhere().SerializeToString())

    assert found.quantising == {"MatMulNBits", "QLinearConv"}
    assert found.elements == {"float16": 70, "float32": 6, "bfloat16": 4, "float64": 1}
    assert found.locations == {"a.data", "sub/b.data"}


def test_data_files_get_other_names_and_nothing_else_changes(tmp_path: Path) -> None:
    """What onnx reads back is the model with the new names in it."""
    model = _everywhere()
    names = {"a.data": "x" * 300, "sub/b.data": "y"}
    renamed = onnx.load_from_string(_read(tmp_path, model.SerializeToString()).with_locations(names))

    assert renamed != model
    branches = [attribute.g for node in model.graph.node for attribute in node.attribute if attribute.HasField("g")]
    for graph in (model.graph, *branches):
        for tensor in graph.initializer:
            for entry in tensor.external_data:
                entry.value = names.get(entry.value, entry.value)

    assert renamed == model


@given(st.data())
def test_damaged_bytes_are_told_or_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A file cut short, overwritten or made up gives the one error, or is read: nothing else is ever raised."""
    whole = _everywhere().SerializeToString()
    cut = data.draw(st.integers(0, len(whole)))
    with suppress(NotOnnx):
        _read(tmp_path_factory.getbasetemp(), whole[:cut] + data.draw(st.binary(max_size=40)) + whole[cut + 1 :])
    with pytest.raises(NotOnnx):
        _read(tmp_path_factory.getbasetemp(), b"")


def test_only_a_wider_type_is_none_that_is_narrower() -> None:
    """Of two types of one width each is the other's loss."""
    pairs = [("float16", "float32"), ("bfloat16", "float16"), ("float8_e5m2", "bfloat16"), ("float4_e2m1", "float16")]

    assert all(narrower(kind, declared) for kind, declared in pairs)
    assert not any(narrower(kind, declared) for kind, declared in (("float32", "float16"), ("float64", "float32")))
    assert not narrower("float32", "float32")


@pytest.mark.parametrize(
    ("operators", "quantising"),
    [
        (["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "TRT_FP8QuantizeLinear", "Quant"], True),
        (["ConvInteger", "MatMulInteger", "MatMulIntegerToFloat", "QLinearConv", "QAttention", "QGemm", "QMoE"], True),
        (["MatMulNBits", "GatherBlockQuantized", "MatMulBnb4", "MatMulFpQ4", "QOrderedMatMul"], True),
        (["Conv", "MatMul", "Gemm", "Cast", "QuickGelu", "GroupQueryAttention", "LayerNormalization"], False),
    ],
)
def test_quantising_operators_are_known_by_their_names(tmp_path: Path, operators: list[str], quantising: bool) -> None:
    """Those of ONNX, of ONNX Runtime, of TensorRT and of the tools that train for them; and none of the others."""
    graph = helper.make_graph([helper.make_node(operator, ["a"], ["b"]) for operator in operators], "g", [], [])
    found = _read(tmp_path, helper.make_model(graph).SerializeToString())

    assert found.quantising == (set(operators) if quantising else set())
