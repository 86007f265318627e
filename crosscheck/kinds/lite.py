"""Models of TensorFlow Lite, written by LiteRT's own schema, and the numbers that its interpreter has.

    python3 crosscheck/kinds/lite.py ROOT      # writes the goldens of quant/tflite and a file of the corpus

kinds.py compares all of them. The interpreter reads types that numpy has; types that it does not give
out are compared with the bytes that were written."""
import importlib.metadata
import pathlib
import sys

import flatbuffers
import ml_dtypes
import numpy as np
from ai_edge_litert import schema_py_generated as lite
from ai_edge_litert.interpreter import Interpreter, OpResolverType

ORACLE = f"ai-edge-litert {importlib.metadata.version('ai-edge-litert')}"
T, OP = lite.TensorType, lite.BuiltinOperator
NAMES = {getattr(T, k): k for k in dir(T) if k.isupper()}
# Type: this module's spelling, numpy's type, bits.
TYPES = {
    "FLOAT32": ("F32", np.float32, 32), "FLOAT16": ("F16", np.float16, 16), "FLOAT64": ("F64", np.float64, 64), "BFLOAT16": ("BF16", ml_dtypes.bfloat16, 16),
    "INT8": ("I8", np.int8, 8), "INT16": ("I16", np.int16, 16), "INT32": ("I32", np.int32, 32), "INT64": ("I64", np.int64, 64),
    "UINT8": ("U8", np.uint8, 8), "UINT16": ("U16", np.uint16, 16), "UINT32": ("U32", np.uint32, 32), "UINT64": ("U64", np.uint64, 64),
    "BOOL": ("BOOL", np.bool_, 8), "COMPLEX64": ("C64", np.complex64, 64), "COMPLEX128": ("C128", np.complex128, 128),
    "INT4": ("I8", None, 4), "UINT4": ("U8", None, 4), "INT2": ("I8", None, 2),
    "FLOAT8_E4M3FN": ("F8_E4M3", ml_dtypes.float8_e4m3fn, 8), "FLOAT8_E5M2": ("F8_E5M2", ml_dtypes.float8_e5m2, 8),
}


class Tensor(dict):
    """name, kind, shape; data if it is a constant, and scale, zero, axis if it is quantized."""


def model(tensors, operators=(), codes=(), inputs=(), outputs=(), description="made by crosscheck"):
    m = lite.ModelT()
    m.version, m.description, m.buffers = 3, description, [lite.BufferT()]
    m.subgraphs, m.operatorCodes = [graph(m, "main", tensors, operators, inputs, outputs)], list(codes)
    return m


def graph(m, name, tensors, operators=(), inputs=(), outputs=()):
    g = lite.SubGraphT()
    g.name, g.tensors, g.inputs, g.outputs, g.operators = name, [], list(inputs), list(outputs), list(operators)
    for t in tensors:
        x = lite.TensorT()
        x.name, x.type, x.shape = t["name"], getattr(T, t["kind"]), list(t["shape"])
        if "data" in t:
            b = lite.BufferT()
            b.data = np.frombuffer(t["data"], np.uint8)
            m.buffers.append(b)
            x.buffer = len(m.buffers) - 1
        if "buffer" in t:
            x.buffer = t["buffer"]
        if "scale" in t:
            q = lite.QuantizationParametersT()
            q.scale, q.zeroPoint, q.quantizedDimension = list(t["scale"]), list(t["zero"]), t.get("axis", 0)
            x.quantization = q
        g.tensors.append(x)
    return g


def pack(m):
    b = flatbuffers.Builder(1024)
    b.Finish(m.Pack(b), b"TFL3")
    return bytes(b.Output())


def code(number, custom=None):
    c = lite.OperatorCodeT()
    c.builtinCode, c.deprecatedBuiltinCode, c.customCode, c.version = number, min(number, 127), custom, 1
    return c


def operator(k, inputs, outputs):
    o = lite.OperatorT()
    o.opcodeIndex, o.inputs, o.outputs = k, list(inputs), list(outputs)
    return o


def random(rng, kind, shape):
    """The elements of a type as they are stored, and as they are read."""
    n, (_, dtype, bits) = int(np.prod(shape)), TYPES[kind]
    if bits >= 8:
        raw = rng.integers(0, 2 if kind == "BOOL" else 256, n * bits // 8, dtype=np.uint8).tobytes()
        return raw, raw
    raw = rng.integers(0, 256, (n * bits + 7) // 8, dtype=np.uint8)
    per = 8 // bits
    numbers = np.stack([raw >> (bits * k) & ((1 << bits) - 1) for k in range(per)], 1).flatten()[:n].astype(np.int16)
    if kind.startswith("INT"):
        numbers = np.where(numbers >= 1 << (bits - 1), numbers - (1 << bits), numbers)
    return raw.tobytes(), numbers.astype(np.int8 if kind.startswith("INT") else np.uint8).tobytes()


def open_model(data):
    """With the reference kernels. The optimized kernel for UINT8 and one scale multiplies before it subtracts, and
    differs from them, and from XNNPACK, in the last bit."""
    return Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)


def run(m, feeds=()):
    """What the interpreter computes of the first output."""
    i = open_model(pack(m))
    i.allocate_tensors()
    for k, v in feeds:
        i.set_tensor(k, v)
    i.invoke()
    return i.get_tensor(i.get_output_details()[0]["index"])


def said(data):
    """The constants of the first graph as the interpreter has them: type, shape, elements."""
    i = open_model(data)
    i.allocate_tensors()
    out = {}
    for t in i.get_tensor_details():
        try:
            out[t["name"]] = (t, i.get_tensor(t["index"]) if t["dtype"] is not np.bytes_ else None)
        except ValueError:
            pass  # it is computed by nothing, and has no data
    return out


def dequantized(rng, kind, shape, axis, low=None):
    """A model whose operator makes numbers of codes: model, and its result."""
    raw, _ = random(rng, kind, shape)
    n = 1 if axis is None else shape[axis]
    scale = (np.abs(rng.normal(size=n)) * 0.02 + 1e-4).astype(np.float32)
    bits = TYPES[kind][2]
    zero = np.zeros(n, np.int64) if kind.startswith("INT16") or bits < 8 else rng.integers(-9, 10, n) if kind == "INT8" else rng.integers(100, 150, n)
    tensors = [
        Tensor(name="x", kind="FLOAT32", shape=shape),
        Tensor(name="w", kind=kind, shape=shape, data=raw, scale=scale.tolist(), zero=zero.tolist(), axis=axis or 0),
        Tensor(name="f", kind="FLOAT32", shape=shape), Tensor(name="y", kind="FLOAT32", shape=shape),
    ]
    m = model(tensors, [operator(0, [1], [3])], [code(OP.DEQUANTIZE)], [0], [3])
    return m, run(m, [(0, np.zeros(shape, np.float32))])


def cases(seed=20261130):
    """Yield name, model, the weight's name and its numbers; what the runtime refuses is left out, by its message."""
    rng = np.random.default_rng(seed)
    for kind in ("INT8", "UINT8", "INT16", "INT4", "INT2", "UINT4"):
        for shape, axis in (((6, 8), None), ((6, 8), 0), ((5, 7), 1), ((3, 2, 4, 3), 3), ((3, 2, 4, 3), 0), ((7,), 0), ((4, 33), None)):
            try:
                m, numbers = dequantized(rng, kind, shape, axis)
            except Exception as e:
                print(f"{kind} {shape} axis {axis}: the runtime refuses it: {str(e)[:200]}", file=sys.stderr)
                continue
            yield f"{kind} {'one' if axis is None else 'axis'}", m, "w", numbers


def main():
    root = pathlib.Path(sys.argv[1])
    smallest = {}
    for name, m, weight, numbers in cases():
        if name not in smallest or numbers.size < smallest[name][2].size:
            smallest[name] = (m, weight, numbers)
    for name, (m, weight, numbers) in sorted(smallest.items()):
        folder = root / "quant/tflite/testdata" / ("tflite-" + name.lower().replace(" ", "-"))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.tflite").write_bytes(pack(m))
        (folder / f"{weight}.f32").write_bytes(numbers.astype("<f4").tobytes())
        (folder / "oracle.txt").write_text(f"{name}\n{ORACLE}\n")


if __name__ == "__main__":
    main()
