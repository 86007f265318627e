"""Writes what llama-quantize --dry-run chooses for each mix, for models of several
architectures and shapes: one JSON file a model, of the types by mix and tensor.

    generate.py LLAMA_QUANTIZE FOLDER [MODEL ...]

Made with llama.cpp 0c1e57098 (llama-cpp-python 0.3.36) and gguf 0.19. The models are
headers and holes: no number of them is read.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
from gguf import GGMLQuantizationType as T, GGUFWriter

MIXES = """Q4_0 Q4_1 Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ2_XXS IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S
    IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M IQ4_XS IQ1_M TQ1_0 TQ2_0 MXFP4_MOE Q1_0 Q2_0""".split()
LINE = re.compile(r"\]\s+(\S+)\s+-\s+\[.*?type =\s*(\S+?),\s*size =\s*.*?(?:->.*?\((\S+?)\))?\s*$")


def model(arch, layers, heads, kv, width=256, experts=0, tied=False, fused=False, vocabulary=64, layer={}, whole={}, keys={}):
    """The tensors of a model: name and shape, outermost first. layer and whole are
    others, of each layer and of all; keys are those that its architecture asks for."""
    head = width // heads
    out = {"token_embd.weight": (vocabulary, width), "output_norm.weight": (width,)}
    if not tied:
        out["output.weight"] = (vocabulary, width)
    for i in range(layers):
        p = f"blk.{i}."
        out[p + "attn_norm.weight"] = (width,)
        if fused:
            out[p + "attn_qkv.weight"] = (width + 2 * kv * head, width)
        else:
            out[p + "attn_q.weight"] = (width, width)
            out[p + "attn_k.weight"] = (kv * head, width)
            out[p + "attn_v.weight"] = (kv * head, width)
        out[p + "attn_output.weight"] = (width, width)
        if experts:
            out[p + "ffn_gate_inp.weight"] = (experts, width)
            for part in ("ffn_gate_exps", "ffn_up_exps"):
                out[p + part + ".weight"] = (experts, 512, width)
            out[p + "ffn_down_exps.weight"] = (experts, width, 512)
        else:
            for part in ("ffn_gate", "ffn_up"):
                out[p + part + ".weight"] = (512, width)
            out[p + "ffn_down.weight"] = (width, 512)
        for name, shape in layer.items():
            out[p + name] = shape
    out |= whole
    return dict(keys=keys, arch=arch, layers=layers, heads=heads, kv=kv, width=width, experts=experts, tensors=out)


MLA = {"attention.key_length_mla": 64, "attention.value_length_mla": 64, "attention.q_lora_rank": 64, "attention.kv_lora_rank": 64,
       "ssm.conv_kernel": 4, "kda.head_dim": 64, "expert_feed_forward_length": 512, "expert_shared_count": 1, "leading_dense_block_count": 1,
       "expert_gating_func": 2, "kda.gate_lower_bound": -5.0}
GLM5 = MLA | {"attention.indexer.head_count": 4, "attention.indexer.key_length": 64, "attention.indexer.top_k": 64, "attention.indexer.kpool": 4,
              "hyper_connection.count": 4, "hyper_connection.sinkhorn_iterations": 2, "hyper_connection.epsilon": 1e-5}
LATENT = {"attn_kv_a_mqa.weight": (128, 256), "attn_k_b.weight": (4, 64, 256), "attn_v_b.weight": (4, 64, 256), "attn_q_a.weight": (64, 256),
          "attn_q_b.weight": (64, 256), "ssm_f_a.weight": (64, 256), "ssm_g_b.weight": (64, 256), "ssm_beta.weight": (8, 256), "ssm_conv1d_q.weight": (64, 1, 256)}
SPARSE = {"hc_attn.weight": (24, 256), "indexer.attn_q_b.weight": (64, 256), "indexer.attn_k.weight": (64, 256), "indexer.proj.weight": (8, 256),
          "indexer_compressor_gate.weight": (64, 256), "indexer_compressor_kv.weight": (64, 256), "nextn.eh_proj.weight": (256, 512)}
SMALL = {"attn_k_norm.weight": (4, 256), "indexer.k_proj.weight": (64, 256), "indexer.q_proj.weight": (64, 256), "shortconv.conv.weight": (64, 256),
         "altup_proj.weight": (3, 256), "laurel_l.weight": (64, 256), "ffn_gate_tid2eid.weight": (64, 256), "attn_rel_b.weight": (8, 256),
         "time_mix_w1.weight": (64, 256), "time_mix_key.weight": (256, 256), "ffn_gate_shexp.weight": (512, 256), "attn_kv_b.weight": (64, 256)}

MODELS = {
    "llama-32": model("llama", 32, 8, 8),
    "llama-gqa4": model("llama", 24, 8, 2),
    "llama-80": model("llama", 80, 8, 1),
    "llama-tied": model("llama", 16, 8, 2, tied=True),
    "llama-odd": model("llama", 6, 8, 8, width=288),
    "llama-80-wide": model("llama", 6, 4, 4, width=80),
    "mixtral": model("llama", 32, 8, 2, experts=8),
    "experts-16": model("llama", 12, 8, 8, experts=16),
    "experts-4": model("llama", 9, 8, 4, experts=4),
    "qwen2": model("qwen2", 28, 8, 2),
    "qwen2-80": model("qwen2", 80, 8, 1),
    "falcon": model("falcon", 32, 8, 1, fused=True),
    "gpt2": model("gpt2", 12, 8, 8, fused=True),
    "olmo-80": model("olmo", 80, 8, 2),
    "deci-80": model("deci", 80, 8, 8),
    "jais2-68": model("jais2", 68, 8, 2),
    "llama-embed-80": model("llama-embed", 80, 8, 2),
    "llama-small": model("llama", 6, 8, 2, layer=SMALL, whole={"position_embd.weight": (64, 256), "token_types.weight": (2, 256), "per_layer_token_embd.weight": (64, 512),
                                                                "per_layer_model_proj.weight": (64, 256), "v.patch_embd.weight": (64, 256), "mm.a.code_embd.weight": (64, 256)}),
    "glm5-next": model("glm5-next", 6, 8, 2, experts=4, layer=LATENT | SPARSE, keys=GLM5),
    "bailingmoe3": model("bailingmoe3", 6, 8, 2, experts=4, layer=LATENT, keys=MLA),
    "phi3": model("phi3", 32, 8, 8, fused=True),
}


def write(path, m, numbers=np.zeros):
    """A file of the model. numbers makes an array of a shape and a type."""
    w = GGUFWriter(path, m["arch"])
    w.add_block_count(m["layers"])
    w.add_context_length(128)
    w.add_embedding_length(m["width"])
    w.add_feed_forward_length(512)
    w.add_head_count(m["heads"])
    w.add_head_count_kv(m["kv"])
    w.add_layer_norm_rms_eps(1e-5)
    w.add_layer_norm_eps(1e-5)
    w.add_rope_dimension_count(m["width"] // m["heads"])
    if m["experts"]:
        w.add_expert_count(m["experts"])
        w.add_expert_used_count(2)
    for key, value in m["keys"].items():
        (w.add_float32 if isinstance(value, float) else w.add_uint32)(f"{m['arch']}.{key}", value)
    for name, shape in m["tensors"].items():
        kind = np.float32 if len(shape) == 1 else np.float16
        w.add_tensor(name, numbers(shape, kind))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def matrix(path, m, numbers=np.ones):
    """An importance matrix for every weight."""
    w = GGUFWriter(path, "llama")
    w.add_string("general.type", "imatrix")
    w.add_array("imatrix.datasets", ["ones"])
    w.add_uint32("imatrix.chunk_count", 1)
    w.add_uint32("imatrix.chunk_size", 512)
    for name, shape in m["tensors"].items():
        if len(shape) > 1:
            stacks = shape[0] if len(shape) == 3 else 1
            w.add_tensor(name + ".in_sum2", numbers((stacks, shape[-1]), np.float32))
            w.add_tensor(name + ".counts", np.ones((stacks, 1), np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def chosen(quantize, path, mix, imatrix):
    flags = ["--imatrix", imatrix] if imatrix else []
    done = subprocess.run([quantize, "--dry-run", *flags, path, mix, "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    types = {}
    for line in done.stdout.splitlines():
        found = LINE.search(line)
        if found:
            name, was, to = found.groups()
            types[name] = (to or was).upper()
    return types if done.returncode == 0 and types else None


def main():
    quantize, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    for label in sys.argv[3:] or MODELS:
        m = MODELS[label]
        with tempfile.TemporaryDirectory() as tmp:
            path, imatrix = tmp + "/m.gguf", tmp + "/i.gguf"
            write(path, m)
            matrix(imatrix, m)
            out = {"arch": m["arch"], "layers": m["layers"], "heads": m["heads"], "kv": m["kv"], "experts": m["experts"],
                   "tensors": {n: [list(s), "F32" if len(s) == 1 else "F16"] for n, s in m["tensors"].items()}, "mixes": {}}
            for mix in MIXES:
                for with_matrix in (False, True):
                    types = chosen(quantize, path, mix, imatrix if with_matrix else None)
                    # The type of most tensors, and the others by name.
                    key = mix + (" matrix" if with_matrix else "")
                    if types is None:
                        out["mixes"][key] = None
                        continue
                    matrices = [t for n, t in types.items() if len(m["tensors"][n]) > 1]
                    usual = max(set(matrices), key=matrices.count)
                    rest = {n: t for n, t in types.items() if len(m["tensors"][n]) > 1 and t != usual}
                    if out["mixes"].get(mix) != [usual, rest]:  # with a matrix: only where that matters
                        out["mixes"][key] = [usual, rest]
            text = json.dumps(out, separators=(",", ":"))
            (folder / (label + ".json")).write_text(text.replace('"mixes":{', '"mixes":{\n').replace(']},"', ']},\n"').replace('}],"', '}],\n"') + "\n")
            print(label, len(text), sum(v is None for v in out["mixes"].values()), "refused")


if __name__ == "__main__":
    main()
