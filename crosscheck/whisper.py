"""Models of whisper.cpp, which loads every file that is written here: each type of weights that it
quantizes to, with blocks by gguf-py, as they are stored and as numbers."""
import os
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [str(HERE / "kinds"), *(p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE), str(HERE)]  # of torch.py and others
import importlib.util  # noqa: E402

spec = importlib.util.spec_from_file_location("written", HERE / "kinds" / "whisper.py")
written = importlib.util.module_from_spec(spec)
spec.loader.exec_module(written)
from harness import Check, Tensor  # noqa: E402

c = Check(written.ORACLE)
rng = np.random.default_rng(20261130)
for kind in written.TYPES:
    for k, more in enumerate(({}, {"state": 64, "layers": 2}, {"state": 96, "layers": 1, "vocab": 77, "mels": 8})):
        data, read = written.write(rng, kind, **more)
        path, out = c.path(f"{kind}-{k}.bin"), c.path(f"{kind}-{k}.safetensors")
        pathlib.Path(path).write_bytes(data)
        assert written.loads(path) == 0, path
        c.expect(path, {name: Tensor(of, shape, stored if of[0] == "F" else None) for name, (of, shape, stored, _) in read.items()})
        if kind[0] == "Q":
            subprocess.run([os.environ["CROSSCHECK_AMN"], "dequantize", "--quiet", "--to", "f32", "--output", out, path], check=True)
            want = {}
            for name, (of, shape, stored, numbers) in read.items():
                want[name] = Tensor("F16", shape, stored) if of == "F16" else Tensor("F32", shape, np.ascontiguousarray(numbers, "<f4").tobytes())
            c.expect(out, want)
c.finish()
