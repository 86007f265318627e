"""A llama of one layer that llama.cpp runs, written byte by byte: no library
writes the files that are wrong in one thing."""
import struct

import numpy as np

U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64 = range(13)
FORM = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q", I64: "q", F64: "d"}
WIDTH, FF, HEADS = 64, 96, 2
TYPE_F32 = 0


def vocabulary():
    """Texts, scores and types: unknown, begin, end, all bytes, some words."""
    words = ["\u2581", "a", "b", "c", "\u2581a", "ab", "abc", "\u2581ab"]
    texts = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + words
    types = [2, 3, 3] + [6] * 256 + [1] * len(words)
    return texts, [0.0] * 259 + [-float(i) for i in range(len(words))], types


class Model:
    def __init__(self):
        self.version, self.order, self.alignment, self.gap, self.cut = 3, "<", 32, 0, False
        texts, scores, types = vocabulary()
        self.keys = {
            "general.architecture": (STR, "llama"), "llama.block_count": (U32, 1), "llama.context_length": (U32, 64),
            "llama.embedding_length": (U32, WIDTH), "llama.feed_forward_length": (U32, FF), "llama.attention.head_count": (U32, HEADS),
            "llama.attention.layer_norm_rms_epsilon": (F32, 1e-5), "tokenizer.ggml.model": (STR, "llama"),
            "tokenizer.ggml.tokens": (ARR, STR, texts), "tokenizer.ggml.scores": (ARR, F32, scores), "tokenizer.ggml.token_type": (ARR, I32, types),
            "tokenizer.ggml.bos_token_id": (U32, 1), "tokenizer.ggml.eos_token_id": (U32, 2),
        }
        self.tensors = {}
        n = len(texts)
        for name, dims in [("token_embd", (WIDTH, n)), ("output_norm", (WIDTH,)), ("output", (WIDTH, n)), ("blk.0.attn_norm", (WIDTH,)),
                           ("blk.0.attn_q", (WIDTH, WIDTH)), ("blk.0.attn_k", (WIDTH, WIDTH)), ("blk.0.attn_v", (WIDTH, WIDTH)),
                           ("blk.0.attn_output", (WIDTH, WIDTH)), ("blk.0.ffn_norm", (WIDTH,)), ("blk.0.ffn_gate", (WIDTH, FF)),
                           ("blk.0.ffn_up", (WIDTH, FF)), ("blk.0.ffn_down", (FF, WIDTH))]:
            self.set(name + ".weight", dims)

    def set(self, name, dims, type=TYPE_F32, data=None):
        """Dimensions innermost first, as ggml writes them."""
        if data is None:
            data = np.random.default_rng(7).standard_normal(int(np.prod(dims))).astype("<f4").tobytes()
        self.tensors[name] = (dims, type, data)

    def array(self, key, change):
        """Replaces the elements of an array by change(elements)."""
        kind, elem, values = self.keys[key]
        self.keys[key] = (kind, elem, change(list(values)))

    def bytes(self):
        size = "I" if self.version == 1 else "Q"

        def num(form, n):
            return struct.pack(self.order + form, n)

        def text(s):
            raw = s if isinstance(s, bytes) else s.encode()
            return num(size, len(raw)) + raw

        def value(kind, *rest):
            if kind == STR:
                return text(*rest)
            if kind != ARR:
                return num(FORM[kind], *rest)
            elem, values = rest
            each = b"".join(value(ARR, *v) if elem == ARR else value(elem, v) for v in values)
            return num("I", elem) + num(size, len(values)) + each

        keys = dict(self.keys)
        if self.alignment != 32:
            keys["general.alignment"] = (U32, self.alignment)
        head = b"GGUF" + num("I", self.version) + num(size, len(self.tensors)) + num(size, len(keys))
        for key, v in keys.items():
            head += text(key) + num("I", v[0]) + value(*v)
        body = b""
        for i, (name, (dims, type, data)) in enumerate(self.tensors.items()):
            if self.order == ">":
                data = np.frombuffer(data, "u4").byteswap().tobytes() if type == TYPE_F32 else data
            head += text(name) + num("I", len(dims)) + b"".join(num(size, d) for d in dims) + num("I", type) + num("Q", len(body))
            body += data
            if not (self.cut and i == len(self.tensors) - 1):
                body += bytes(-len(body) % self.alignment)
            if i == 0:
                body += bytes(self.gap)
        return head + bytes(-len(head) % self.alignment) + body
