"""Programs of TorchScript against torch.jit.load: the tensors of those that only compute, and which have no other danger than that torch runs them.

kinds/scripted.py writes them: modules of torch.nn, scripted, traced and frozen, a module with all statements
of the language, and programs that do more than compute, each in one way, as torch compiles them or forged."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [str(HERE / "kinds"), *(p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE), str(HERE)]  # of torch.py and others
import scripted  # noqa: E402
import torch  # noqa: E402
from harness import Check, Tensor  # noqa: E402

c = Check(f"torch {torch.__version__}")
wrong = 0
for path, computes, tensors in scripted.write(pathlib.Path(c.work)):
    scan = subprocess.run([os.environ["CROSSCHECK_AMN"], "scan", str(path)], stdout=subprocess.PIPE, text=True)
    if scan.returncode != 7 or ("pth.script-runs" in scan.stdout) != computes:
        wrong += 1
        print(f"{path.name}: amn scan ends with {scan.returncode}\n{scan.stdout}", file=sys.stderr)
    if computes:
        c.expect(str(path), {n: Tensor(*t) for n, t in tensors.items()})
if wrong:
    sys.exit(f"{wrong} programs are judged otherwise")
c.finish()
