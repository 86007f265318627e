"""amn split and amn join against llama-gguf-split: files of several kinds, cut by size and
by number, and put together again, byte for byte; and sets that both refuse.

    python3 crosscheck/run.py split         CROSSCHECK_LLAMA_SPLIT names a tool that is built
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != HERE]  # of gguf.py and others
sys.path[:0] = [str(HERE / "ggml")]

import gguf  # noqa: E402
import llamacpp  # noqa: E402
import numpy as np  # noqa: E402

WORK = pathlib.Path(sys.argv[2])
AMN = os.environ["CROSSCHECK_AMN"]
ARGS = [(["--split-max-tensors", "1"], ["--max-tensors", "1"]), (["--split-max-tensors", "7"], ["--max-tensors", "7"]), (["--split-max-tensors", "4000"], ["--max-tensors", "4000"]),
        (["--split-max-size", "1M"], ["--max-size", "1M"]), (["--split-max-size", "3M"], ["--max-size", "3M"]), (["--split-max-size", "1G"], ["--max-size", "1G"]),
        (["--split-max-tensors", "5", "--no-tensor-first-split"], ["--max-tensors", "5", "--keys-alone"]), (["--split-max-size", "2M", "--no-tensor-first-split"], ["--max-size", "2M", "--keys-alone"])]
Q = gguf.GGMLQuantizationType
rng = np.random.default_rng(3)
bad = 0


def wrong(what, why):
    global bad
    bad += 1
    print(f"{what}: {why}"[:400], file=sys.stderr)


def writer(path):
    w = gguf.GGUFWriter(path, "llama")
    w.add_uint32("llama.block_count", 2)
    return w


def done(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def plain(path):
    w = writer(path)
    for i in range(23):
        w.add_tensor(f"blk.{i}.attn_q.weight", rng.standard_normal((rng.integers(1, 300), 256)).astype(np.float16))
    done(w)


def types(path):
    """Blocks of several types, vectors of odd lengths, and keys of every kind. Another alignment is
    left out: llama-gguf-split writes files of it that it does not read itself."""
    w = writer(path)
    for i, t in enumerate((Q.Q4_K, Q.Q8_0, Q.Q6_K, Q.Q4_0, Q.IQ4_NL, Q.TQ2_0, Q.MXFP4)):
        elements, size = gguf.GGML_QUANT_SIZES[t]
        rows, cols = int(rng.integers(1, 900)), 2 * max(256, elements)
        w.add_tensor(f"blk.{i}.ffn_up.weight", rng.integers(0, 256, (rows, cols // elements * size), dtype=np.uint8), raw_dtype=t)
        w.add_tensor(f"blk.{i}.ffn_norm.weight", rng.standard_normal(int(rng.integers(1, 77))).astype(np.float32))
    w.add_array("tokenizer.ggml.tokens", ["a", "", "ü", "世界", "x" * 300])
    w.add_array("tokenizer.ggml.scores", [0.5, -1.0, 0.0, 1e-30, 3e30])
    w.add_array("tokenizer.ggml.token_type", [1, 2, 3, 4, 5])
    w.add_array("x.flags", [True, False])
    for name, add, value in (("u8", w.add_uint8, 255), ("i8", w.add_int8, -128), ("u16", w.add_uint16, 65535), ("i16", w.add_int16, -32768), ("u32", w.add_uint32, 2**32 - 1), ("i32", w.add_int32, -2**31),
                             ("u64", w.add_uint64, 2**64 - 1), ("i64", w.add_int64, -2**63), ("f32", w.add_float32, 1e-45), ("f64", w.add_float64, 1e308), ("bool", w.add_bool, True), ("text", w.add_string, "naïve\nx")):
        add("x." + name, value)
    done(w)


def shapes(path):
    """One to four dimensions, of one element and of many."""
    w = writer(path)
    for i, shape in enumerate(((1,), (32,), (3, 32), (2, 3, 32), (2, 1, 3, 32), (1, 1, 1, 1), (4000, 64), (1, 32), (5, 5, 5, 5))):
        w.add_tensor(f"t{i}", rng.standard_normal(shape).astype(np.float32))
    done(w)


def one(path):
    w = writer(path)
    w.add_tensor("token_embd.weight", rng.standard_normal((900, 900)).astype(np.float32))
    done(w)


def many(path):
    w = writer(path)
    for i in range(700):
        w.add_tensor(f"blk.{i}.x.weight", rng.standard_normal(33).astype(np.float32))
    done(w)


def again(path):
    """A file that was put together of parts: its keys speak of a set of one."""
    w = writer(path)
    for name, value in (("split.no", 0), ("split.count", 0)):
        w.add_uint16(name, value)
    w.add_int32("split.tensors.count", 3)
    for i in range(3):
        w.add_tensor(f"t{i}", rng.standard_normal((200, 600)).astype(np.float32))
    done(w)


def run(*args):
    p = subprocess.run(list(map(str, args)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return p.returncode, p.stdout.strip()[-200:]


def compare(exe, name, whole):
    """The bytes that were compared."""
    counted = 0
    for i, (theirs, ours) in enumerate(ARGS):
        what = f"{name} {' '.join(ours)}"
        want, got = WORK / f"{name}-{i}-theirs", WORK / f"{name}-{i}-ours"
        want.mkdir()
        code, said = run(exe, *theirs, whole, want / whole.stem)
        if "have 0 tensors" in said:  # one alone is larger than a file may be
            if run(AMN, "split", *ours, whole, "-o", got)[0] != 5 or got.exists():
                wrong(what, "a tensor that passes the size of a file is split off")
            continue
        if code:
            wrong(what, f"llama-gguf-split: {said}")
            continue
        if (r := run(AMN, "split", *ours, whole, "-o", got))[0]:
            wrong(what, r[1])
            continue
        files = sorted(p.name for p in want.iterdir())
        if files != sorted(p.name for p in got.iterdir()):
            wrong(what, f"files {files}, and {sorted(p.name for p in got.iterdir())}")
            continue
        for f in files:
            a, b = (want / f).read_bytes(), (got / f).read_bytes()
            counted += len(a)
            if a != b:
                wrong(what, f"{f} differs")
        merged, joined = WORK / f"{name}-{i}-merged.gguf", WORK / f"{name}-{i}-joined.gguf"
        code, said = run(exe, "--merge", want / files[0], merged)
        if code:
            wrong(what, f"llama-gguf-split --merge: {said}")
            continue
        if (r := run(AMN, "join", got / files[0], "-o", joined))[0]:
            wrong(what, f"join: {r[1]}")
            continue
        counted += merged.stat().st_size
        if merged.read_bytes() != joined.read_bytes():
            wrong(what, "the joined file differs")
        for p in (want, got):
            shutil.rmtree(p)
        merged.unlink(), joined.unlink()
    return counted


def refuses(exe):
    """Sets that are none: neither writes a file, and amn names the class and the place."""
    asked = 0
    parts = {}
    for name, write in (("a", plain), ("b", one), ("c", shapes)):
        whole = WORK / f"{name}.gguf"
        write(whole)
        (WORK / name).mkdir()
        run(exe, "--split-max-tensors", "1" if name == "b" else "4", whole, WORK / name / "m")
        parts[name] = sorted((WORK / name).iterdir())

    def attack(what, files):
        nonlocal asked
        asked += 1
        folder = WORK / "attack"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for f, data in files.items():
            (folder / f).write_bytes(data)
        out, theirs = folder / "ours.gguf", folder / "theirs.gguf"
        code, said = run(AMN, "join", folder / sorted(files)[0], "-o", out)
        if not 3 <= code <= 7 or out.exists() or "internal" in said or "panic" in said:
            wrong(what, f"join ends with {code}: {said}; a file: {out.exists()}")
        code, _ = run(exe, "--merge", folder / sorted(files)[0], theirs)
        if code == 0:
            print(f"{what}: llama-gguf-split makes a file of it", file=sys.stderr)

    whole = {p.name: p.read_bytes() for p in parts["a"]}
    names = sorted(whole)
    for lost in names:
        if lost != names[0]:
            attack(f"without {lost}", {n: d for n, d in whole.items() if n != lost})
    for n in names:
        for cut in (0, 3, 24, len(whole[n]) // 2, len(whole[n]) - 1):
            attack(f"{n} cut to {cut} bytes", whole | {n: whole[n][:cut]})
    attack("the last part is the one before", whole | {names[-1]: whole[names[-2]]})
    other = {p.name: p.read_bytes() for p in parts["c"]}
    attack("a part of another model", whole | {names[1]: other[sorted(other)[1]]})
    for key in (b"split.no", b"split.count", b"split.tensors.count"):
        at = whole[names[1]].index(key) + len(key) + 4
        for value in (b"\0\0", b"\xff\xff", b"\x01\x80"):
            data = bytearray(whole[names[1]])
            data[at:at + 2] = value
            if bytes(data) != whole[names[1]]:
                attack(f"{key.decode()} of the second part is {value}", whole | {names[1]: bytes(data)})
    return asked


def main():
    exe = llamacpp.split(llamacpp.sources())
    rows = []
    for write in (plain, types, shapes, one, many, again):
        whole = WORK / f"{write.__name__}.gguf"
        write(whole)
        before = bad
        counted = compare(exe, write.__name__, whole)
        rows.append([f"split and join: {write.__name__}", "llama-gguf-split: bytes", counted, bad - before])
        whole.unlink()
    before = bad
    rows.append(["join: sets that are none", "refused, nothing written", refuses(exe), bad - before])
    print(json.dumps(rows))


main()
