"""Compares what the gate writes with the schemas and the programs that read it.

The packages of gate/requirements.txt live in a virtual environment of their own,
.venv/gate; CROSSCHECK_GATE names a Python that has them already.
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
VENV = HERE.parent / ".venv" / "gate"


def python():
    given = os.environ.get("CROSSCHECK_GATE")
    if given:
        return given
    wanted, stamp = (HERE / "gate" / "requirements.txt").read_text(), VENV / "installed.txt"
    exe = VENV / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        subprocess.run([str(exe), "-m", "pip", "install", "-q", "-r", str(HERE / "gate" / "requirements.txt")], check=True, stdout=sys.stderr)
        stamp.write_text(wanted)
    return str(exe)


def main():
    done = subprocess.run([python(), str(HERE / "gate" / "check.py"), sys.argv[2]], env=os.environ | {"PYTHONPATH": str(HERE / "gate")})
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
