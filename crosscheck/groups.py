"""Codes in groups under scales, written by amn quantize: every stored tensor with the
bits that the format's own library makes of the same numbers: compressed-tensors,
ModelOpt, MLX, GPTQModel (its round-to-nearest quantizer and its packer) and AutoAWQ;
and folders that transformers and mlx-lm load.

    python3 crosscheck/run.py groups
    groups.py --golden FOLDER        writes what the Go tests compare with
"""
import functools
import json
import os
import pathlib
import random
import sys
import tempfile
import types
import warnings

HERE = pathlib.Path(__file__).resolve().parent
# The modules torch.py and safetensors.py of this folder must not stand before the libraries.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
sys.path.append(str(HERE / "forget"))
warnings.filterwarnings("ignore")
os.environ["GPTQMODEL_DISABLE_PACK_EXT"] = "1"  # it would be compiled
import compressed_tensors  # noqa: E402
import mlx.core as mx  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
import transformers as T  # noqa: E402
from compressed_tensors.compressors.base import BaseCompressor  # noqa: E402
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme  # noqa: E402
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme  # noqa: E402
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from stored import amn, codes  # noqa: E402

T.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
COMPRESSED = {"fp8_tensor": "float-quantized", "mxfp8": "mxfp8-quantized", "mxfp4": "mxfp4-pack-quantized", "nvfp4": "nvfp4-pack-quantized",
              "w4a16_asym": "pack-quantized", "w8a16_asym": "pack-quantized"}
PRESETS = {"mxfp8": "MXFP8A16", "mxfp4": "MXFP4A16", "nvfp4": "NVFP4A16", "w4a16_asym": "W4A16_ASYM"}
MLX = ["mlx_2", "mlx_3", "mlx_4", "mlx_5", "mlx_6", "mlx_8", "mlx_mxfp4", "mlx_mxfp8", "mlx_nvfp4"]
COLUMNS = ["gptq_2", "gptq_3", "gptq", "gptq_8", "awq"]
FORMATS = [*COMPRESSED, "modelopt_nvfp4", "modelopt_mxfp8", *MLX, *COLUMNS]
SHAPES = [(256, 512), (128, 128), (384, 256), (132, 256), (200, 320), (32, 1280)]


def numbers(g, kind, shapes):
    """Matrices with rows of different scales, zeros of both signs, constants, numbers of
    one sign, and small ones. None is so large that what a group spans is infinite as
    float16: that is refused."""
    out = {}
    for i, shape in enumerate(shapes):
        x = torch.randn(shape, generator=g) * torch.exp(2 * torch.randn((shape[0], 1), generator=g))
        if i % 2:
            x[torch.rand(shape, generator=g) < 0.2] = 0
        if i == 0:
            x[: shape[0] // 2] = 0
            x[3] = -0.0
            x[5] = 1.5
            x[6] = -0.75
            x[7] = x[7].abs()
            x[8] = -x[8].abs()
            x[9, :16] *= 1e-3
        if i == 2:
            x *= 1e-4
        if i == 3:
            x = (30 * x).clamp(-3e4, 3e4)
        out[f"m.{i}.weight"] = x.to(kind).contiguous()
    return out


def scheme_of(to):
    if to in PRESETS:
        return preset_name_to_scheme(PRESETS[to], ["Linear"])
    if to == "fp8_tensor":
        return QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=8, type="float", strategy="tensor"))
    return QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=8, type="int", strategy="group", group_size=128, symmetric=False))


def compressed(name, w, to):
    scheme = scheme_of(to)
    size, state = scheme.weights.group_size, {"weight": w}
    if size and w.shape[1] % size:
        return {name: w}
    over = None
    if to == "nvfp4":
        over = generate_gparam(w.amin(), w.amax())
        state["weight_global_scale"] = over
    if size:
        groups = w.reshape(w.shape[0], -1, size)
        low, high = groups.amin(-1), groups.amax(-1)
    else:
        low, high = w.amin(), w.amax()
    scale, zero = calculate_qparams(low, high, scheme.weights, global_scale=over)
    state["weight_scale"] = scale
    if not scheme.weights.symmetric:
        state["weight_zero_point"] = zero
    stored = BaseCompressor.get_value_from_registry(COMPRESSED[to]).compress(state, scheme)
    return {name.removesuffix("weight") + k: v for k, v in stored.items()}


def modelopt(name, w, to):
    if to == "modelopt_mxfp8":
        from modelopt.torch.quantization.qtensor.mxfp8_tensor import MXFP8QTensor
        if w.shape[1] % 32:
            return {name: w}
        scale = MXFP8QTensor.get_weights_scaling_factor(w)
        return {name: MXFP8QTensor.quantize_with_scale(w, scale), name + "_scale": scale}
    from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor
    if w.shape[1] % 16:
        return {name: w}
    q, scale, over = NVFP4QTensor.quantize(w.clone(), 16)
    return {name: q._quantized_data, name + "_scale": scale, name + "_scale_2": over}


MX = {torch.float32: mx.float32, torch.float16: mx.float16, torch.bfloat16: mx.bfloat16}


def from_mlx(a, kind):
    if a.dtype == mx.bfloat16:
        return torch.from_numpy(numpy.array(a.view(mx.uint16)).view(numpy.int16)).view(torch.bfloat16)
    return torch.from_numpy(numpy.array(a))


def mlx(name, w, to):
    mode = to.removeprefix("mlx_")
    kind = {"mode": mode} if mode.endswith(("fp4", "fp8")) else {"group_size": 64, "bits": int(mode)}
    size = {"mxfp4": 32, "mxfp8": 32, "nvfp4": 16}.get(mode, 64)
    if w.shape[1] % size:
        return {name: w}
    parts = mx.quantize(mx.array(w.float().numpy()).astype(MX[w.dtype]), **kind)
    stem = name.removesuffix("weight")
    return {k: from_mlx(p, w.dtype) for k, p in zip((name, stem + "scales", stem + "biases"), parts)}


def linear(w):
    m = torch.nn.Linear(w.shape[1], w.shape[0], bias=False, dtype=w.dtype)
    m.weight.data = w.clone()
    return m


def gptq(name, w, bits):
    """GPTQModel's own round-to-nearest quantizer, and what its packer makes of it."""
    if w.shape[1] % 128 or w.shape[0] % 32:
        return {name: w}
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear
    from gptqmodel.quantization import RTNConfig
    from gptqmodel.quantization.rtn import RTN
    from gptqmodel.utils.model import convert_gptq_v2_to_v1_format_module
    m = linear(w)
    q, scale, zero, g_idx, *_ = RTN(m, RTNConfig(bits=bits, group_size=128, sym=True)).quantize()
    m.weight.data = q
    packed = TorchLinear(bits=bits, group_size=128, sym=True, desc_act=False, in_features=w.shape[1], out_features=w.shape[0], bias=False,
                         pack_dtype=torch.int32, register_buffers=True, adapter=None)
    packed.pack_block(m, scale, zero, g_idx)
    convert_gptq_v2_to_v1_format_module(packed, types.SimpleNamespace(bits=bits, pack_dtype=torch.int32, checkpoint_format="gptq", format="gptq",
                                                                      runtime_format="gptq_v2", method="gptq"))
    stem = name.removesuffix("weight")
    return {stem + k: getattr(packed, k) for k in ("qweight", "qzeros", "scales", "g_idx")}


def awq(name, w):
    if w.shape[1] % 128 or w.shape[0] % 32:
        return {name: w}
    from awq.modules.linear.gemm import WQLinear_GEMM
    from awq.quantize.quantizer import AwqQuantizer
    w = w.half()
    q, scales, zeros = AwqQuantizer.pseudo_quantize_tensor(types.SimpleNamespace(group_size=128, zero_point=True, w_bit=4), w.clone())
    packed = WQLinear_GEMM.from_linear(linear(q), 4, 128, False, scales.t().contiguous(), zeros.t().contiguous())
    stem = name.removesuffix("weight")
    return {stem + k: getattr(packed, k) for k in ("qweight", "qzeros", "scales")}


def quantized(name, w, to):
    """What the library stores for a weight; the weight itself where no group fits."""
    if to in COMPRESSED:
        return compressed(name, w, to)
    if to in MLX:
        return mlx(name, w, to)
    if to == "awq":
        return awq(name, w)
    if to.startswith("gptq"):
        return gptq(name, w, int(to.partition("_")[2] or 4))
    return modelopt(name, w, to)


SMALL = {"vocab_size": 128, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4}


def loads(root, to):
    """A folder in transformers: no key is missing or left over, and each weight, decoded
    by the library, is near what was quantized."""
    model = T.LlamaForCausalLM(T.LlamaConfig(**SMALL)).to(torch.bfloat16)
    model.save_pretrained(root / "plain")
    amn("forget", "-q", "-f", "--to", to, "-o", root / "ours", root / "plain")
    got, info = T.LlamaForCausalLM.from_pretrained(root / "ours", dtype=torch.bfloat16, quantization_config=T.CompressedTensorsConfig(dequantize=True), output_loading_info=True)
    bad = sum(len(v) for v in info.values())
    want, n = model.state_dict(), 0
    for name, w in got.state_dict().items():
        if name in want and want[name].shape == w.shape:
            n += w.numel()
            bad += int((w.float() - want[name].float()).abs().max() > want[name].float().abs().max() / 4)
        else:
            bad += 1
    return n, bad


def loads_mlx(root, to):
    """A folder in mlx-lm: its logits are those of the model that mlx-lm quantized itself."""
    import mlx_lm.utils as U
    T.LlamaForCausalLM(T.LlamaConfig(**SMALL, rope_theta=10000.0)).to(torch.bfloat16).save_pretrained(root / "plain")
    config = json.loads((root / "plain" / "config.json").read_text())
    config["rope_theta"] = 10000.0
    (root / "plain" / "config.json").write_text(json.dumps(config))
    amn("forget", "-q", "-f", "--to", to, "-o", root / "ours", root / "plain")
    mode = to.removeprefix("mlx_")
    ours, _ = U.load_model(root / "ours")
    theirs, config = U.load_model(root / "plain")
    kind = {"mode": mode, "group_size": None, "bits": None} if mode.endswith(("fp4", "fp8")) else {"group_size": 64, "bits": int(mode)}
    theirs, _ = U.quantize_model(theirs, config, **kind)
    ids = mx.array([[3, 4, 5, 6, 7]])
    a, b = (numpy.array(m(ids).astype(mx.float32)) for m in (ours, theirs))
    return a.size, int((a.view(numpy.uint32) != b.view(numpy.uint32)).sum())


def golden(folder):
    g = torch.Generator().manual_seed(2)
    for kind in (torch.bfloat16, torch.float16, torch.float32):
        label = str(kind).removeprefix("torch.")
        model = numbers(g, kind, [(32, 128), (13, 64), (32, 256)])
        save_file(model, folder / f"{label}.safetensors")
        for to in FORMATS:
            out = {}
            for name, w in model.items():
                out |= {k: v.contiguous() for k, v in quantized(name, w, to).items()}
            save_file(out, folder / f"{label}-{to}.safetensors")


def oracle(to):
    from importlib.metadata import version
    if to in COMPRESSED:
        return "compressed-tensors " + compressed_tensors.__version__
    if to in MLX:
        return "mlx " + version("mlx")
    return {"awq": "autoawq " + version("autoawq"), **dict.fromkeys(("modelopt_nvfp4", "modelopt_mxfp8"), "nvidia-modelopt " + version("nvidia-modelopt"))}.get(to, "gptqmodel 7.7.0")


def main():
    if sys.argv[1] == "--golden":
        return golden(pathlib.Path(sys.argv[2]))
    seed = random.randrange(2**31)
    print("groups: seed", seed, file=sys.stderr, flush=True)
    torch.manual_seed(seed)
    rows = []
    for to in os.environ.get("CROSSCHECK_FORMATS", " ".join(FORMATS)).split():
        with tempfile.TemporaryDirectory() as work:
            g = torch.Generator().manual_seed(seed)
            n, bad = codes(functools.partial(numbers, g), SHAPES, int(os.environ["CROSSCHECK_ELEMENTS"]), pathlib.Path(work), to, quantized)
        rows.append([f"forget --to {to}", oracle(to), n, bad])
        load = loads if to in COMPRESSED else loads_mlx if to in MLX else None
        if load:
            with tempfile.TemporaryDirectory() as work:
                n, bad = load(pathlib.Path(work), to)
            rows.append([f"forget --to {to}: LlamaForCausalLM loads", "mlx-lm" if to in MLX else f"transformers {T.__version__}", n, bad])
    print(json.dumps(rows))


main()
