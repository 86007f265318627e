"""Compares `amn quantize` with bitsandbytes and transformers, on fresh random models.
run.py starts it: worker.py AMN ROUNDS.

codes: every stored tensor of every weight, against what bitsandbytes' own quantizer
makes of the same numbers: the same bits. loads: models of several architectures,
quantized here as folders, are loaded by transformers; each dequantized weight has
the bits of the one that transformers quantized itself, and the logits are the same.
"""
import inspect
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import bitsandbytes
import bitsandbytes.functional as F
import bitsandbytes.nn.modules
import torch
import transformers as T
from safetensors.torch import load_file, save_file

warnings.filterwarnings("ignore")
T.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
# Where it finds AVX512_BF16 it packs weights anew, which the shapes here do not allow.
bitsandbytes.nn.modules.has_avx512bf16 = lambda: False
torch.set_num_threads(1)  # with more, torch adds in an order of their number
AMN = sys.argv[1]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
rows, failed = {}, []


def amn(*args):
    done = subprocess.run([AMN, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"amn {args}: {done.stderr}")


def count(kind, elements, bad, where):
    n, d = rows.get(kind, (0, 0))
    rows[kind] = (n + elements, d + bad)
    if bad:
        failed.append(f"{kind}: {where}: {bad} differ")


def bits(t):
    return t.contiguous().view(torch.uint8).flatten() if t.dim() else t.reshape(1).view(torch.uint8)


def same(kind, where, want, got):
    if got is None or want.dtype != got.dtype or want.shape != got.shape:
        count(kind, want.numel(), 1, f"{where}: {want.dtype} {tuple(want.shape)}, got {None if got is None else (got.dtype, tuple(got.shape))}")
        return
    count(kind, want.numel(), int((bits(want) != bits(got)).sum()), where)


def numbers(g):
    """Matrices of several shapes, types and scales."""
    shapes = [(256, 512), (300, 192), (64, 4096), (33, 50), (7, 9), (1, 1), (129, 67), (512, 352), (1024, 384)]
    out = {}
    for i, shape in enumerate(shapes):
        x = torch.randn(shape, generator=g) * torch.exp(torch.randn((shape[0], 1), generator=g))
        if i % 3 == 1:
            x[torch.rand(shape, generator=g) < 0.2] = 0
        if i == 2:
            x[5] = 0
        out[f"m.{i}.weight"] = x.to([torch.float32, torch.bfloat16, torch.float16][i % 3]).contiguous()
    return out


def codes(g, root):
    model = numbers(g)
    save_file(model, root / "model.safetensors")
    for kind in ("nf4", "fp4"):
        for block in random.sample([32, 64, 128, 256, 512, 1024, 2048, 4096], 3) + [64]:
            for nested in (False, True):
                out = root / "out.safetensors"
                amn("forget", "-f", "--to", kind, "--block-size", block, *(["--double-quant"] if nested else []), "-o", out, root / "model.safetensors")
                got = load_file(out)
                label = f"{kind}{', nested' if nested else ''}"
                for name, w in model.items():
                    q, state = F.quantize_4bit(w, quant_type=kind, blocksize=block, compress_statistics=nested)
                    want = {name: q} | {f"{name}.{k}": v for k, v in state.as_dict(packed=True).items()}
                    for k, v in want.items():
                        same(label, f"{k} in blocks of {block}", v, got.pop(k, None))
                if got:
                    failed.append(f"{label}: also {sorted(got)}")
    out = root / "out8.safetensors"
    amn("forget", "-f", "--to", "int8", "-o", out, root / "model.safetensors")
    got = load_file(out)
    for name, w in model.items():
        q, scales, _ = F.int8_vectorwise_quant(w.float())
        module = name.removesuffix("weight")
        for k, v in {name: q, module + "SCB": scales, module + "weight_format": torch.tensor(0, dtype=torch.uint8)}.items():
            same("int8", k, v, got.pop(k, None))
    if got:
        failed.append(f"int8: also {sorted(got)}")


SMALL = dict(vocab_size=128, hidden_size=64, intermediate_size=160, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
BERT = dict(vocab_size=128, hidden_size=64, intermediate_size=160, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64)
MODELS = [
    ("LlamaForCausalLM", lambda: T.LlamaConfig(**SMALL)),
    ("LlamaForCausalLM", lambda: T.LlamaConfig(**SMALL, tie_word_embeddings=True)),
    ("Qwen2ForCausalLM", lambda: T.Qwen2Config(**SMALL)),
    ("Qwen2MoeForCausalLM", lambda: T.Qwen2MoeConfig(**SMALL, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=64)),
    ("MixtralForCausalLM", lambda: T.MixtralConfig(**SMALL, num_local_experts=4)),
    ("Gemma2ForCausalLM", lambda: T.Gemma2Config(**SMALL, head_dim=16)),
    ("GPT2LMHeadModel", lambda: T.GPT2Config(vocab_size=128, n_embd=64, n_layer=2, n_head=4, n_positions=64)),
    ("OPTForCausalLM", lambda: T.OPTConfig(vocab_size=128, hidden_size=64, ffn_dim=160, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64, word_embed_proj_dim=64)),
    ("BertForMaskedLM", lambda: T.BertConfig(**BERT)),
    ("RobertaForMaskedLM", lambda: T.RobertaConfig(**BERT)),
    ("T5ForConditionalGeneration", lambda: T.T5Config(vocab_size=128, d_model=64, d_kv=16, d_ff=160, num_layers=2, num_heads=4, decoder_start_token_id=0)),
    ("LlamaForSequenceClassification", lambda: T.LlamaConfig(**SMALL, num_labels=3, pad_token_id=0)),
    ("LlavaForConditionalGeneration", lambda: T.LlavaConfig(text_config=T.LlamaConfig(**SMALL), vision_config=T.CLIPVisionConfig(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, image_size=16, patch_size=8), image_token_index=5)),
]
LINEAR = (bitsandbytes.nn.Linear4bit, bitsandbytes.nn.Linear8bitLt)


def dequantized(model):
    out = {}
    for name, m in model.named_modules():
        if isinstance(m, bitsandbytes.nn.Linear4bit):
            out[name] = F.dequantize_4bit(m.weight.data, m.weight.quant_state)
        elif isinstance(m, bitsandbytes.nn.Linear8bitLt):
            out[name] = F.int8_vectorwise_dequant(m.weight.data, m.weight.SCB if m.weight.SCB is not None else m.state.SCB)
    return out


def loads(cls, config, root):
    cls = getattr(T, cls)
    plain = root / "plain"
    model = cls(config())
    kind = random.choice(["nf4", "fp4"])
    dtype = random.choice([torch.float32, torch.bfloat16])
    model.to(dtype).save_pretrained(plain, max_shard_size=random.choice(["100KB", "5GB"]))
    for label, flags, q in [
        ("loads four bits", ["--to", kind], T.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=kind, bnb_4bit_compute_dtype=dtype)),
        ("loads four bits, nested", ["--to", kind, "--double-quant"], T.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=kind, bnb_4bit_compute_dtype=dtype, bnb_4bit_use_double_quant=True)),
        ("loads eight bits", ["--to", "int8"], T.BitsAndBytesConfig(load_in_8bit=True)),
    ]:
        ours = root / "ours"
        amn("forget", *flags, "--max-shard-size", random.choice(["100KB", "5GB"]), "-f", "-o", ours, plain)
        got, info = cls.from_pretrained(ours, device_map="cpu", dtype=dtype, output_loading_info=True)
        wrong = {k: v for k, v in info.items() if v}
        if wrong:
            failed.append(f"{label}: {cls.__name__}: {wrong}")
        want = cls.from_pretrained(plain, quantization_config=q, device_map="cpu", dtype=dtype)
        a, b = dequantized(want), dequantized(got)
        where = f"{cls.__name__}, {dtype}"
        if set(a) != set(b) or not a:
            failed.append(f"{label}: {where}: modules {sorted(set(a) ^ set(b))}")
        for name in set(a) & set(b):
            if "eight" in label:  # the module rounds to float16 before it quantizes
                x = F.int8_vectorwise_quant(weights(plain)[name].float())[:2]
                same(label, f"{where}: {name}", F.int8_vectorwise_dequant(*x), b[name])
            else:
                same(label, f"{where}: {name}", a[name], b[name])
        mine, theirs = dict(got.named_parameters()), dict(want.named_parameters())
        for name in theirs:
            if not isinstance(theirs[name], (bitsandbytes.nn.Params4bit, bitsandbytes.nn.Int8Params)):
                same(label + ", copied", f"{where}: {name}", theirs[name].data, mine[name].data)
        if "four" in label and "input_ids" in inspect.signature(cls.forward).parameters and "Llava" not in cls.__name__:
            ids = torch.tensor([[3, 4, 5, 6]])
            more = {"decoder_input_ids": ids} if "T5" in cls.__name__ else {}
            with torch.no_grad():
                x, y = (m(input_ids=ids, **more).logits for m in (want, got))
            same(label + ", logits", where, x, y)


def weights(folder):
    """The linear weights by module, as the module has them."""
    out = {}
    for f in pathlib.Path(folder).glob("*.safetensors"):
        for k, v in load_file(f).items():
            out[k.removesuffix(".weight")] = v
    config = json.loads((pathlib.Path(folder) / "config.json").read_text())
    if config["model_type"] == "gpt2":
        out = {k: v.T.contiguous() if v.dim() == 2 and ".c_" in k else v for k, v in out.items()}
    if config["model_type"] == "llava":  # other names in memory
        out |= {k.replace("language_model.model.", "model.language_model."): v for k, v in out.items()}
        out |= {"model." + k: v for k, v in out.items()}
    return out


for _ in range(ROUNDS):
    seed = random.randrange(2**31)
    print("forget: seed", seed, file=sys.stderr, flush=True)
    random.seed(seed)
    torch.manual_seed(seed)
    with tempfile.TemporaryDirectory() as tmp:
        codes(torch.Generator().manual_seed(seed), pathlib.Path(tmp))
    for cls, config in MODELS:
        if config is not None:
            with tempfile.TemporaryDirectory() as tmp:
                try:
                    loads(cls, config, pathlib.Path(tmp))
                except Exception as e:
                    failed.append(f"{cls}: {e!r}")
for line in failed[:40]:
    print("FAILED", line[:600], file=sys.stderr)
if failed:
    rows["failures"] = (0, len(failed))
oracle = f"bitsandbytes {bitsandbytes.__version__}, transformers {T.__version__}"
print(json.dumps([["forget: " + kind, oracle, n, d] for kind, (n, d) in rows.items()]))
sys.exit(1 if failed else 0)
