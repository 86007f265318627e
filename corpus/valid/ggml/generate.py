"""Writes the honest files of this folder, by the rules of whisper.cpp's converter, which loads both (pywhispercpp 1.5.1): python3 generate.py, in this folder."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "crosscheck/kinds"))
from whisper import loads, np, write

for name, seed, kind, more in (("small", 1, "F16", {"state": 8, "audio_ctx": 4, "text_ctx": 4}), ("blocks", 2, "Q5_0", {})):
    data, _ = write(np.random.default_rng(seed), kind, vocab=20, **more)
    pathlib.Path(name + ".bin").write_bytes(data)
    assert loads(name + ".bin") == 0
