"""Writes the honest checkpoints of this folder with torch 2.15.0: python3 generate.py, in this folder.

Each is a folder in a ZIP archive. What dcp_to_torch_save makes of them is in parser/dcp/testdata.
"""
import pathlib
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "crosscheck/kinds"))
import distributed  # noqa: E402

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        for folder in distributed.write(pathlib.Path(work)):
            if folder.name not in ("plain", "few"):
                continue
            with zipfile.ZipFile(pathlib.Path(__file__).parent / (folder.name + ".zip"), "w") as z:
                for file in sorted(folder.iterdir()):
                    z.writestr(zipfile.ZipInfo(file.name), file.read_bytes())
            distributed.merge(folder, ROOT / "parser/dcp/testdata" / (folder.name + ".pt"))
