"""The modules with cases, in the order in which the table prints them."""
MODULES = ["fp8", "fp4", "packed", "bnb", "gptq", "others", "more"]
