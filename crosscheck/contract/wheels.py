"""The wheels that are read and not installed, because they are large and need a GPU."""
import os
import pathlib

WHEELS = {"vllm": "0.33.0", "sglang": "0.5.23"}


def unpacked(name):
    """Where make.py has unpacked one."""
    root = pathlib.Path(os.environ.get("CROSSCHECK_LIBS") or pathlib.Path(__file__).resolve().parent.parent.parent / ".venv")
    folder = root / "contract" / f"{name}-{WHEELS[name]}"
    if not folder.exists():
        raise SystemExit(f"{folder} does not exist: crosscheck/contract/make.py --check unpacks it")
    return folder
