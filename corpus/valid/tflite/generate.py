"""Writes the honest files of this folder with the schema of ai-edge-litert 2.3.0: python3 generate.py, in this folder.

small.tflite has each way in which a tensor can have data; behind.tflite has its data at offsets behind the
FlatBuffers, as models of more than 2 GB have; old.tflite is what writers of before 2020 made, and packed.tflite has a
file of labels behind it. LiteRT's interpreter opens all."""
import io
import pathlib
import sys
import zipfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "crosscheck/kinds"))
from lite import OP, Tensor, code, graph, lite, model, np, open_model, operator, pack, random

rng = np.random.default_rng(40)


def of(name, kind, shape, **more):
    return Tensor(name=name, kind=kind, shape=shape, data=random(rng, kind, shape)[0], **more)


def small():
    kinds = ("FLOAT16", "BFLOAT16", "FLOAT64", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL", "COMPLEX64", "COMPLEX128", "INT2", "UINT4", "FLOAT8_E4M3FN", "FLOAT8_E5M2")
    m = model([
        Tensor(name="x", kind="FLOAT32", shape=(2, 3)), Tensor(name="y", kind="FLOAT32", shape=(2, 3)),
        of("w", "INT8", (2, 3), scale=[0.5, 0.25], zero=[1, -1], axis=0), of("v", "INT4", (5,), scale=[0.125], zero=[0]),
        of("c", "FLOAT32", (2, 3)), Tensor(name="tied", kind="FLOAT32", shape=(3, 2), buffer=3), of("", "FLOAT32", ()), of("c", "FLOAT32", (1,)),
        Tensor(name="texts", kind="STRING", shape=(1,), data=np.array([1, 12, 13], np.int32).tobytes() + b"a"),
        *(of(k.lower(), k, (3,)) for k in kinds),
    ], [operator(0, [0, 4], [1])], [code(OP.ADD)], [0], [1])
    m.subgraphs += [graph(m, "other", [of("w", "FLOAT32", (2,))]), graph(m, "", [of("w", "FLOAT32", (2,))])]
    return pack(m)


def behind():
    m = model([Tensor(name="x", kind="FLOAT32", shape=(2,)), Tensor(name="y", kind="FLOAT32", shape=(2,)), of("w", "FLOAT32", (2,)), of("v", "INT8", (3,))], [operator(0, [0, 2], [1])], [code(OP.ADD)], [0], [1])
    bodies = [bytes(b.data) for b in m.buffers[1:]]
    for b, body in zip(m.buffers[1:], bodies):
        b.data, b.offset, b.size = None, 1 << 40, len(body)
    at = len(pack(m))
    for b, body in zip(m.buffers[1:], bodies):
        at += -at % 16
        b.offset, at = at, at + len(body)
    out = pack(m)
    for b, body in zip(m.buffers[1:], bodies):
        out = out.ljust(b.offset, b"\0") + body
    return out


def old():
    m = model([Tensor(name="x", kind="FLOAT32", shape=(2,)), Tensor(name="y", kind="FLOAT32", shape=(2,)), of("w", "FLOAT32", (2,))], [operator(0, [0, 2], [1])], [code(OP.ADD)], [0], [1])
    m.operatorCodes[0] = lite.OperatorCodeT()
    m.operatorCodes[0].deprecatedBuiltinCode, m.operatorCodes[0].version = OP.MUL, 1
    return pack(m)


def packed():
    """A model with its labels behind it, as TensorFlow Lite's metadata pack them."""
    out = io.BytesIO(old())
    with zipfile.ZipFile(out, "a") as z:
        z.writestr(zipfile.ZipInfo("labels.txt"), "cat\ndog\n")
    return out.getvalue()


for name, make in (("small", small), ("behind", behind), ("old", old), ("packed", packed)):
    data = make()
    open_model(data).allocate_tensors()
    pathlib.Path(name + ".tflite").write_bytes(data)
