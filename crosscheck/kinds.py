"""Models of programs that carry their weights, against the libraries that read them.

ONNX: every type as raw data, as numbers and in other files, tensors in graphs,
operators and functions, sparse ones as ONNX Runtime makes them dense, all
versions of the format that the library writes, and codes as ONNX Runtime's operators
make numbers of them."""
import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from harness import Check, Tensor

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "kinds"))
import coded

c = Check(f"onnx {onnx.__version__}, ONNX Runtime {onnxruntime.__version__}")
rng = np.random.default_rng(20261129)
onnxruntime.set_default_logger_severity(4)

# ONNX's types in this module's spelling.
NAMES = {
    "FLOAT": "F32", "DOUBLE": "F64", "FLOAT16": "F16", "BFLOAT16": "BF16", "COMPLEX64": "C64", "COMPLEX128": "C128", "BOOL": "BOOL",
    "INT8": "I8", "INT16": "I16", "INT32": "I32", "INT64": "I64", "UINT8": "U8", "UINT16": "U16", "UINT32": "U32", "UINT64": "U64",
    "FLOAT8E4M3FN": "F8_E4M3", "FLOAT8E4M3FNUZ": "F8_E4M3FNUZ", "FLOAT8E5M2": "F8_E5M2", "FLOAT8E5M2FNUZ": "F8_E5M2FNUZ", "FLOAT8E8M0": "F8_E8M0",
    "INT4": "I8", "UINT4": "U8", "INT2": "I8", "UINT2": "U8", "FLOAT4E2M1": "F4",
}
LISTED = ("STRING", "FLOAT6E2M3", "FLOAT6E3M2")
SHAPES = [(), (1,), (7,), (3, 5), (4, 0, 2), (2, 3, 4), (65, 3)]


def dense(a):
    """The elements as numpy_helper.to_array gives them: four bits of a float two a byte."""
    if a.dtype == ml_dtypes.float4_e2m1fn:
        flat = np.append(a.view(np.uint8).flatten(), np.zeros(a.size % 2, np.uint8))
        return (flat[0::2] | flat[1::2] << 4).astype(np.uint8).tobytes()
    if a.dtype in (ml_dtypes.int4, ml_dtypes.int2):
        return a.astype(np.int8).tobytes()
    if a.dtype in (ml_dtypes.uint4, ml_dtypes.uint2):
        return a.astype(np.uint8).tobytes()
    return np.ascontiguousarray(a).tobytes()


def tensor(t):
    a = numpy_helper.to_array(t)
    kind = TensorProto.DataType.Name(t.data_type)
    if kind in LISTED:
        return Tensor("unknown", tuple(t.dims), None)
    return Tensor(NAMES[kind], tuple(t.dims), dense(a))


def random(number, shape, name):
    """A tensor with random bits of a type, as raw data."""
    bits = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2}.get(TensorProto.DataType.Name(number))
    n = int(np.prod(shape))
    size = (n * bits + 7) // 8 if bits else n * helper.tensor_dtype_to_np_dtype(number).itemsize
    raw = rng.integers(0, 256, size, dtype=np.uint8)
    if number == TensorProto.BOOL:
        raw &= 1
    if bits == 4 and n % 2:
        raw[-1] &= 15  # as the library writes what belongs to no element
    return TensorProto(name=name, data_type=number, dims=shape, raw_data=raw.tobytes())


def numbers(t):
    """The same tensor as numbers of its field, by the library."""
    a = numpy_helper.to_array(t)
    kind = TensorProto.DataType.Name(t.data_type)
    if kind in ("COMPLEX64", "COMPLEX128"):
        out = TensorProto(data_type=t.data_type, dims=t.dims)
        part = a.flatten().view(np.float32 if kind == "COMPLEX64" else np.float64)
        (out.float_data if kind == "COMPLEX64" else out.double_data).extend(part.tolist())
    elif helper.tensor_dtype_to_field(t.data_type) == "int32_data":
        out = TensorProto(data_type=t.data_type, dims=t.dims)
        raw = np.frombuffer(t.raw_data, {1: np.uint8, 2: np.uint16, 4: np.int32}[a.dtype.itemsize])
        if kind in ("INT8", "INT16"):
            raw = raw.view(a.dtype)
        out.int32_data.extend(raw.tolist())
    else:
        out = helper.make_tensor("", t.data_type, t.dims, a.flatten())
    out.name = "numbers " + t.name
    return out


def save(name, model, **options):
    path = c.path(name)
    onnx.save_model(model, path, **options)
    return path


def model(tensors, **options):
    return helper.make_model(helper.make_graph([], "g", [], [], tensors), **options)


def types():
    for kind, number in TensorProto.DataType.items():
        if kind not in NAMES:
            continue
        tensors = [random(number, shape, f"{kind} {k}") for k, shape in enumerate(SHAPES)]
        tensors += [numbers(t) for t in tensors]
        c.expect(save(f"type-{kind}.onnx", model(tensors)), {t.name: tensor(t) for t in tensors})
    words = helper.make_tensor("words", TensorProto.STRING, [2], ["a", "b"])
    six = [helper.make_tensor(k, getattr(TensorProto, k), [5], [1, -2, 1, 0.5, 0.25]) for k in LISTED[1:]]
    c.expect(save("listed.onnx", model([words, *six])), {t.name: tensor(t) for t in (words, *six)})


def outside():
    for one in (True, False):
        folder = c.path(f"outside-{one}")
        os.mkdir(folder)
        tensors = [random(number, (33, 65), kind) for kind, number in TensorProto.DataType.items() if kind in NAMES]
        want = {t.name: tensor(t) for t in tensors}
        save(f"outside-{one}/model.onnx", model(tensors), save_as_external_data=True, all_tensors_to_one_file=one, location="model.onnx.data" if one else None, size_threshold=0)
        c.expect(os.path.join(folder, "model.onnx"), want)


def versions():
    for ir in range(3, 15):
        t = random(TensorProto.FLOAT, (3, 4), "w")
        c.expect(save(f"ir-{ir}.onnx", model([t], ir_version=ir)), {"w": tensor(t)})


def sparse():
    """What ONNX Runtime makes of sparse initializers."""
    for k, shape in enumerate([(6,), (2, 3), (2, 3, 4), (31, 17)]):
        for by_axis in (False, True):
            size = int(np.prod(shape))
            at = np.sort(rng.choice(size, size // 3 + 1, replace=False)).astype(np.int64)
            places = np.stack(np.unravel_index(at, shape), 1).astype(np.int64) if by_axis else at
            values = helper.make_tensor("w", TensorProto.FLOAT, [len(at)], rng.normal(size=len(at)).astype(np.float32))
            graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
            graph.sparse_initializer.append(helper.make_sparse_tensor(values, helper.make_tensor("", TensorProto.INT64, places.shape, places.flatten()), shape))
            m = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
            said = onnxruntime.InferenceSession(m.SerializeToString()).run(None, {})[0]
            c.expect(save(f"sparse-{k}-{by_axis}.onnx", m), {"w": Tensor("F32", shape, said.tobytes())})


def places():
    """Tensors of operators, branches and functions, under the way to them."""
    def constant(name, t):
        return helper.make_node("Constant", [], [name], value=t)

    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    made = {n: random(TensorProto.FLOAT, (3, 2), n) for n in ("w", "c", "f", "b1", "b2", "k1", "k2", "inner", "l0", "l1")}
    branch = [helper.make_graph([constant("k", made[f"k{i}"]), helper.make_node("Identity", ["k"], ["z"])], "branch", [], [y], [made[f"b{i}"]]) for i in (1, 2)]
    nodes = [
        constant("c", made["c"]), helper.make_node("ConstantOfShape", ["s"], ["f"], value=made["f"]),
        helper.make_node("If", ["x"], ["q"], then_branch=branch[0], else_branch=branch[1]), helper.make_node("F", [], ["o"], domain="local", list=[made["l0"], made["l1"]]),
    ]
    function = helper.make_function("local", "F", [], ["l"], [constant("l", made["inner"])], [helper.make_opsetid("", 21)])
    m = helper.make_model(helper.make_graph(nodes, "g", [], [y], [made["w"]]), functions=[function])
    names = {
        "w": "w", "c": "c", "f/value": "f", "q/then_branch/b1": "b1", "q/then_branch/k": "k1", "q/else_branch/b2": "b2", "q/else_branch/k": "k2",
        "local:F/l": "inner", "o/list/0": "l0", "o/list/1": "l1",
    }
    c.expect(save("places.onnx", m), {name: tensor(made[of]) for name, of in names.items()})


def decoded():
    """What amn dequantize writes is what the operators compute."""
    for k, (name, m, weight, said) in enumerate(coded.cases()):
        path, out = save(f"coded-{k}.onnx", m), c.path(f"coded-{k}.safetensors")
        kind = {"float32": "F32", "float16": "F16"}[str(said.dtype)]
        subprocess.run([os.environ["CROSSCHECK_AMN"], "dequantize", "--quiet", "--to", kind.lower(), "--output", out, path], check=True)
        want = {weight: Tensor(kind, said.shape, np.ascontiguousarray(said).tobytes())}
        if any(t.name == "i" for t in m.graph.initializer):
            want["i"] = tensor(next(t for t in m.graph.initializer if t.name == "i"))
        c.expect(out, want)


types()
outside()
versions()
sparse()
places()
decoded()
c.finish()
