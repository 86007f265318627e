"""optimum-quanto: bytes, and two and four bits in groups."""
import functools

import torch
from cases import Case, grown, store


def cases(g):
    from optimum.quanto import QLinear, freeze, qtypes, quantization_map
    for name in ("qint8", "qfloat8_e4m3fn", "qfloat8_e5m2", "qint4", "qint2"):
        # The file says how long a row of four or two bits is where that is no length of a group.
        for rows, cols in grown((48, 200), (7, 72), (16, 40)):
            for stored in (torch.float32, torch.bfloat16):
                plain = torch.nn.Linear(cols, rows, bias=False, dtype=stored)
                plain.weight.data = torch.randn((rows, cols), generator=g).to(stored)
                model = torch.nn.Sequential(QLinear.from_module(plain, weights=qtypes[name]))
                freeze(model)
                tensors = {k: v for k, v in model.state_dict().items()}
                assert quantization_map(model) == {"0": {"weights": name, "activations": "none"}}
                yield Case(f"quanto {name}", "optimum-quanto 0.2.7", tensors, {}, {"0.weight": exact(model[0].weight)})


        # With a bias there is a number for each row.
        for rows, cols in grown((32, 256), (24, 192), (40, 160)):
            plain = torch.nn.Linear(cols, rows, bias=True)
            plain.weight.data = torch.randn((rows, cols), generator=g)
            model = torch.nn.Sequential(QLinear.from_module(plain, weights=qtypes[name]))
            freeze(model)
            case = Case(f"quanto {name}, groups", "optimum-quanto 0.2.7", dict(model.state_dict()), {}, {"0.weight": exact(model[0].weight)})
            yield case._replace(write=functools.partial(store, case))  # no golden: it has a bias


def exact(w):
    """What the library decodes, from scales in float32."""
    kind = type(w)
    inner, meta = w.__tensor_flatten__()
    parts = {n: getattr(w, n) for n in inner}
    for n in ("_scale", "_shift"):
        if n in parts:
            parts[n] = parts[n].float()
    return kind.__tensor_unflatten__(parts, meta, None, None).dequantize().contiguous()
