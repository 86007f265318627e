"""Runs readers on hostile files, each in its own process."""
import os
import resource
import signal
import struct
import subprocess

from gguf import GGUFReader

import tiny
from tiny import ARR, F32, I32, STR, U8, U16, U32, U64


def bounded():
    """Limits a process to 8 GiB and 5 seconds of a core, however busy it is."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))


def run(cmd):
    """The first line that a program says, or how it ended without one."""
    p = subprocess.run(list(map(str, cmd)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={"GGML_NO_BACKTRACE": "1"}, preexec_fn=bounded)
    if p.returncode:
        return {-signal.SIGABRT: "aborts", -signal.SIGXCPU: "hangs", -signal.SIGKILL: "hangs"}.get(p.returncode, "crashes")
    return p.stdout.strip()


def word(said):
    return {"A": "accepts", "R": "refuses", "N": "cannot compute"}.get(said.split()[0], said)


def ggml(tools, path):
    """What gguf_init_from_file does, without and with the data."""
    meta, data = (word(run([tools.probe, path] + more)) for more in ([], ["data"]))
    return meta if meta == data else f"{meta}, with data {data}"


def llama(tools, path):
    """What llama.cpp does from loading, with check_tensors, to the first token."""
    return word(run([tools.load, path]))


def python(path):
    """What GGUFReader does."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        bounded()
        try:
            g = GGUFReader(path)
            for f in g.fields.values():
                f.contents()
            said = "accepts"
        except BaseException as e:
            said = "refuses " + type(e).__name__
        os.write(w, said.encode())
        os._exit(0)
    os.close(w)
    said = os.read(r, 100).decode()
    os.close(r)
    _, status = os.waitpid(pid, 0)
    return "hangs" if os.WIFSIGNALED(status) else said


def table(path, about, rows):
    width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    with open(path, "w") as f:
        f.write(about + "\n")
        for row in rows:
            f.write("  ".join(cell.ljust(w) for cell, w in zip(row, width)).rstrip() + "\n")


# ---- one change each from a model that llama.cpp runs

def key(name, *value):
    return lambda m: m.keys.update({name: value})


def attribute(name, value):
    return lambda m: setattr(m, name, value)


def array(name, change):
    return lambda m: m.array(name, change)


def tensor(name, dims, type=tiny.TYPE_F32, data=b""):
    return lambda m: m.set(name, dims, type, data)


def last(e):
    return lambda values: values[:-1] + [e]


UP = "blk.0.ffn_up.weight"
N = tiny.WIDTH * tiny.FF
TOKENS, SCORES, TYPES = ("tokenizer.ggml." + k for k in ("tokens", "scores", "token_type"))
EPS = "llama.attention.layer_norm_rms_epsilon"

# Name; the finding that this module has, or the class that it ends with; what
# llama.cpp does, as the finding's text says it; the change.
CASES = [
    ("nothing", None, "accepts", lambda m: None),
    ("version 1", "gguf.version", "refuses", attribute("version", 1)),
    ("version 2", None, "accepts", attribute("version", 2)),
    ("big-endian", "gguf.big-endian", "refuses", attribute("order", ">")),
    ("alignment 1", "gguf.alignment", "aborts", attribute("alignment", 1)),
    ("alignment 8", "gguf.alignment", "aborts", attribute("alignment", 8)),
    ("alignment 64", None, "accepts", attribute("alignment", 64)),
    ("a gap of one alignment", "malformed", "refuses", attribute("gap", 32)),
    ("last padding missing", "gguf.last-padding", "accepts", lambda m: (m.set("output.weight", (tiny.WIDTH, 267)), m.tensors.update({"output_norm.weight": m.tensors.pop("output_norm.weight")}), setattr(m, "alignment", 512), setattr(m, "cut", True))),
    ("split.count 2 alone", "gguf.split", "refuses", key("split.count", U16, 2)),
    ("an array of arrays", "gguf.nested-array", "refuses", key("x", ARR, ARR, [(U8, [1]), (U8, [2])])),
    ("a key that is not ASCII", "gguf.key-text", "accepts", key("clé", U8, 1)),
    ("block_count u64", "gguf.key-kind", "refuses", key("llama.block_count", U64, 1)),
    ("context_length i32", "gguf.key-kind", "refuses", key("llama.context_length", I32, 64)),
    ("epsilon u32", "gguf.key-kind", "refuses", key(EPS, U32, 1)),
    ("bos_token_id i32", "gguf.key-kind", "refuses", key("tokenizer.ggml.bos_token_id", I32, 1)),
    ("head_count an array of u32", None, "accepts", key("llama.attention.head_count", ARR, U32, [tiny.HEADS])),
    ("scores u8", "gguf.key-kind", "refuses", lambda m: m.keys.update({SCORES: (ARR, U8, [0] * 267)})),
    ("token_type u32", "gguf.key-kind", "refuses", lambda m: m.keys.update({TYPES: (ARR, U32, m.keys[TYPES][2])})),
    ("block_count 0", "gguf.layer-count", "aborts", key("llama.block_count", U32, 0)),
    ("block_count 513", "gguf.layer-count", "aborts", key("llama.block_count", U32, 513)),
    ("expert_count 1025", "gguf.expert-count", "aborts", key("llama.expert_count", U32, 1025)),
    ("experts, none used", "gguf.expert-count", "aborts", key("llama.expert_count", U32, 4)),
    ("experts used, none there", "gguf.expert-count", "aborts", key("llama.expert_used_count", U32, 2)),
    ("more experts used than there are", "gguf.expert-count", "aborts", lambda m: m.keys.update({"llama.expert_count": (U32, 4), "llama.expert_used_count": (ARR, U32, [5])})),
    ("as many groups as experts", "gguf.expert-count", "aborts", lambda m: m.keys.update({"llama.expert_count": (U32, 4), "llama.expert_used_count": (U32, 2), "llama.expert_group_count": (U32, 4)})),
    ("groups of unequal size", "gguf.expert-count", "aborts", lambda m: m.keys.update({"llama.expert_count": (U32, 5), "llama.expert_used_count": (U32, 2), "llama.expert_group_count": (U32, 2), "llama.expert_group_used_count": (U32, 1)})),
    ("groups, none used", "gguf.expert-count", "aborts", lambda m: m.keys.update({"llama.expert_count": (U32, 4), "llama.expert_used_count": (U32, 2), "llama.expert_group_count": (U32, 2)})),
    ("groups without experts", "gguf.expert-count", "aborts", key("llama.expert_group_count", U32, 2)),
    ("more layers predict than there are", "gguf.layer-count", "aborts", key("llama.nextn_predict_layers", U32, 2)),
    ("rope scaling that is none", "gguf.rope-scaling", "aborts", key("llama.rope.scaling.type", STR, "more")),
    ("rope scaling without a name", "gguf.rope-scaling", "aborts", key("llama.rope.scaling.type", STR, "")),
    ("rope scaling yarn", None, "accepts", key("llama.rope.scaling.type", STR, "yarn")),
    ("epsilon NaN", "gguf.epsilon", "aborts", key(EPS, F32, float("nan"))),
    ("epsilon -1", "gguf.epsilon", "aborts", key(EPS, F32, -1.0)),
    ("epsilon infinite", "gguf.epsilon", "accepts", key(EPS, F32, float("inf"))),
    ("scores one short", "gguf.token-count", "refuses", array(SCORES, lambda v: v[:-1])),
    ("token_type one short", "gguf.token-count", "refuses", array(TYPES, lambda v: v[:-1])),
    ("bos_token_id beyond", "gguf.token-id", "accepts", key("tokenizer.ggml.bos_token_id", U32, 267)),
    ("charsmap of 3 bytes", "gguf.charsmap", "refuses", lambda m: m.keys.update({"tokenizer.ggml.model": (STR, "t5"), "tokenizer.ggml.precompiled_charsmap": (ARR, U8, [1, 0, 0])})),
    ("charsmap shorter than it says", "gguf.charsmap", "refuses", lambda m: m.keys.update({"tokenizer.ggml.model": (STR, "t5"), "tokenizer.ggml.precompiled_charsmap": (ARR, U8, [9, 0, 0, 0, 1, 2])})),
    ("two equal tokens", "gguf.token-dup", "aborts", array(TOKENS, last("a"))),
    ("a token <0xZZ>", "gguf.token-byte", "accepts", array(TOKENS, last("<0xZZ>"))),
    ("a token with a NUL", "malformed", "accepts", array(TOKENS, last("q\0r"))),
    ("a token equal to another up to a NUL", "malformed", "aborts", array(TOKENS, last("a\0b"))),
    ("a token that is not UTF-8", "malformed", "accepts", array(TOKENS, last(b"\xff"))),
    ("a name of 64 bytes", "gguf.name-long", "refuses", tensor("n" * 64, (1,), data=bytes(4))),
    ("type 4", "gguf.type-removed", "refuses", tensor(UP, (tiny.WIDTH, tiny.FF), 4, bytes(N))),
    ("type 36", "gguf.type-removed", "refuses", tensor(UP, (tiny.WIDTH, tiny.FF), 36, bytes(N))),
    ("type 43", "gguf.type-unknown", "refuses", tensor(UP, (tiny.WIDTH, tiny.FF), 43, bytes(N))),
    ("type 139 of ik_llama.cpp", "gguf.type-unknown", "refuses", tensor(UP, (tiny.WIDTH, tiny.FF), 139, bytes(N))),
    ("a weight of Q8_1", "gguf.type-internal", "refuses", tensor(UP, (tiny.WIDTH, tiny.FF), 9, bytes(N // 32 * 36))),
    ("a weight of I32", "gguf.weight-type", "crashes", tensor(UP, (tiny.WIDTH, tiny.FF), 26, bytes(4 * N))),
    ("a weight of F64", "gguf.weight-type", "crashes", tensor(UP, (tiny.WIDTH, tiny.FF), 28, bytes(8 * N))),
    ("a tensor of no element", "gguf.shape-empty", "refuses", tensor("more", (0, 2))),
    ("a tensor of no dimension", "gguf.shape-scalar", "refuses", tensor("more", (), data=bytes(4))),
    ("a tensor that llama has not", "gguf.tensor-unknown", "refuses", tensor("more", (1,), data=bytes(4))),
    ("scores of the wrong length, all else right", "gguf.token-count", "refuses", array(SCORES, lambda v: [0.0])),
    ("a weight that is NaN", None, "refuses", tensor(UP, (tiny.WIDTH, tiny.FF), data=struct.pack("<f", float("nan")) * N)),
]


def write(folder):
    """Writes the cases as files and returns their paths."""
    os.mkdir(folder)
    paths = []
    for i, (_, _, _, change) in enumerate(CASES):
        m = tiny.Model()
        change(m)
        paths.append(os.path.join(folder, f"{i:02}.gguf"))
        with open(paths[-1], "wb") as f:
            f.write(m.bytes())
    return paths
