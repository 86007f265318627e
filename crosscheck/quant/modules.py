"""The modules with cases, in the order in which the table prints them, and the
folders of libraries that each needs."""
MODULES = {
    "ggml": ["quant"],
    "fp8": ["quant"],
    "fp4": ["quant"],
    "packed": ["quant"],
    "bnb": ["quant"],
    "gptq": ["quant", "gptqmodel"],
    "autoround": ["quant"],
    "others": ["quant"],
    "experts": ["quant"],
    "more": ["quant"],
    "rotated": ["quant"],
    "quanto": ["quant"],
    "folders": ["quant", "gptqmodel"],
    "old": ["ct-0.12.2", "quant"],
}
