"""jina-bert-v2, which transformers has no class for: random tensors under the names of
the published models. The oracle is llama.cpp's converter; llama.cpp runs the file."""
import json

import models
import numpy as np
import torch
from safetensors.torch import load_file, save_file

H, F, LAYERS = 64, 96, 2


def make(folder, dtype):
    torch.manual_seed(0)
    t = {"embeddings.word_embeddings.weight": (models.VOCAB, H), "embeddings.token_type_embeddings.weight": (2, H), "embeddings.LayerNorm.weight": (H,), "embeddings.LayerNorm.bias": (H,)}
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        for n in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            t |= {at + n + ".weight": (H, H), at + n + ".bias": (H,)}
        for n in ("attention.output.LayerNorm", "mlp.layernorm"):
            t |= {at + n + ".weight": (H,), at + n + ".bias": (H,)}
        t |= {at + "mlp.gated_layers.weight": (2 * F, H), at + "mlp.wo.weight": (H, F), at + "mlp.wo.bias": (H,)}
    tensors = {n: (torch.randn(s) * 0.1 + (1 if "orm.weight" in n else 0)).to(dtype) for n, s in t.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    models.word_pieces(folder, None)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["JinaBertForMaskedLM"], "model_type": "bert", "hidden_size": H, "intermediate_size": F, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "vocab_size": models.VOCAB,
        "max_position_embeddings": 256, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "position_embedding_type": "alibi", "feed_forward_type": "geglu", "pad_token_id": 0}))
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tokenizer_class": "BertTokenizer"}))


def check(work, amn, converter, same, wrong, logits):
    counted = bad = 0
    for kind, dtype in {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}.items():
        folder, back = work / f"jina-{kind}", work / f"jina-{kind}-back"
        folder.mkdir()
        make(folder, dtype)
        ours, theirs = work / f"jina-{kind}-ours.gguf", work / f"jina-{kind}-theirs.gguf"
        for args in (["convert", folder, "--to", "gguf", "--gguf-kv", "tokenizer.ggml.pre=jina-v2-en", "-o", ours], ["convert", ours, "--to", "hf", "-o", back]):
            if why := amn(*args):
                return 1, wrong("jina", why)
        converter.write(folder, theirs, kind, "jina-v2-en")
        got, want = converter.read(ours), converter.read(theirs)
        counted += sum(int(np.prod(t[1])) for t in want[1].values())
        bad += same(f"jina {kind}", got, want)
        a, b = load_file(folder / "model.safetensors"), load_file(back / "model.safetensors")
        bad += sum(wrong("jina", f"back: {n}") for n in sorted(set(a) | set(b)) if n not in a or n not in b or a[n].dtype != b[n].dtype or not torch.equal(a[n], b[n]))
        numbers, why = logits(ours, [2, *range(5, 25)])
        if numbers is None or not np.isfinite(numbers).all():
            bad += wrong("jina", f"llama.cpp does not run it: {why}")
    return counted, bad
