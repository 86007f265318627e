"""Writes the honest checkpoints of this folder with tensorflow-cpu 2.21.0: python3 generate.py, in this folder.

Each is a folder in a ZIP archive. What TensorFlow reads of them is in parser/tfbundle/testdata.
"""
import json
import pathlib
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "crosscheck/kinds"))
import bundles  # noqa: E402

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        for folder in bundles.write(pathlib.Path(work)):
            with zipfile.ZipFile(pathlib.Path(__file__).parent / (folder.name + ".zip"), "w", zipfile.ZIP_DEFLATED) as z:
                for file in sorted(folder.iterdir()):
                    z.writestr(zipfile.ZipInfo(file.name), file.read_bytes(), zipfile.ZIP_DEFLATED)
            if folder.name == "many":  # a line for each of its tensors would say little
                continue
            read = [{"name": n, "type": t, "shape": s, "bytes": d.hex()} for n, t, s, d in bundles.read(bundles.prefix(folder)) if n != "far"]
            (ROOT / "parser/tfbundle/testdata" / (folder.name + ".json")).write_text("[\n" + ",\n".join(json.dumps(r) for r in read) + "\n]\n")
