"""Writes this folder's .gguf files with gguf-py's writer, and what gguf-py's
reader makes of each to testdata/gguf/expect.json.

Python 3.11.7, gguf 0.19.0, numpy 2.4.6. Run it in the root of the repository;
the same versions give the same bytes.
"""
import glob
import hashlib
import json
import logging
import os

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T, GGUFEndian, GGUFReader, GGUFValueType as V, GGUFWriter

logging.disable(logging.CRITICAL)
OUT = "corpus/valid/gguf/"
rng = np.random.default_rng(20261121)


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def writer(name, arch="llama", **kw):
    return GGUFWriter(OUT + name + ".gguf", arch, **kw)


KINDS = {
    V.UINT8: [0, 255], V.INT8: [-128, 127], V.UINT16: [0, 65535], V.INT16: [-32768, 32767],
    V.UINT32: [0, 2**32 - 1], V.INT32: [-(2**31), 2**31 - 1], V.FLOAT32: [0.5, -1e30], V.BOOL: [True, False],
    V.STRING: ["", "héllo ▁世界"], V.UINT64: [0, 2**64 - 1], V.INT64: [-(2**63), 2**63 - 1], V.FLOAT64: [1e300, -0.1],
}


def kinds(name, endian):
    w = writer(name, endianess=endian)
    for k, values in KINDS.items():
        for i, v in enumerate(values):
            w.add_key_value(f"one.{k.name.lower()}.{i}", v, k)
        w.add_key_value(f"many.{k.name.lower()}", values * 3, V.ARRAY, sub_type=k)
    finish(w)


def blocks(t, rows, cols):
    elems, size = GGML_QUANT_SIZES[t]
    return rng.integers(0, 256, (rows, cols // elems * size), dtype=np.uint8)


def types():
    """Every type but Q8_1: gguf-py gives its block 40 bytes, ggml 36."""
    w = writer("types")
    for t in T:
        if t == T.Q8_1:
            continue
        w.add_tensor(t.name.lower() + ".weight", blocks(t, 2, 256), raw_dtype=t)
    finish(w)


PLAIN = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


def plain(name, endian, alignment):
    w = writer(name, endianess=endian)
    if alignment != 32:
        w.add_custom_alignment(alignment)
    for k, (n, d) in enumerate(PLAIN.items()):
        shape = [(3,), (2, 5), (1, 2, 3), (2, 1, 2, 3)][k % 4]
        w.add_tensor(n, rng.integers(-100, 100, shape).astype(d))
    finish(w)


def split():
    w = writer("split", split_max_tensors=2)
    w.add_uint32("llama.block_count", 1)
    for i, n in enumerate(["token_embd.weight", "blk.0.attn_norm.weight", "blk.0.attn_q.weight", "blk.0.ffn_up.weight", "output_norm.weight"]):
        w.add_tensor(n, rng.standard_normal((4, 8) if i % 2 == 0 else (8,)).astype(np.float32))
    finish(w)


def model():
    """A llama of one layer, with a vocabulary as converters write it."""
    w = writer("llama")
    w.add_name("tiny")
    w.add_context_length(64)
    w.add_embedding_length(32)
    w.add_block_count(1)
    w.add_feed_forward_length(64)
    w.add_head_count(4)
    w.add_head_count_kv(2)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(10000.0)
    w.add_file_type(0)
    w.add_tokenizer_model("llama")
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + ["▁the", "▁a", "ing"]
    w.add_token_list(tokens)
    w.add_token_scores([0.0] * len(tokens))
    w.add_token_types([2, 3, 3] + [6] * 256 + [1] * 3)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_add_bos_token(True)
    for n, shape in {
        "token_embd.weight": (len(tokens), 32), "output_norm.weight": (32,), "blk.0.attn_norm.weight": (32,), "blk.0.ffn_norm.weight": (32,),
        "blk.0.attn_q.weight": (32, 32), "blk.0.attn_k.weight": (16, 32), "blk.0.attn_v.weight": (16, 32), "blk.0.attn_output.weight": (32, 32),
        "blk.0.ffn_gate.weight": (64, 32), "blk.0.ffn_up.weight": (64, 32), "blk.0.ffn_down.weight": (32, 64),
    }.items():
        if len(shape) == 1:
            w.add_tensor(n, np.ones(shape, np.float32))
        else:
            w.add_tensor(n, blocks(T.Q4_0, *shape), raw_dtype=T.Q4_0)
    finish(w)


def nested():
    w = writer("nested")
    w.add_key_value("deep", [[[1, 2], [3]], [[4]]], V.ARRAY)
    w.add_key_value("words", [["a", "b"], ["c"]], V.ARRAY)
    finish(w)


def said(path):
    r = GGUFReader(path)
    fields = {}
    for name, f in r.fields.items():
        if name.startswith("GGUF."):
            continue
        value = f.contents()
        if isinstance(value, float) or (isinstance(value, list) and value and isinstance(value[0], float)):
            value = [float(x).hex() for x in (value if isinstance(value, list) else [value])]
            value = value if f.types[0] == V.ARRAY else value[0]
        fields[name] = {"types": [int(t) for t in f.types], "value": value}
    return {
        "version": int(r.fields["GGUF.version"].contents()), "big": r.endianess == GGUFEndian.BIG, "alignment": int(r.alignment), "data_offset": int(r.data_offset),
        "fields": fields,
        "tensors": [{
            "name": t.name, "ne": [int(n) for n in t.shape], "type": t.tensor_type.name, "id": int(t.tensor_type), "offset": int(t.data_offset), "bytes": int(t.n_bytes),
            "sha256": hashlib.sha256(r.data[t.data_offset:t.data_offset + t.n_bytes].tobytes()).hexdigest(),
        } for t in r.tensors],
    }


for old in glob.glob(OUT + "*.gguf"):
    os.remove(old)
kinds("kinds-le", GGUFEndian.LITTLE)
kinds("kinds-be", GGUFEndian.BIG)
types()
plain("plain-le", GGUFEndian.LITTLE, 32)
plain("plain-be", GGUFEndian.BIG, 32)
plain("plain-align-8", GGUFEndian.LITTLE, 8)
plain("plain-align-128", GGUFEndian.LITTLE, 128)
split()
model()
nested()
os.makedirs("testdata/gguf", exist_ok=True)
with open("testdata/gguf/expect.json", "w") as f:
    json.dump({os.path.basename(p): said(p) for p in sorted(glob.glob(OUT + "*.gguf"))}, f, indent=1, ensure_ascii=False)
    f.write("\n")
