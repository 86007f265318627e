"""Files of the safetensors writers: numpy, torch and MLX front ends."""
# The folder of this script must not hide the library of the same name.
import sys

HERE = sys.path.pop(0)
import safetensors
import safetensors.mlx
import safetensors.numpy
import safetensors.torch

import ml_dtypes
import mlx.core as mx
import numpy as np
import torch

sys.path.append(HERE)
from harness import Check, Tensor

c = Check(f"safetensors {safetensors.__version__}, numpy {np.__version__}, torch {torch.__version__}, mlx {mx.__version__}")
rng = np.random.default_rng(20261121)

NUMPY = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "U64": np.uint64, "I32": np.int32, "U32": np.uint32,
    "I16": np.int16, "U16": np.uint16, "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_, "C64": np.complex64, "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
}
TORCH = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
    "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool, "U64": torch.uint64, "U32": torch.uint32,
    "U16": torch.uint16, "C64": torch.complex64, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz, "F8_E5M2FNUZ": torch.float8_e5m2fnuz, "F8_E8M0": torch.float8_e8m0fnu,
}
MLX = {
    "F32": mx.float32, "F16": mx.float16, "BF16": mx.bfloat16, "I64": mx.int64, "I32": mx.int32, "I16": mx.int16, "I8": mx.int8,
    "U64": mx.uint64, "U32": mx.uint32, "U16": mx.uint16, "U8": mx.uint8, "BOOL": mx.bool_, "C64": mx.complex64,
}
SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 0, 4), (2, 3, 4, 5), (1,) * 8]
NAMES = ["w", "model.layers.0.self_attn.q_proj.weight", "вес", "重み", "a b", 'quo"te', "back\\slash", "tab\there", "e\u0301", "\U0001f600", "x" * 300]


def bits(dtype, shape):
    """Random bytes of an element type: also NaNs, infinities and subnormals."""
    n = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = rng.integers(0, 256, n, dtype=np.uint8)
    if np.dtype(dtype) == np.bool_:
        raw &= 1
    return np.frombuffer(raw.tobytes(), dtype=dtype).reshape(shape)


def tensor(name, a):
    return Tensor(name, a.shape, np.ascontiguousarray(a).tobytes())


def numpy_front():
    for name, dtype in NUMPY.items():
        for k, shape in enumerate(SHAPES):
            path = c.path(f"numpy-{name}-{k}.safetensors")
            a = bits(dtype, shape)
            try:
                safetensors.numpy.save_file({"t": a}, path)
            except (KeyError, ValueError, safetensors.SafetensorError):
                continue  # the front end does not write this type
            c.expect(path, {"t": tensor(name, a)}, meta={})
    for k, name in enumerate(NAMES):
        path = c.path(f"numpy-name-{k}.safetensors")
        a, b = bits(np.float32, (3,)), bits(np.int8, (5,))
        safetensors.numpy.save_file({name: a, "other": b}, path, metadata={name: "v\u0000" + name, "format": "np"})
        c.expect(path, {name: tensor("F32", a), "other": tensor("I8", b)}, meta={name: "v\u0000" + name, "format": "np"})
    path = c.path("numpy-none.safetensors")
    safetensors.numpy.save_file({}, path)
    c.expect(path, {}, meta={})
    path = c.path("numpy-many.safetensors")
    many = {f"t{i}": bits(np.uint16, (i % 5, 2)) for i in range(2000)}
    safetensors.numpy.save_file(many, path)
    c.expect(path, {k: tensor("U16", v) for k, v in many.items()})


def torch_front():
    for name, dtype in TORCH.items():
        for k, shape in enumerate(SHAPES):
            n = int(np.prod(shape)) * torch.empty((), dtype=dtype).element_size()
            raw = torch.from_numpy(rng.integers(0, 256, max(n, 1), dtype=np.uint8))[:n]
            if dtype == torch.bool:
                raw = raw & 1
            t = raw.view(dtype).reshape(shape) if n else torch.empty(shape, dtype=dtype)
            path = c.path(f"torch-{name}-{k}.safetensors")
            safetensors.torch.save_file({"t": t}, path, metadata={"format": "pt"})
            c.expect(path, {"t": Tensor(name, shape, raw.numpy().tobytes())}, meta={"format": "pt"})
    # Tied weights: save_model writes one of the names, and the other as metadata.
    model = torch.nn.Module()
    model.a = torch.nn.Linear(4, 4, bias=False)
    model.b = torch.nn.Linear(4, 4, bias=False)
    model.b.weight = model.a.weight
    path = c.path("torch-tied.safetensors")
    safetensors.torch.save_model(model, path)
    w = model.a.weight.detach().numpy()
    with safetensors.safe_open(path, "pt") as f:
        written, meta = list(f.keys()), f.metadata()
    assert len(written) == 1, written
    aliases = {n: written[0] for n in ("a.weight", "b.weight") if n != written[0]}
    assert all(meta[k] == v for k, v in aliases.items()), meta
    c.expect(path, {written[0]: tensor("F32", w)}, aliases=aliases)


def mlx_front():
    for name, dtype in MLX.items():
        for k, shape in enumerate(SHAPES):
            a = mx.array(rng.integers(0, 2, shape).astype(np.float32)).astype(dtype) if name == "BOOL" else mx.array(
                rng.integers(0, 100, shape).astype(np.float32)).astype(dtype)
            path = c.path(f"mlx-{name}-{k}.safetensors")
            mx.save_safetensors(path, {"t": a, "one": a}, metadata={"format": "mlx"})
            dense = bytes(memoryview(a.view(mx.uint8))) if a.size and a.ndim else np.array(a.astype(mx.float32)).astype(NUMPY[name]).tobytes()
            c.expect(path, {"t": Tensor(name, shape, dense), "one": Tensor(name, shape, dense)}, meta={"format": "mlx"})


numpy_front()
torch_front()
mlx_front()
c.finish()
