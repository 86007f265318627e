"""Models of TensorFlow Lite against LiteRT's interpreter, which opens every file that is written here.

Every type that tensors have, shapes, tensors of other graphs, names that appear twice, data behind the
FlatBuffers; and codes of tensors and axes as the runtime's DEQUANTIZE makes numbers of them. Types that
the interpreter gives out as others (floats of eight bits) are compared with the bytes that were written."""
import os
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [str(HERE / "kinds"), *(p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE), str(HERE)]  # of torch.py and others
import lite  # noqa: E402
from harness import Check, Tensor  # noqa: E402

c = Check(lite.ORACLE)
rng = np.random.default_rng(20261130)
SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4), (65, 3)]
GIVEN_AS_OTHERS = ("FLOAT8_E4M3FN", "FLOAT8_E5M2")


def save(name, m):
    path = c.path(name)
    pathlib.Path(path).write_bytes(lite.pack(m))
    return path


def types():
    for kind, (spelled, _, _) in lite.TYPES.items():
        tensors, read = [], {}
        for k, shape in enumerate(SHAPES):
            raw, numbers = lite.random(rng, kind, shape)
            tensors.append(lite.Tensor(name=f"{kind} {k}", kind=kind, shape=shape, data=raw))
            read[f"{kind} {k}"] = (shape, numbers)
        m = lite.model(tensors)
        said = lite.said(lite.pack(m))
        want = {}
        for name, (shape, numbers) in read.items():
            of, values = said[name]
            assert tuple(of["shape"]) == shape, (name, of)
            dense = numbers if kind in GIVEN_AS_OTHERS else np.ascontiguousarray(values).tobytes()
            want[name] = Tensor(spelled, shape, dense)
        c.expect(save(f"type-{kind}.tflite", m), want)


def places():
    """Other graphs, names that appear twice, no name, data that are shared."""
    def of(name, **more):
        raw, _ = lite.random(rng, "FLOAT32", (4,))
        return lite.Tensor(name=name, kind="FLOAT32", shape=(4,), data=raw, **more), Tensor("F32", (4,), raw)

    (w, a), (w2, b), (none, d), (other, e), (unnamed, f) = of("w"), of("w"), of(""), of("w"), of("w")
    m = lite.model([w, w2, none, lite.Tensor(name="tied", kind="FLOAT32", shape=(2, 2), buffer=1)])
    m.subgraphs += [lite.graph(m, "other", [other]), lite.graph(m, "", [unnamed])]
    lite.open_model(lite.pack(m)).allocate_tensors()
    c.expect(save("places.tflite", m), {"w": a, "w#1": b, "#2": d, "tied": Tensor("F32", (2, 2), a.dense), "other/w": e, "#2/w": f})
    for name in ("small", "behind", "old", "packed"):
        path = HERE.parent / "corpus/valid/tflite" / (name + ".tflite")
        said = lite.said(path.read_bytes())
        if name != "small":
            values = {k: v for k, v in said.items() if k not in ("x", "y")}
            c.expect(str(path), {k: Tensor({"float32": "F32", "int8": "I8"}[str(v.dtype)], v.shape, np.ascontiguousarray(v).tobytes()) for k, (_, v) in values.items()})


def quantized():
    """Scales and zero points, and the numbers that amn dequantize writes."""
    for k, (_, m, weight, numbers) in enumerate(lite.cases()):
        path = save(f"coded-{k}.tflite", m)
        of, values = lite.said(lite.pack(m))[weight]
        q, spelled = of["quantization_parameters"], str(values.dtype)
        n = len(q["scales"])
        c.expect(path, {
            weight: Tensor({"int8": "I8", "uint8": "U8", "int16": "I16"}[spelled], values.shape, np.ascontiguousarray(values).tobytes()),
            weight + "/scale": Tensor("F32", (n,), q["scales"].astype("<f4").tobytes()),
            weight + "/zero_point": Tensor("I64", (n,), q["zero_points"].astype("<i8").tobytes()),
        })
        out = c.path(f"coded-{k}.safetensors")
        subprocess.run([os.environ["CROSSCHECK_AMN"], "dequantize", "--quiet", "--to", "f32", "--output", out, path], check=True)
        c.expect(out, {weight: Tensor("F32", numbers.shape, np.ascontiguousarray(numbers).tobytes())})


types()
places()
quantized()
c.finish()
