"""Small models in the format that whisper.cpp loads, written by its rules (models/convert-pt-to-ggml.py and
examples/quantize), with blocks by gguf-py; whisper.cpp itself loads all of them."""
import importlib.metadata
import os
import signal
import struct
import tempfile

import gguf
import numpy as np

ORACLE = f"pywhispercpp {importlib.metadata.version('pywhispercpp')}, gguf-py {importlib.metadata.version('gguf')}"
TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8}
FTYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9}
BLOCKS = 2000  # version 2 of the blocks, in ftype


def tensors(state, audio_layers, text_layers, vocab, audio_ctx, text_ctx, mels):
    """Names and shapes of whisper.cpp's table of tensors, outermost first, and whether it keeps them in float32."""
    out = [("encoder.positional_embedding", (audio_ctx, state), True), ("encoder.conv1.weight", (state, mels, 3), None), ("encoder.conv1.bias", (state, 1), True),
           ("encoder.conv2.weight", (state, state, 3), None), ("encoder.conv2.bias", (state, 1), True), ("encoder.ln_post.weight", (state,), True), ("encoder.ln_post.bias", (state,), True),
           ("decoder.positional_embedding", (text_ctx, state), True), ("decoder.token_embedding.weight", (vocab, state), False), ("decoder.ln.weight", (state,), True), ("decoder.ln.bias", (state,), True)]

    def attention(p):
        return [(p + "query.weight", (state, state), False), (p + "query.bias", (state,), True), (p + "key.weight", (state, state), False),
                (p + "value.weight", (state, state), False), (p + "value.bias", (state,), True), (p + "out.weight", (state, state), False), (p + "out.bias", (state,), True)]

    for side, layers in (("encoder", audio_layers), ("decoder", text_layers)):
        for k in range(layers):
            p = f"{side}.blocks.{k}."
            out += [(p + "mlp_ln.weight", (state,), True), (p + "mlp_ln.bias", (state,), True), (p + "mlp.0.weight", (4 * state, state), False), (p + "mlp.0.bias", (4 * state,), True),
                    (p + "mlp.2.weight", (state, 4 * state), False), (p + "mlp.2.bias", (state,), True), (p + "attn_ln.weight", (state,), True), (p + "attn_ln.bias", (state,), True), *attention(p + "attn.")]
            if side == "decoder":
                out += [(p + "cross_attn_ln.weight", (state,), True), (p + "cross_attn_ln.bias", (state,), True), *attention(p + "cross_attn.")]
    return out


def write(rng, kind, state=32, layers=1, vocab=40, audio_ctx=8, text_ctx=8, mels=4, filters=5):
    """A model with weights of a type: its bytes, and for each tensor its type, shape, stored bytes and numbers."""
    params = [vocab, audio_ctx, state, 2, layers, text_ctx, state, 2, layers, mels, FTYPES[kind] + (BLOCKS if kind[0] == "Q" else 0)]
    out = struct.pack("<4s11i", b"lmgg", *params) + struct.pack("<2i", mels, filters) + rng.random(mels * filters).astype("<f4").tobytes()
    words = [bytes([33 + k % 90]) * (1 + k % 3) for k in range(vocab)]
    out += struct.pack("<i", len(words)) + b"".join(struct.pack("<i", len(w)) + w for w in words)
    read = {}
    for name, shape, plain in tensors(state, layers, layers, vocab, audio_ctx, text_ctx, mels):
        numbers = (rng.normal(size=shape) * 0.1).astype(np.float32)
        of = "F32" if plain or kind == "F32" else "F16" if plain is None or kind == "F16" else kind
        if of in ("F32", "F16"):
            stored = numbers.astype("<f4" if of == "F32" else "<f2")
            numbers = stored.astype(np.float32)
        else:
            q = gguf.GGMLQuantizationType[of]
            stored = gguf.quants.quantize(numbers, q)
            numbers = gguf.quants.dequantize(stored, q).reshape(shape)
        out += struct.pack("<3i", len(shape), len(name), TYPES[of]) + struct.pack(f"<{len(shape)}i", *reversed(shape)) + name.encode() + stored.tobytes()
        read[name] = (of, shape, stored.tobytes(), numbers)
    return out, read


def loads(path):
    """How whisper.cpp ends with a model, in a process of its own: 0 if it loads it, 1 if it refuses it, else the signal."""
    import _pywhispercpp as w  # before the fork: once
    log = tempfile.TemporaryFile()
    pid = os.fork()
    if not pid:
        os.dup2(log.fileno(), 1), os.dup2(log.fileno(), 2)
        signal.alarm(20)
        params = w.whisper_context_default_params()
        params.use_gpu = False
        w.whisper_init_from_file_with_params(str(path), params)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    log.seek(0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else 1 if b"failed" in log.read() or status else 0
