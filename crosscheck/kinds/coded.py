"""Models of ONNX whose operators make numbers of codes, and the numbers that ONNX Runtime makes.

    python3 crosscheck/kinds/coded.py ROOT      # writes the goldens of quant/onnx

kinds.py compares all of them. A case is a name, the model, the weight's name, and its numbers.
"""
import pathlib
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
ORACLE = f"ONNX Runtime {onnxruntime.__version__}, onnx {onnx.__version__}"
SCALES = {"F32": TensorProto.FLOAT, "F16": TensorProto.FLOAT16}


def raw(name, kind, shape, data):
    return TensorProto(name=name, data_type=kind, dims=shape, raw_data=data.tobytes())


def codes(rng, name, kind, shape, low=None):
    """Random codes of a type, as raw data."""
    bits = {"INT4": 4, "UINT4": 4, "INT2": 2, "UINT2": 2, "INT16": 16, "UINT16": 16, "INT32": 32}.get(kind, 8)
    size = int(np.prod(shape)) * bits
    data = rng.integers(0, 256, (size + 7) // 8, dtype=np.uint8)
    if size % 8:
        data[-1] &= (1 << size % 8) - 1
    if kind.startswith("FLOAT8"):
        data &= 0xF7 if kind == "FLOAT8E4M3FN" else 0xBF  # no NaN, no infinity
    return raw(name, getattr(TensorProto, kind), shape, data)


def scales(rng, name, kind, shape, positive=False):
    s = rng.normal(size=shape) * 0.02
    return raw(name, SCALES[kind], shape, (np.abs(s) if positive else s).astype({"F32": np.float32, "F16": np.float16}[kind]))


def run(nodes, tensors, feeds=None, inputs=(), opset=21, kind="F32", ir=10):
    y = helper.make_tensor_value_info("y", SCALES[kind], None)
    graph = helper.make_graph(nodes, "g", list(inputs), [y], tensors)
    model = helper.make_model(graph, ir_version=ir, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return model, onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds or {})[0]


def linear(rng):
    """DequantizeLinear: one scale, one for each index of an axis, blocks of an axis."""
    for kind in ("INT8", "UINT8", "INT4", "UINT4", "INT2", "UINT2", "INT16", "UINT16", "INT32", "FLOAT8E4M3FN", "FLOAT8E5M2"):
        for shape, axis, block in (((6, 8), 0, 0), ((5, 7), 1, 0), ((3, 2, 4, 3), 1, 0), ((4, 33), None, 0), ((3, 40), 1, 16), ((40, 6), 0, 16), ((2, 40, 3), 1, 16), ((7,), 0, 0)):
            if kind in ("INT2", "UINT2") and not hasattr(TensorProto, kind):
                continue
            for scale in ("F32", "F16"):
                for zero in (True, False):
                    if zero and kind in ("INT32", "FLOAT8E4M3FN", "FLOAT8E5M2"):
                        continue
                    of = () if axis is None else (shape[axis],)
                    if block:
                        of = tuple(-(-d // block) if k == axis else d for k, d in enumerate(shape))
                    tensors = [codes(rng, "w_quantized", kind, shape), scales(rng, "w_scale", scale, of)]
                    if zero:
                        tensors.append(codes(rng, "w_zero_point", kind, of))
                    node = helper.make_node("DequantizeLinear", [t.name for t in tensors], ["y"], **({} if axis is None else {"axis": axis}), **({"block_size": block} if block else {}))
                    opset = 25 if kind in ("INT2", "UINT2") else 21
                    yield f"DequantizeLinear {kind} {'blocks' if block else 'axis' if axis is not None else 'one'}", lambda node=node, tensors=tensors, scale=scale, opset=opset: run([node], tensors, kind=scale, opset=opset), "w"


def matmul(rng):
    """MatMulNBits: its weight is what it makes of the identity. Scales are positive: a sum does not show the sign of a zero."""
    for bits in (2, 4, 8):
        for n, k, block in ((6, 32, 16), (7, 40, 16), (5, 64, 32), (3, 130, 128)):
            blocks = -(-k // block)
            for scale in ("F32",):
                for zero in (True, False):
                    flat = n == 7
                    b = rng.integers(0, 256, (n, blocks, block * bits // 8), dtype=np.uint8)
                    row = -(-blocks * bits // 8)
                    tensors = [raw("w_Q4" if bits == 4 else f"w_Q{bits}", TensorProto.UINT8, b.shape, b), scales(rng, "w_scales", scale, (n * blocks,) if flat else (n, blocks), positive=True)]
                    if zero:
                        z = rng.integers(0, 256, (n, row), dtype=np.uint8)
                        tensors.append(raw("w_zero_points", TensorProto.UINT8, (n * row,) if flat else (n, row), z))
                    node = helper.make_node("MatMulNBits", ["x", *(t.name for t in tensors)], ["y"], domain="com.microsoft", K=k, N=n, bits=bits, block_size=block)
                    x = helper.make_tensor_value_info("x", SCALES[scale], [k, k])

                    def go(node=node, tensors=tensors, x=x, k=k):
                        model, said = run([node], tensors, {"x": np.eye(k, dtype=np.float32)}, [x])
                        return model, np.ascontiguousarray(said.T)
                    yield f"MatMulNBits {bits} bits{' zeros' if zero else ''}", go, "w"


def gather(rng):
    """GatherBlockQuantized of all rows."""
    for kind, bits in (("INT4", 4), ("UINT4", 4), ("UINT8", 4), ("UINT8", 8), ("UINT8", 2)):
        for rows, cols, block in ((5, 64, 16), (3, 96, 32), (4, 48, 16)):
            for zero in (True, False):
                per = 8 // bits if kind == "UINT8" else 1
                blocks = -(-cols // block)
                tensors = [codes(rng, "w.qweight", kind, (rows, cols // per)), scales(rng, "w.scales", "F32", (rows, blocks))]
                if zero:
                    tensors.append(codes(rng, "w.qzeros", kind, (rows, -(-blocks // per))))
                i = raw("i", TensorProto.INT64, (rows,), np.arange(rows, dtype=np.int64))
                names = [t.name for t in tensors]
                node = helper.make_node("GatherBlockQuantized", [names[0], "i", *names[1:]], ["y"], domain="com.microsoft", bits=bits, block_size=block, gather_axis=0, quantize_axis=1)
                yield f"GatherBlockQuantized {kind} {bits} bits", lambda node=node, tensors=tensors, i=i: run([node], [*tensors, i]), "w.weight"


def cases(seed=20261130):
    """Yield name, model, the weight's name and its numbers, in the type of the scales; what the runtime refuses is left out, by its message."""
    rng = np.random.default_rng(seed)
    for make in (linear, matmul, gather):
        for name, go, weight in make(rng):
            try:
                model, said = go()
            except Exception as e:
                print(f"{name}: the runtime refuses it: {str(e)[:160]}", file=sys.stderr)
                continue
            yield name, model, weight, said


def forms():
    """Other ways to say the same, and models that say what is not read: name, model."""
    rng = np.random.default_rng(7)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    w, s, z = codes(rng, "w_quantized", "INT8", (3, 5)), scales(rng, "w_scale", "F32", (5,)), codes(rng, "w_zero_point", "INT8", (5,))

    def of(nodes, tensors, **options):
        domains = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1), *options.pop("domains", [])]
        graph = helper.make_graph(nodes, "g", options.pop("inputs", []), [y], tensors)
        return helper.make_model(graph, ir_version=10, opset_imports=domains, **options)

    def dequantize(**more):
        return helper.make_node("DequantizeLinear", ["w_quantized", "w_scale", "w_zero_point"], ["y"], **({"axis": 1} | more))

    def constant(t):
        return helper.make_node("Constant", [], [t.name], value=t)

    yes = raw("yes", TensorProto.BOOL, (), np.array(True))
    branch = [helper.make_graph([dequantize()], name, [], [y]) for name in ("then", "else")]
    inner = [helper.make_graph([constant(s), constant(z), dequantize()], name, [], [y], [w]) for name in ("then", "else")]
    body = [constant(w), constant(s), constant(z), dequantize()]
    x = helper.make_tensor_value_info("w_scale", TensorProto.FLOAT, [5])
    yield "constants", of(body, [])
    yield "branch-of-outer", of([helper.make_node("If", ["yes"], ["y"], then_branch=branch[0], else_branch=branch[1])], [yes, w, s, z])
    yield "branch-of-inner", of([helper.make_node("If", ["yes"], ["y"], then_branch=inner[0], else_branch=inner[1])], [yes])
    yield "function", of([helper.make_node("F", [], ["y"], domain="local")], [], functions=[helper.make_function("local", "F", [], ["y"], body, [helper.make_opsetid("", 21)])], domains=[helper.make_opsetid("local", 1)])
    yield "function-of-outer", of([helper.make_node("F", [], ["y"], domain="local")], [w, s, z], functions=[helper.make_function("local", "F", [], ["y"], [dequantize()], [helper.make_opsetid("", 21)])], domains=[helper.make_opsetid("local", 1)])
    yield "function-named-like-it", of([dequantize(domain="com.microsoft")], [w, s, z], functions=[helper.make_function("com.microsoft", "DequantizeLinear", ["a", "b", "c"], ["y"], [helper.make_node("Cast", ["a"], ["y"], to=1)], [helper.make_opsetid("", 21)])])
    yield "scale-computed", of([dequantize()], [w, z], inputs=[x])
    yield "scale-shape", of([dequantize(axis=0)], [w, s, z])
    yield "axis-outside", of([dequantize(axis=2)], [w, s, z])
    yield "axis-negative", of([dequantize(axis=-1)], [w, s, z])
    yield "blocks-shape", of([dequantize(block_size=2)], [w, s, z])
    yield "attribute-unknown", of([dequantize(rounding=1)], [w, s, z])
    yield "axis-reference", of([dequantize()], [w, s, z])
    yield "two-readings", of([dequantize(), helper.make_node("DequantizeLinear", ["w_quantized", "other"], ["v"], axis=1)], [w, s, z, scales(rng, "other", "F32", (5,))])
    yield "result-type", of([dequantize(output_dtype=TensorProto.FLOAT16)], [w, s, z])
    yield "scales-joint", of([dequantize(), helper.make_node("DequantizeLinear", ["v_quantized", "w_scale", "w_zero_point"], ["v"], axis=1)], [w, s, z, codes(rng, "v_quantized", "INT8", (2, 5))])
    b, bs = raw("b", TensorProto.UINT8, (4, 2, 8), rng.integers(0, 256, (4, 2, 8), dtype=np.uint8)), scales(rng, "bs", "F32", (4, 2))
    a = helper.make_tensor_value_info("a", TensorProto.FLOAT, [1, 32])
    for name, inputs, more in (("index", ["a", "b", "bs", "", "g"], {}), ("prepacked", ["a", "b", "bs"], {"weight_prepacked": 1}), ("bits", ["a", "b", "bs"], {"bits": 3}), ("size", ["a", "b", "bs"], {"N": 5}), ("block", ["a", "b", "bs"], {"block_size": 24})):
        node = helper.make_node("MatMulNBits", inputs, ["y"], domain="com.microsoft", **({"K": 32, "N": 4, "bits": 4, "block_size": 16} | more))
        yield "matmul-" + name, of([node], [b, bs, raw("g", TensorProto.INT32, (32,), np.zeros(32, np.int32))], inputs=[a])
    yield "matmul-zeros", of([helper.make_node("MatMulNBits", ["a", "b", "bs", "bs"], ["y"], domain="com.microsoft", K=32, N=4, bits=4, block_size=16)], [b, bs], inputs=[a])
    i = raw("i", TensorProto.INT64, (1,), np.zeros(1, np.int64))
    yield "gather-axis", of([helper.make_node("GatherBlockQuantized", ["q", "i", "qs"], ["y"], domain="com.microsoft", gather_axis=1, quantize_axis=0, block_size=16)], [codes(rng, "q", "INT4", (16, 4)), i, scales(rng, "qs", "F32", (1, 4))])
    def gathered(q, qs, *zeros, **more):
        names = [t.name for t in (q, qs, *zeros)]
        node = helper.make_node("GatherBlockQuantized", [names[0], "i", *names[1:]], ["y"], domain="com.microsoft", **({"gather_axis": 0, "quantize_axis": 1, "block_size": 16, "bits": 4} | more))
        return of([node], [q, i, qs, *zeros])

    q8, q4, qs = codes(rng, "q", "UINT8", (4, 16)), codes(rng, "q", "INT8", (4, 16)), scales(rng, "qs", "F32", (4, 2))
    yield "gather-bits", gathered(q8, qs, bits=5)
    yield "gather-type", gathered(q4, qs)
    yield "gather-scales", gathered(q8, scales(rng, "qs", "F32", (4, 3)))
    yield "gather-zeros", gathered(q8, qs, codes(rng, "qz", "UINT8", (4, 3)))
    yield "matmul-scales", of([helper.make_node("MatMulNBits", ["a", "b", "bs"], ["y"], domain="com.microsoft", K=32, N=4, bits=4, block_size=16)], [b, scales(rng, "bs", "F32", (4, 3))], inputs=[a])
    yield "zeros-shape", of([dequantize()], [w, s, codes(rng, "w_zero_point", "INT8", (3,))])
    yield "scales-type", of([dequantize()], [w, raw("w_scale", TensorProto.DOUBLE, (5,), np.ones(5)), z])
    yield "codes-type", of([helper.make_node("DequantizeLinear", ["w_quantized", "w_scale"], ["y"], axis=1)], [raw("w_quantized", TensorProto.INT64, (3, 5), np.ones((3, 5), np.int64)), s])
    yield "codes-32-zeros", of([dequantize()], [codes(rng, "w_quantized", "INT32", (3, 5)), s, codes(rng, "w_zero_point", "INT32", (5,))])
    texts = TensorProto(name="w_scale", data_type=TensorProto.STRING, dims=(5,), string_data=[b"1"] * 5)
    yield "scales-texts", of([dequantize()], [w, texts, z])
    yield "integer", of([helper.make_node("MatMulInteger", ["x", "w_quantized", "", "w_zero_point"], ["y"])], [w, z], inputs=[helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 3])])


def main():
    root = pathlib.Path(sys.argv[1])
    smallest = {}
    for name, model, weight, said in cases():
        if said.dtype == np.float32 and (name not in smallest or said.size < smallest[name][2].size):
            smallest[name] = (model, weight, said)
    for name, (model, weight, said) in sorted(smallest.items()):
        folder = root / "quant/onnx/testdata" / ("onnx-" + name.lower().replace(" ", "-"))
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save_model(model, folder / "model.onnx")
        (folder / f"{weight}.f32").write_bytes(said.astype("<f4").tobytes())
        (folder / "oracle.txt").write_text(f"{name}\n{ORACLE}\n")
    folder = root / "quant/onnx/testdata/forms"
    folder.mkdir(exist_ok=True)
    for name, model in forms():
        if name == "axis-reference":  # of a function's attribute, which no function has here
            axis = model.graph.node[0].attribute[0]
            axis.ref_attr_name, axis.i = "axis", 0
        onnx.save_model(model, folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
