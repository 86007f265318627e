"""Distributed checkpoints of PyTorch against torch.distributed.checkpoint.format_utils.dcp_to_torch_save: every tensor that it merges.

kinds/distributed.py writes them: by one process and by four, DTensors sharded along each
dimension and along two, evenly or not, FSDP with the state of its optimizer, several files a
process, and values that are no tensors. Each is also converted, and compared again."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [str(HERE / "kinds"), *(p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE), str(HERE)]  # of torch.py and others
import distributed  # noqa: E402
import torch  # noqa: E402
from harness import Check, Tensor  # noqa: E402

TYPES = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64", torch.int32: "I32", torch.int8: "I8", torch.uint8: "U8",
         torch.bool: "BOOL", torch.float8_e4m3fn: "F8_E4M3", torch.complex64: "C64"}


def flat(value, path=()):
    """The tensors of a nested state dict, by the keys that lead to them."""
    if isinstance(value, torch.Tensor):
        dense = value.detach().contiguous()
        raw = dense.reshape(-1).view(torch.uint8) if dense.numel() else torch.empty(0, dtype=torch.uint8)
        return {".".join(map(str, path)): Tensor(TYPES[value.dtype], tuple(value.shape), raw.numpy().tobytes())}
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    out = {}
    if isinstance(value, dict):
        for k, v in value.items():
            out |= flat(v, (*path, k))
    return out


def main():
    c = Check(f"torch {torch.__version__}")
    for folder in distributed.write(pathlib.Path(c.work)):
        dropped = ["--drop", "types.8"] if folder.name == "plain" else []  # FP8, which convert decodes
        merged = folder.with_suffix(".pt")
        distributed.merge(folder, merged)
        want = flat(torch.load(merged, weights_only=False))
        c.expect(str(folder), want)
        out = folder.with_suffix(".safetensors")
        subprocess.run([os.environ["CROSSCHECK_AMN"], "convert", "-q", "--to", "safetensors", *(dropped or ["--keep", "*"]), "-o", str(out), str(folder)], check=True, stdout=sys.stderr)
        c.expect(str(out), {name: t for name, t in want.items() if name not in dropped})
        subprocess.run([os.environ["CROSSCHECK_AMN"], "scan", "-q", str(folder)], check=True, stdout=sys.stderr)
    c.finish()


if __name__ == "__main__":
    main()
