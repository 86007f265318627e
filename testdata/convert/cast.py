"""Writes cast.safetensors, and what torch rounds it to.

    python cast.py        # needs torch and safetensors
"""
import torch
from safetensors.torch import save_file

g = torch.Generator().manual_seed(11)
odd = torch.tensor([1e30, -65519.0, 65520.0, 3e-45, -0.0, 5.9604645e-08, 2.9802322e-08, 1.00390625, 1.01171875])
tensors = {
    "a.weight": torch.randn(30, 33, generator=g), "b.weight": torch.randn(7, 64, generator=g).half(), "c.weight": torch.randn(5, 16, generator=g).bfloat16(),
    "input_layernorm.weight": torch.randn(33, generator=g), "ln_f.bias": torch.randn(9, generator=g), "odd": odd, "count": torch.arange(4),
}
save_file(tensors, "cast.safetensors")
for name, to in (("bf16", torch.bfloat16), ("f16", torch.float16), ("f32", torch.float32)):
    save_file({k: v.to(to) if v.is_floating_point() else v for k, v in tensors.items()}, f"cast-{name}.safetensors")
