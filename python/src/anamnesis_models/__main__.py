"""Runs the program ``amn`` as ``python -m anamnesis_models``."""

import os
import subprocess
import sys

from ._binary import binary

if __name__ == "__main__":
    command = [binary(), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(command[0], command)
    sys.exit(subprocess.run(command).returncode)
