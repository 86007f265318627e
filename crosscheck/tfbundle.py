"""Checkpoints of TensorFlow against tf.train.load_checkpoint: every tensor that it reads.

kinds/bundles.py writes them: each type that is saved, by CheckpointManager, variables in parts, several
processes merged, many tensors, and random shapes cut into random boxes. Each is read by its index, converted
and compared again, and scanned."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [*(p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE), str(HERE), str(HERE / "kinds")]  # of torch.py and others
import bundles  # noqa: E402
from harness import Check, Tensor  # noqa: E402

TYPES = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
         "uint32": "U32", "uint64": "U64", "bool": "BOOL", "complex64": "C64", "complex128": "C128", "float8_e5m2": "F8_E5M2", "float8_e4m3fn": "F8_E4M3"}
APART = ("float8_e5m2", "float8_e4m3fn", "complex128")  # which convert decodes, and safetensors does not have


def main():
    c = Check(f"tensorflow {bundles.tf.__version__}")
    for folder in bundles.write(pathlib.Path(c.work), [*bundles.NAMES, *(f"random-{i}" for i in range(40))]):
        prefix = bundles.prefix(folder)
        read = [r for r in bundles.read(prefix) if r[1] != "string"]
        want = {name: Tensor(TYPES.get(of, "unknown"), tuple(shape), data if of in TYPES else None) for name, of, shape, data in read}
        c.expect(prefix + ".index", want)
        out, dropped = folder.with_suffix(".safetensors"), [name for name, of, *_ in read if of in APART or of not in TYPES]
        subprocess.run([os.environ["CROSSCHECK_AMN"], "convert", "-q", "--to", "safetensors", *(a for name in dropped for a in ("--drop", name)), "-o", str(out), prefix + ".index"], check=True, stdout=sys.stderr)
        c.expect(str(out), {name: t for name, t in want.items() if name not in dropped})
        subprocess.run([os.environ["CROSSCHECK_AMN"], "scan", "-q", str(folder)], check=True, stdout=sys.stderr)
    c.finish()


if __name__ == "__main__":
    main()
