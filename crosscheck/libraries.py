"""A folder of each library that people have models of goes through `amn dequantize` and
`amn quantize`, and what comes out is loaded by the same library: no key is missing or left
over, and the numbers are compared.

    libraries.py DUMP WORK          as crosscheck/run.py calls it

CROSSCHECK_LIBRARIES=peft,mlx runs some. What a library decodes itself, or quantizes itself,
is the oracle; bits are compared, but where a row says "near": there the weights are held to
a step of the codes, since a part of its own (forget, scaled, groups) compares the codes.
"""
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
import warnings
from importlib.metadata import version

sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]
warnings.simplefilter("ignore")

import bitsandbytes  # noqa: E402
import bitsandbytes.nn.modules  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
import transformers as T  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

bitsandbytes.nn.modules.has_avx512bf16 = lambda: False  # it packs weights anew, which these shapes do not allow
torch.set_num_threads(1)  # with more, torch adds in an order of their number
T.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
AMN = os.environ["CROSSCHECK_AMN"]
SIZES = dict(vocab_size=128, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64,
             tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
IDS = torch.tensor([[3, 4, 5, 6, 7, 8]])
ROWS = []


def amn(*args, exits=0):
    done = subprocess.run([AMN, *map(str, args)], capture_output=True, text=True)
    if done.returncode != exits:
        raise RuntimeError(f"amn {' '.join(map(str, args))}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.stderr


def remember(folder, to, *flags):
    amn("remember", "-q", *(flags or ("--to", "f32")), "-o", to, folder)


def bits(t):
    return t.detach().contiguous().reshape(-1).view(torch.uint8) if t.numel() else torch.empty(0, dtype=torch.uint8)


def equal(want, got, step=None):
    """(elements, differences) of two state dicts; with step, each number of a matrix may be
    so much of the largest away."""
    n, bad = 0, len(set(want) ^ set(got))
    for k in sorted(set(want) ^ set(got)):
        print("only one has", k, file=sys.stderr)
    for k in set(want) & set(got):
        a, b = want[k], got[k]
        n += a.numel()
        if a.shape != b.shape or a.dtype != b.dtype:
            wrong = max(1, a.numel())
        elif step is not None and a.dim() == 2:
            wrong = int(((a.float() - b.float()).abs() > step * a.float().abs().max()).sum())
        else:
            wrong = int((bits(a) != bits(b)).sum())
        if wrong:
            print(f"{k}: {wrong} differ, {a.dtype} {tuple(a.shape)}, {b.dtype} {tuple(b.shape)}", file=sys.stderr)
        bad += wrong
    return n, bad


def row(name, oracle, result):
    ROWS.append([name, oracle, *result])
    print(ROWS[-1], file=sys.stderr, flush=True)


def llama(folder, dtype=torch.float32, seed=1, **flags):
    torch.manual_seed(seed)
    model = T.LlamaForCausalLM(T.LlamaConfig(**SIZES)).to(dtype)
    model.save_pretrained(folder, **flags)
    return model


def load(folder, cls=T.AutoModelForCausalLM, **more):
    """Loads a folder, in which nothing may be missing or too much."""
    model, info = cls.from_pretrained(folder, output_loading_info=True, **more)
    wrong = {k: v for k, v in info.items() if v}
    if wrong:
        raise RuntimeError(f"{cls.__name__}: {wrong}")
    return model.eval()


def four_bits(**more):
    return T.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32, **more)


def stored(model):
    """What save_pretrained would write of a model of bitsandbytes' modules."""
    out = dict(model.state_dict())
    return {k: v for k, v in out.items() if isinstance(v, torch.Tensor)}


def library(oracle):
    def named(f):
        @functools.wraps(f)
        def run(root):
            return f(root, oracle())
        LIBRARIES[f.__name__] = run
        return run
    return named


LIBRARIES = {}


@library(lambda: f"transformers {T.__version__}")
def transformers(root, oracle):
    model = llama(root / "a", max_shard_size="200KB")
    remember(root / "a", root / "b", "--copy")
    row("transformers, shards: remember", oracle, equal(model.state_dict(), load(root / "b").state_dict()))
    amn("forget", "-q", "--to", "fp8", "-o", root / "c", root / "b")
    got = load(root / "c", dtype=torch.float32, quantization_config=T.FineGrainedFP8Config(dequantize=True))
    row("transformers, shards: forget --to fp8, near", oracle, equal(model.state_dict(), got.state_dict(), 1 / 14))


@library(lambda: f"bitsandbytes {version('bitsandbytes')}, transformers {T.__version__}")
def bnb(root, oracle):
    llama(root / "a")
    own = load(root / "a", quantization_config=four_bits(bnb_4bit_use_double_quant=True), dtype=torch.float32, device_map="cpu")
    own.save_pretrained(root / "b")
    want = load(root / "b", device_map="cpu").dequantize().float().state_dict()
    remember(root / "b", root / "c")
    row("bitsandbytes, nested NF4: remember", oracle, equal(want, load(root / "c").state_dict()))
    amn("forget", "-q", "--to", "nf4", "-o", root / "d", root / "c")
    got = load(root / "d", dtype=torch.float32, device_map="cpu")
    theirs = load(root / "c", quantization_config=four_bits(), dtype=torch.float32, device_map="cpu")
    row("bitsandbytes: forget --to nf4", oracle, equal(stored(theirs), stored(got)))


@library(lambda: f"torchao {version('torchao')}, transformers {T.__version__}")
def torchao(root, oracle):
    from torchao.quantization import Int8WeightOnlyConfig
    from torchao.utils import TorchAOBaseTensor
    llama(root / "a")
    config = T.TorchAoConfig(Int8WeightOnlyConfig())
    load(root / "a", quantization_config=config, dtype=torch.float32, device_map="cpu").save_pretrained(root / "b")
    own = load(root / "b", dtype=torch.float32, device_map="cpu")
    want = {k: v.dequantize() if isinstance(v, TorchAOBaseTensor) else v for k, v in own.state_dict().items()}
    remember(root / "b", root / "c")
    row("torchao, int8: remember", oracle, equal(want, load(root / "c").state_dict()))
    amn("forget", "-q", "--to", "int8", "-o", root / "d", root / "b", exits=5)  # it is quantized
    amn("forget", "-q", "--to", "int8", "--allow-requantize", "-o", root / "d", root / "b")
    got = load(root / "d", dtype=torch.float32, device_map="cpu")
    theirs = load(root / "c", quantization_config=T.BitsAndBytesConfig(load_in_8bit=True), dtype=torch.float32, device_map="cpu")
    row("torchao: forget --to int8, loaded by bitsandbytes", oracle, equal(halved(theirs), halved(got), 1 / 100))
    got = load(root / "c", quantization_config=config, dtype=torch.float32, device_map="cpu").state_dict()
    theirs = load(root / "b", dtype=torch.float32, device_map="cpu").state_dict()
    plain = lambda d: {k: v.dequantize() if isinstance(v, TorchAOBaseTensor) else v for k, v in d.items()}  # noqa: E731
    row("torchao: quantizes what was remembered, near", oracle, equal(plain(theirs), plain(got), 1 / 100))


def halved(model):
    """LLM.int8() as numbers: transformers rounds to float16 before it quantizes."""
    out = {}
    for k, m in model.named_modules():
        if isinstance(m, bitsandbytes.nn.Linear8bitLt):
            out[k + ".weight"] = bitsandbytes.functional.int8_vectorwise_dequant(m.weight.data, m.weight.SCB if m.weight.SCB is not None else m.state.SCB)
    return out


@library(lambda: f"llmcompressor {version('llmcompressor')}, compressed-tensors {version('compressed-tensors')}")
def llmcompressor(root, oracle):
    from llmcompressor import oneshot
    from llmcompressor.modifiers.quantization import QuantizationModifier
    for scheme, to, step in (("W4A16", "w4a16", 1 / 6), ("FP8_DYNAMIC", "fp8_dynamic", 1 / 14), ("W8A8", "w8a8", 1 / 100)):
        at = root / scheme
        llama(at / "a", torch.bfloat16)
        tokenizer().save_pretrained(at / "a")
        model = load(at / "a", dtype=torch.bfloat16)
        oneshot(model=model, recipe=QuantizationModifier(targets="Linear", scheme=scheme, ignore=["lm_head"]), tokenizer=str(at / "a"), pipeline="datafree")
        model.save_pretrained(at / "b", save_compressed=True)
        dense = T.CompressedTensorsConfig(dequantize=True)
        want = load(at / "b", dtype=torch.bfloat16, quantization_config=dense).state_dict()
        amn("remember", "-q", "-o", at / "c", at / "b")
        row(f"llm-compressor, {scheme}: remember", oracle, equal(want, load(at / "c", dtype=torch.bfloat16).state_dict()))
        amn("forget", "-q", "--to", to, "-o", at / "d", at / "c")
        got = load(at / "d", dtype=torch.bfloat16, quantization_config=dense).state_dict()
        row(f"llm-compressor: forget --to {to}, near", oracle, equal(want, got, step))


@library(lambda: f"auto-round {version('auto-round')}")
def autoround(root, oracle):
    from auto_round import AutoRound
    llama(root / "a", torch.bfloat16)
    tokenizer().save_pretrained(root / "a")
    AutoRound(str(root / "a"), scheme="W4A16", iters=0, group_size=32, disable_opt_rtn=True, device_map="cpu").quantize_and_save(str(root / "b"), format="auto_round")
    folder = next(p.parent for p in (root / "b").rglob("config.json"))
    remember(folder, root / "c")
    if (root / "c" / "quantization_config.json").exists():
        raise RuntimeError("quantization_config.json stands beside dense weights")
    own = T.AutoModelForCausalLM.from_pretrained(folder, device_map="cpu", dtype=torch.float32)
    # Its layers are made float16 when they are loaded; quant/autoround compares bits.
    row("AutoRound, W4A16: remember, near", oracle, equal(halves(dense(own)), halves(load(root / "c").state_dict()), 2.0 ** -10))
    amn("forget", "-q", "--to", "gptq", "-o", root / "d", root / "c")
    config = json.loads((root / "d" / "config.json").read_text())
    config["quantization_config"] |= {"quant_method": "auto-round", "packing_format": "auto_round:auto_gptq"}
    (root / "d" / "config.json").write_text(json.dumps(config))
    got = T.AutoModelForCausalLM.from_pretrained(root / "d", device_map="cpu", dtype=torch.float32)
    row("AutoRound loads forget --to gptq, near", oracle, equal(dense(own), dense(got), 1 / 6))


def dense(model):
    """The numbers of a model of layers that multiply by what they decode: an input of unit
    vectors gives the weight."""
    out = dict(model.state_dict())
    for name, m in model.named_modules():
        if hasattr(m, "qweight"):
            for k in [k for k in out if k.startswith(name + ".")]:
                del out[k]
            with torch.no_grad():
                out[name + ".weight"] = m(torch.eye(m.infeatures if hasattr(m, "infeatures") else m.in_features)).T.contiguous()
    return out


def halves(state):
    return {k: v.half() for k, v in state.items()}


def tokenizer():
    import tokenizers
    words = {w: i for i, w in enumerate(["<pad>", "<s>", "</s>", *(f"w{i}" for i in range(125))])}
    t = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<pad>"))
    t.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return T.PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<pad>", bos_token="<s>", eos_token="</s>", model_max_length=64)


@library(lambda: f"mlx-lm {version('mlx-lm')}, mlx {version('mlx')}")
def mlx(root, oracle):
    import mlx.core as mx
    import mlx.utils
    import mlx_lm.utils as U
    llama(root / "a", torch.bfloat16)
    config = json.loads((root / "a" / "config.json").read_text()) | {"rope_theta": 10000.0}
    (root / "a" / "config.json").write_text(json.dumps(config))
    model, config = U.load_model(root / "a")
    quantized, config = U.quantize_model(model, config, group_size=64, bits=4)
    U.save_model(root / "b", quantized)
    U.save_config(config, config_path=root / "b" / "config.json")

    def numbers(m):
        return {k: torch.tensor(numpy.array(v.astype(mx.float32))) for k, v in mlx.utils.tree_flatten(m.parameters())}

    def decoded(m):
        out = {}
        for k, layer in m.named_modules():
            if hasattr(layer, "scales"):
                out[k + ".weight"] = torch.tensor(numpy.array(mx.dequantize(layer.weight, layer.scales, layer.biases, layer.group_size, layer.bits).astype(mx.float32)))
        return out
    own, _ = U.load_model(root / "b")
    want = numbers(own) | decoded(own)
    want = {k: v for k, v in want.items() if not k.endswith((".scales", ".biases"))}
    amn("remember", "-q", "-o", root / "c", root / "b")
    got, _ = U.load_model(root / "c")
    # mx.dequantize rounds to BF16 twice: one unit of it (docs/quantize.md).
    row("MLX, 4 bits: remember, near", oracle, equal(want, numbers(got), 2.0 ** -7))
    amn("forget", "-q", "--to", "mlx_4", "-o", root / "d", root / "a")
    got, _ = U.load_model(root / "d")
    row("MLX: forget --to mlx_4", oracle, equal(numbers(own), numbers(got)))
    # A mixed recipe without a group size, as mlx_lm.convert makes it: null stands in config.json.
    from mlx_lm.convert import mixed_quant_predicate_builder
    model, config = U.load_model(root / "a")
    quantized, config = U.quantize_model(model, config, None, None, quant_predicate=mixed_quant_predicate_builder("mixed_3_6", model, None))
    U.save_model(root / "e", quantized)
    U.save_config(config, config_path=root / "e" / "config.json")
    own, _ = U.load_model(root / "e")
    want = {k: v for k, v in (numbers(own) | decoded(own)).items() if not k.endswith((".scales", ".biases"))}
    amn("dequantize", "-q", "--as", "mlx", "-o", root / "f", root / "e")
    got, _ = U.load_model(root / "f")
    row("MLX, a mixed recipe: dequantize --as mlx", oracle, equal(want, numbers(got)))


@library(lambda: f"PEFT {version('peft')}, transformers {T.__version__}")
def peft(root, oracle):
    import peft as P
    llama(root / "a")
    torch.manual_seed(2)
    model = P.get_peft_model(load(root / "a"), P.LoraConfig(r=4, target_modules=["q_proj", "up_proj"], init_lora_weights=False))
    model.save_pretrained(root / "adapter")
    want = P.get_peft_model_state_dict(model)
    remember(root / "adapter", root / "b", "--copy")
    got = P.PeftModel.from_pretrained(load(root / "a"), root / "b")
    row("PEFT: remember of an adapter", oracle, equal(want, P.get_peft_model_state_dict(got)))
    amn("forget", "-q", "--to", "nf4", "-o", root / "c", root / "adapter", exits=5)  # PEFT reads no quantized adapter
    amn("forget", "-q", "--to", "nf4", "-o", root / "d", root / "a")
    base = load(root / "d", dtype=torch.float32, device_map="cpu")
    theirs = load(root / "a", quantization_config=four_bits(), dtype=torch.float32, device_map="cpu")
    with torch.no_grad():
        a, b = (P.PeftModel.from_pretrained(m, root / "b")(IDS).logits for m in (theirs, base))
    row("PEFT: the adapter on a base of forget --to nf4", oracle, equal({"logits": a}, {"logits": b}))


@library(lambda: f"sentence-transformers {version('sentence-transformers')}")
def sentence(root, oracle):
    import sentence_transformers as S
    from sentence_transformers import models as M
    torch.manual_seed(3)
    T.BertModel(T.BertConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64)).save_pretrained(root / "bert")
    tokenizer().save_pretrained(root / "bert")
    words = M.Transformer(str(root / "bert"))
    model = S.SentenceTransformer(modules=[words, M.Pooling(64, pooling_mode="mean"), M.Dense(64, 32)], device="cpu")
    model.save(str(root / "a"))
    model = S.SentenceTransformer(str(root / "a"), device="cpu")
    texts = ["w3 w4 w5", "w100 w7"]
    remember(root / "a", root / "b", "--copy")
    got = S.SentenceTransformer(str(root / "b"), device="cpu")
    row("sentence-transformers: remember", oracle, equal(model.state_dict(), got.state_dict()))
    row("sentence-transformers: remember, its embeddings", oracle, equal({"": torch.tensor(model.encode(texts))}, {"": torch.tensor(got.encode(texts))}))
    amn("forget", "-q", "--to", "nf4", "-o", root / "c", root / "a")
    got = S.SentenceTransformer(str(root / "c"), device="cpu")
    theirs = S.SentenceTransformer(str(root / "a"), device="cpu", model_kwargs={"quantization_config": four_bits(), "device_map": "cpu"})
    row("sentence-transformers: forget --to nf4", oracle, equal(stored(theirs), stored(got)))
    row("sentence-transformers: forget --to nf4, its embeddings", oracle, equal({"": torch.tensor(theirs.encode(texts))}, {"": torch.tensor(got.encode(texts))}))


@library(lambda: f"diffusers {version('diffusers')}")
def diffusers(root, oracle):
    import diffusers as D
    torch.manual_seed(4)
    transformer = D.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=32, in_channels=4, out_channels=8, num_layers=2, sample_size=8, num_embeds_ada_norm=10)
    vae = D.AutoencoderKL(block_out_channels=(32,), norm_num_groups=8)
    D.DiTPipeline(transformer, vae, D.DDIMScheduler(), id2label={"0": "a"}).save_pretrained(root / "a", max_shard_size="200KB")
    remember(root / "a", root / "b", "--copy")
    got = D.DiTPipeline.from_pretrained(root / "b")
    want = {"transformer": transformer, "vae": vae}
    for name, m in want.items():
        row(f"diffusers, a pipeline: remember, its {name}", oracle, equal(m.state_dict(), getattr(got, name).state_dict()))
    amn("convert", "-q", "--cast", "bf16", "--cast-all", "-o", root / "half", root / "a")
    got = D.DiTPipeline.from_pretrained(root / "half", torch_dtype=torch.bfloat16)
    for name, m in want.items():
        row(f"diffusers, a pipeline: convert --cast bf16, its {name}", oracle, equal({k: v.bfloat16() for k, v in m.state_dict().items()}, getattr(got, name).state_dict()))
    amn("forget", "-q", "--to", "nf4", "-o", root / "c", root / "b" / "transformer")
    # diffusers loads no quantized model without a GPU: the codes are held to bitsandbytes' own.
    dense, got = transformer.state_dict(), {}
    for f in (root / "c").glob("*.safetensors"):
        got |= load_file(f)
    want = {k: v for k, v in dense.items() if k in got}
    for k in [k for k in dense if k + ".absmax" in got]:
        q, state = bitsandbytes.functional.quantize_4bit(dense[k], quant_type="nf4", blocksize=64)
        want |= {k: q} | {f"{k}.{n}": v for n, v in state.as_dict(packed=True).items()}
    if not any(k.endswith(".absmax") for k in got):
        raise RuntimeError("nothing was quantized")
    row("diffusers: forget --to nf4, by bitsandbytes' quantizer (diffusers loads it on a GPU alone)", oracle, equal(want, got))


def main():
    given = os.environ.get("CROSSCHECK_LIBRARIES")
    for name in given.split(",") if given else LIBRARIES:
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as tmp:
            try:
                LIBRARIES[name](pathlib.Path(tmp))
            except Exception:
                traceback.print_exc()
                row(name, "it ended early", (0, 1))
    print(json.dumps(ROWS))


if __name__ == "__main__":  # AutoRound starts processes that import this
    main()
