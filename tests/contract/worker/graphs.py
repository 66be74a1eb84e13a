"""Tiny ONNX graphs whose output can be worked out by hand, and the sounds for them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import soundfile
from onnx import TensorProto, helper, numpy_helper
from orinbench_profiles import canonical_json

# Blank, then a for a positive level and b for a negative one.
VOCABULARY = canonical_json({"blank": 0, "tokens": ["<blank>", "a", "b"]})
_LEVELS = {"a": 8192, "b": -8192, " ": 0}


def ctc_graph(
    batch: int | str = 1, classes: int = 3, output: str = "logits", kind: type[np.floating[Any]] = np.float32
) -> bytes:
    """Return a graph that tells the mean level of each window of 400 samples, hop 160: 0, above 0, below 0."""
    weights = np.zeros((classes, 1, 400), kind)
    weights[1], weights[2] = 1 / 400, -1 / 400
    bias = np.zeros(classes, kind)
    onnx_kind = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    bias[0] = 0.01
    nodes = [
        helper.make_node("Unsqueeze", ["audio", "axes"], ["wave"]),
        helper.make_node("Conv", ["wave", "weights", "bias"], ["levels"], strides=[160]),
        helper.make_node("Transpose", ["levels"], [output], perm=[0, 2, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        "levels",
        [helper.make_tensor_value_info("audio", onnx_kind, [batch, "samples"])],
        [helper.make_tensor_value_info(output, onnx_kind, [batch, "frames", classes])],
        [
            numpy_helper.from_array(weights, "weights"),
            numpy_helper.from_array(bias, "bias"),
            numpy_helper.from_array(np.array([1]), "axes"),
        ],
    )
    return _serialised(graph)


def typed_graph(**weights: int) -> bytes:
    """Return a graph of ctc_graph's interface that has so many more weights of each type of ONNX (FLOAT16=9)."""
    model = onnx.load_from_string(ctc_graph())
    for kind, count in weights.items():
        model.graph.initializer.append(helper.make_tensor(kind, getattr(TensorProto, kind), [count], [0.0] * count))
    return bytes(model.SerializeToString())


def quantised_graph(folder: Path) -> bytes:
    """Return ctc_graph with its weights in 8 bits, as ONNX Runtime's own tool makes it."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    (folder / "full.onnx").write_bytes(ctc_graph())
    quantize_dynamic(
        folder / "full.onnx", folder / "small.onnx", weight_type=QuantType.QUInt8, op_types_to_quantize=["Conv"]
    )
    return (folder / "small.onnx").read_bytes()


def with_data_file(folder: Path) -> dict[str, bytes]:
    """Return ctc_graph as a file without weights and a data file beside it, as large models are saved."""
    model = onnx.load_from_string(ctc_graph())
    onnx.save_model(
        model, folder / "graph.onnx", save_as_external_data=True, location="graph.onnx_data", size_threshold=64
    )
    return {name: (folder / name).read_bytes() for name in ("graph.onnx", "graph.onnx_data")}


def big_graph(elements: int) -> bytes:
    """Return a graph of the same interface that needs 4 bytes for each of so many elements to run."""
    fill = helper.make_tensor("value", TensorProto.FLOAT, [1], [0.0])
    nodes = [
        helper.make_node("Shape", ["audio"], ["size"]),
        helper.make_node("ReduceMin", ["size"], ["one"], keepdims=1),
        helper.make_node("Mul", ["one", "elements"], ["shape"]),
        helper.make_node("ConstantOfShape", ["shape"], ["filled"], value=fill),
        helper.make_node("ReduceMax", ["filled"], ["most"], keepdims=1),
        helper.make_node("Reshape", ["most", "logits_shape"], ["logits_one"]),
        helper.make_node("Expand", ["logits_one", "wide"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "big",
        [helper.make_tensor_value_info("audio", TensorProto.FLOAT, [1, "samples"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1, 3])],
        [
            numpy_helper.from_array(np.array([elements]), "elements"),
            numpy_helper.from_array(np.array([1, 1, 1]), "logits_shape"),
            numpy_helper.from_array(np.array([1, 1, 3]), "wide"),
        ],
    )
    return _serialised(graph)


def sound(text: str, rate: int = 16_000, channels: int = 1, form: str = "FLAC", subtype: str = "PCM_16") -> bytes:
    """Return audio that ctc_graph hears as `text`: 800 samples of each letter's level."""
    levels = np.repeat([_LEVELS[letter] for letter in text], 800).astype(np.int16)
    frames: Any = levels if channels == 1 else np.stack([levels] * channels, axis=1)
    file = io.BytesIO()
    soundfile.write(file, frames, rate, format=form, subtype=subtype)
    return file.getvalue()


def _serialised(graph: onnx.GraphProto) -> bytes:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
