"""Layouts of ModelOpt's FP8, TorchAO and gpt-oss, written by amn quantize: every stored
tensor with the bits that the library makes of the same numbers, TorchAO's descriptions
too; and folders that transformers loads, or that ModelOpt exports with the same bytes.

    python3 crosscheck/run.py layouts
    layouts.py --golden FOLDER        writes what the Go tests compare with
"""
import functools
import json
import os
import pathlib
import random
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
# The modules torch.py and safetensors.py of this folder must not stand before the libraries.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
sys.path.append(str(HERE / "forget"))
warnings.filterwarnings("ignore")
import torch  # noqa: E402
import torchao  # noqa: E402
import transformers as T  # noqa: E402
from modelopt.torch.export import export_hf_checkpoint, quant_utils  # noqa: E402
from modelopt.torch import quantization as mtq  # noqa: E402
from modelopt.torch.quantization.qtensor.fp8_tensor import FP8QTensor  # noqa: E402
from quark.torch.kernel.mx.triton import downcast_to_mxfp_torch  # noqa: E402
from safetensors import safe_open  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from stored import amn, codes, differ  # noqa: E402
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict  # noqa: E402
from torchao.quantization import Float8WeightOnlyConfig, Int8WeightOnlyConfig, PerGroup, PerRow, PerTensor, quantize_  # noqa: E402
from transformers.integrations.mxfp4 import convert_moe_packed_tensors  # noqa: E402

T.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
MODELOPT = {"modelopt_fp8": mtq.FP8_DEFAULT_CFG, "modelopt_fp8_channel": mtq.FP8_PER_CHANNEL_PER_TOKEN_CFG, "modelopt_fp8_block": mtq.FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG}
TORCHAO = {"torchao_fp8": lambda: Float8WeightOnlyConfig(), "torchao_fp8_e5m2": lambda: Float8WeightOnlyConfig(weight_dtype=torch.float8_e5m2),
           "torchao_fp8_e5m2_group": lambda: Float8WeightOnlyConfig(weight_dtype=torch.float8_e5m2, granularity=PerGroup(128)),
           "torchao_fp8_e5m2_tensor": lambda: Float8WeightOnlyConfig(weight_dtype=torch.float8_e5m2, granularity=PerTensor()),
           "torchao_int8": lambda: Int8WeightOnlyConfig(granularity=PerRow())}
SHAPES = [(256, 512), (128, 128), (384, 256), (129, 384), (200, 320), (1, 128)]


def numbers(g, kind, shapes):
    """Matrices with rows of different scales and zeros of both signs; no row or group is
    so small that its scale is zero, of which TorchAO makes NaN, and ModelOpt an error."""
    out = {}
    for i, shape in enumerate(shapes):
        x = torch.randn(shape, generator=g) * torch.exp(2 * torch.randn((shape[0], 1), generator=g)).clamp(min=0.02)
        if i % 2:
            x[torch.rand(shape, generator=g) < 0.2] = 0
        if i == 0:
            x[3, torch.arange(shape[1]) % 128 > 0] = -0.0
            x[5] = 1.5
            x[6] = -0.75
        if i == 2:
            x *= 0.25
        out[f"m.{i}.weight"] = x.to(kind).contiguous()
    return out


def modelopt(name, w, to):
    if to == "modelopt_fp8":
        scale = torch.tensor(w.abs().amax().float().item() / 448.0)
        return {name: quant_utils.to_quantized_weight(w, scale, quant_utils.QUANTIZATION_FP8), name + "_scale": scale}
    if to == "modelopt_fp8_channel":
        scale = w.abs().amax(1).float() / 448.0
        return {name: quant_utils.to_quantized_weight(w, scale, quant_utils.QUANTIZATION_FP8_PC_PT), name + "_scale": scale}
    q, scale = FP8QTensor.quantize(w.float(), block_sizes={-1: 128, -2: 128})
    return {name: q._quantized_data, name + "_scale": scale.reshape(scale.shape[0], 1, scale.shape[1], 1)}


def torchao_of(name, w, to):
    if to.endswith("group") and w.shape[1] % 128:
        return {name: w}
    m = torch.nn.ModuleDict({"l": torch.nn.Linear(w.shape[1], w.shape[0], bias=False, dtype=w.dtype)})
    m["l"].weight.data = w.clone()
    quantize_(m, TORCHAO[to]())
    flat, _ = flatten_tensor_state_dict({name: m["l"].weight})
    return flat


def quantized(name, w, to):
    return modelopt(name, w, to) if to in MODELOPT else torchao_of(name, w, to)


# ModelOpt takes a matrix of one block for one of one scale, so none is.
SMALL = {"vocab_size": 128, "hidden_size": 256, "intermediate_size": 384, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4}


def tensors(folder):
    out = {}
    for f in sorted(folder.glob("*.safetensors")):
        out |= load_file(f)
    return out


def export(root, to):
    """What ModelOpt exports of a model, beside what is written of it."""
    model = T.LlamaForCausalLM(T.LlamaConfig(**SMALL)).to(torch.bfloat16)
    model.save_pretrained(root / "plain")
    model = T.LlamaForCausalLM.from_pretrained(root / "plain", dtype=torch.bfloat16)
    model = mtq.quantize(model, MODELOPT[to], forward_loop=lambda m: m(torch.arange(20)[None]))
    export_hf_checkpoint(model, export_dir=root / "theirs")
    amn("forget", "-q", "-f", "--to", to, "-o", root / "ours", root / "plain")
    want, got = tensors(root / "theirs"), tensors(root / "ours")
    want = {k: v for k, v in want.items() if not k.endswith("input_scale")}  # made of data
    bad = sum(differ(got.pop(k, None), v) for k, v in want.items()) + len(got)
    ours, theirs = (json.loads((root / d / "config.json").read_text())["quantization_config"] for d in ("ours", "theirs"))
    bad += any(ours.get(k) != theirs.get(k) for k in ("quant_method", "config_groups")) + (ours["quant_algo"] != theirs["quant_algo"].upper())
    # transformers knows no such method: it says so, and leaves the scales out.
    bad += "modelopt" in T.quantizers.auto.AUTO_QUANTIZER_MAPPING
    return sum(v.numel() for v in want.values()), bad


def loads_torchao(root, to):
    """A folder in transformers: its logits are those of the model that transformers
    quantized itself, and the metadata of the two files are equal."""
    T.LlamaForCausalLM(T.LlamaConfig(**SMALL)).to(torch.bfloat16).save_pretrained(root / "plain")
    theirs = T.LlamaForCausalLM.from_pretrained(root / "plain", dtype=torch.bfloat16, quantization_config=T.TorchAoConfig(quant_type=TORCHAO[to]()))
    theirs.save_pretrained(root / "theirs")
    amn("forget", "-q", "-f", "--to", to, "-o", root / "ours", root / "plain")
    ours, info = T.LlamaForCausalLM.from_pretrained(root / "ours", output_loading_info=True)
    bad = sum(len(v) for v in info.values())
    meta = []
    for d in ("ours", "theirs"):
        with safe_open(root / d / "model.safetensors", "pt") as f:
            values = {k: json.loads(v) if v[0] in "[{" else v for k, v in f.metadata().items()}
        values["tensor_names"] = sorted(values["tensor_names"])
        for v in values.values():
            if isinstance(v, dict) and "_tensor_data_names" in v:
                v["_tensor_data_names"].sort()
        meta.append(values)
    bad += meta[0] != meta[1]
    bad += type(ours.model.layers[0].mlp.up_proj.weight) is not type(theirs.model.layers[0].mlp.up_proj.weight)
    ids = torch.arange(3, 30)[None]
    with torch.no_grad():
        a, b = ours(ids).logits, theirs(ids).logits
    want, got = tensors(root / "theirs"), tensors(root / "ours")
    bad += int((a.view(torch.int16) != b.view(torch.int16)).sum()) + sum(differ(got.pop(k, None), v) for k, v in want.items()) + len(got)
    return sum(v.numel() for v in want.values()), bad


def stacks(g, kind, shapes):
    out = {}
    for i, shape in enumerate(shapes):
        x = torch.randn(shape, generator=g) * torch.exp(2 * torch.randn((shape[0], 1, shape[2]), generator=g))
        if i % 2:
            x[torch.rand(shape, generator=g) < 0.2] = 0
        x[0, :, 0] = -0.0
        x[0, :, 1] = 1.5
        x[0, :, 2] = torch.randint(-24, 25, (shape[1],), generator=g) / 4  # ties
        out[f"model.layers.{i}.mlp.experts.{('gate_up_proj', 'down_proj')[i % 2]}"] = x.to(kind).contiguous()
    return out


def oss(model):
    out = {}
    for name, w in model.items():
        q, scale = downcast_to_mxfp_torch(w.to(torch.bfloat16), torch.uint8, axis=1)  # [E, in/2, out], as transformers and OpenAI's code call it
        e, _, outs = w.shape
        out[name + "_blocks"] = q.transpose(1, 2).reshape(e, outs, -1, 16).contiguous()
        out[name + "_scales"] = scale.transpose(1, 2).contiguous()
    return out


OSS = [(4, 128, 256), (4, 96, 128), (2, 320, 64), (3, 32, 32), (1, 64, 320), (5, 2880, 64)]


def oss_codes(g, root, elements):
    n = bad = 0
    root.mkdir(exist_ok=True)
    (root / "in").mkdir(exist_ok=True)
    (root / "in" / "config.json").write_text(json.dumps({"model_type": "gpt_oss"}))
    while n < elements:
        for kind in (torch.bfloat16, torch.float16, torch.float32):
            model = stacks(g, kind, OSS)
            save_file(model, root / "in" / "model.safetensors")
            amn("forget", "-q", "-f", "--to", "gpt_oss", "-o", root / "out", root / "in")
            got, want = tensors(root / "out"), oss(model)
            for k, v in want.items():
                d = differ(got.pop(k, None), v)
                if d:
                    print(f"gpt_oss, {kind}: {k} {tuple(v.shape)}: {d} differ", file=sys.stderr)
                bad += d
            bad += len(got)
            n += sum(w.numel() for w in model.values())
    return n, bad


def loads_oss(root):
    """A folder in transformers: its experts have the numbers that its own decoder makes
    of the reference's codes, all other weights are as they were."""
    config = T.GptOssConfig(num_hidden_layers=2, num_local_experts=4, num_experts_per_tok=2, vocab_size=128, hidden_size=64, intermediate_size=96, head_dim=16,
                            num_attention_heads=4, num_key_value_heads=2)
    model = T.GptOssForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(root / "plain")
    amn("forget", "-q", "-f", "--to", "gpt_oss", "-o", root / "ours", root / "plain")
    got, info = T.GptOssForCausalLM.from_pretrained(root / "ours", dtype=torch.bfloat16, quantization_config=T.Mxfp4Config(dequantize=True), output_loading_info=True)
    bad, n, have = sum(len(v) for v in info.values()), 0, got.state_dict()
    for name, w in model.state_dict().items():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            parts = oss({name: w})
            w = convert_moe_packed_tensors(parts[name + "_blocks"], parts[name + "_scales"], dtype=torch.bfloat16)
        n += w.numel()
        bad += differ(have.pop(name, None), w)
    with torch.no_grad():
        bad += int(got(torch.arange(3, 30)[None]).logits.isnan().sum())
    return n, bad + len(have)


def golden(folder):
    g = torch.Generator().manual_seed(3)
    for kind in (torch.bfloat16, torch.float16, torch.float32):
        label = str(kind).removeprefix("torch.")
        model = numbers(g, kind, [(32, 128), (13, 64), (130, 256)])
        save_file(model, folder / f"{label}.safetensors")
        for to in [*MODELOPT, *TORCHAO]:
            out = {}
            for name, w in model.items():
                out |= {k: v.contiguous() for k, v in quantized(name, w, to).items()}
            save_file(out, folder / f"{label}-{to}.safetensors")
        (folder / label).mkdir(exist_ok=True)
        (folder / label / "config.json").write_text(json.dumps({"model_type": "gpt_oss"}) + "\n")
        model = stacks(g, kind, [(2, 64, 96), (3, 32, 64)])
        save_file(model, folder / label / "model.safetensors")
        save_file(oss(model), folder / f"{label}-gpt_oss.safetensors")


def main():
    if sys.argv[1] == "--golden":
        return golden(pathlib.Path(sys.argv[2]))
    from importlib.metadata import version
    seed = random.randrange(2**31)
    print("layouts: seed", seed, file=sys.stderr, flush=True)
    torch.manual_seed(seed)
    rows, elements = [], int(os.environ["CROSSCHECK_ELEMENTS"])
    for to in os.environ.get("CROSSCHECK_FORMATS", " ".join([*MODELOPT, *TORCHAO, "gpt_oss"])).split():
        g = torch.Generator().manual_seed(seed)
        with tempfile.TemporaryDirectory() as tmp:
            root = pathlib.Path(tmp)
            if to == "gpt_oss":
                rows.append([f"forget --to {to}", "Triton's downcast_to_mxfp, of Quark " + version("amd-quark"), *oss_codes(g, root / "codes", elements)])
                rows.append([f"forget --to {to}: GptOssForCausalLM loads", f"transformers {T.__version__}", *loads_oss(root)])
                continue
            oracle = "nvidia-modelopt " + version("nvidia-modelopt") if to in MODELOPT else "torchao " + torchao.__version__
            rows.append([f"forget --to {to}", oracle, *codes(functools.partial(numbers, g), SHAPES, elements, root, to, quantized)])
            if to in MODELOPT:
                rows.append([f"forget --to {to}: export_hf_checkpoint", oracle, *export(root, to)])
            else:
                rows.append([f"forget --to {to}: LlamaForCausalLM loads, logits", f"transformers {T.__version__}", *loads_torchao(root, to)])
    print(json.dumps(rows))


main()
