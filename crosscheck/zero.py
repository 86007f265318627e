"""Checkpoints of DeepSpeed's ZeRO optimizer against its own zero_to_fp32: every tensor that it merges.

kinds/zero_shards.py writes them with DeepSpeed on the CPU, over gloo: stages 1 to 3, one to three
processes, three types, frozen and tied weights, two groups, buffers. Each is read by its file latest and by
the folder that it names, converted and compared again, and scanned."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [str(HERE / "kinds"), *(p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE), str(HERE)]  # of torch.py and others
import torch  # noqa: E402
import zero_shards  # noqa: E402
from harness import Check, Tensor  # noqa: E402

TYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64", torch.bool: "BOOL"}


def main():
    import deepspeed
    c = Check(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
    for folder in zero_shards.write(pathlib.Path(c.work)):
        want = {}
        for name, value in zero_shards.merged(folder).items():
            dense = value.detach().contiguous()
            want[name] = Tensor(TYPES[dense.dtype], tuple(dense.shape), dense.reshape(-1).view(torch.uint8).numpy().tobytes())
        c.expect(str(folder), want)
        c.expect(str(folder / (folder / "latest").read_text()), want)
        out = folder.with_suffix(".safetensors")
        subprocess.run([os.environ["CROSSCHECK_AMN"], "convert", "-q", "--to", "safetensors", "-o", str(out), str(folder)], check=True, stdout=sys.stderr)
        c.expect(str(out), want)
        subprocess.run([os.environ["CROSSCHECK_AMN"], "scan", "-q", *(str(p) for p in folder.rglob("*") if p.is_file() and p.suffix != ".py")], check=True, stdout=sys.stderr)
    c.finish()


if __name__ == "__main__":
    main()
