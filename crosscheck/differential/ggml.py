"""ggml's own loader of GGUF, through the shared library that environment.py builds."""
import ctypes
import os

from hashes import digest

P, I64 = ctypes.c_void_p, ctypes.c_int64


class Params(ctypes.Structure):
    _fields_ = [("no_alloc", ctypes.c_bool), ("ctx", ctypes.POINTER(P))]


class Head(ctypes.Structure):
    """How struct ggml_tensor begins."""

    _fields_ = [("type", ctypes.c_int), ("buffer", P), ("ne", I64 * 4)]


def load():
    """The loader, or None where there is no library."""
    path = os.environ.get("CROSSCHECK_GGML")
    if not path or not os.path.exists(path):
        return None
    lib = ctypes.CDLL(path)
    # Bound here, since a call that is looked up later raises an audit event.
    calls = {"gguf_init_from_file": (P, ctypes.c_char_p, Params), "gguf_free": (None, P), "ggml_free": (None, P), "ggml_get_first_tensor": (P, P),
             "ggml_get_next_tensor": (P, P, P), "ggml_get_name": (ctypes.c_char_p, P), "ggml_nbytes": (ctypes.c_size_t, P), "ggml_get_data": (P, P),
             "ggml_type_name": (ctypes.c_char_p, ctypes.c_int), "ggml_n_dims": (ctypes.c_int, P)}
    bound = {}
    for name, (result, *args) in calls.items():
        f = bound[name] = getattr(lib, name)
        f.restype, f.argtypes = result, args

    said = []
    log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, P)(lambda level, text, data: said.append(text.decode("utf-8", "replace").strip()))
    lib.ggml_log_set(log, None)

    def read(path):
        ctx = P()
        said.clear()
        g = bound["gguf_init_from_file"](path.encode(), Params(False, ctypes.pointer(ctx)))
        if not g:
            raise ValueError("; ".join(said) or "gguf_init_from_file gives nothing")
        rows, t = [], bound["ggml_get_first_tensor"](ctx)
        while t:
            name = bound["ggml_get_name"](t)
            if name != b"GGUF tensor data binary blob":
                rows.append(row(bound, t, name))
            t = bound["ggml_get_next_tensor"](ctx, t)
        bound["gguf_free"](g)
        bound["ggml_free"](ctx)
        return rows
    read.log = log  # which must not be collected
    return read


def row(bound, t, name):
    head = Head.from_address(t)
    data = ctypes.string_at(bound["ggml_get_data"](t), bound["ggml_nbytes"](t)) if bound["ggml_nbytes"](t) else b""
    # ggml knows four dimensions and drops those of 1 at the end.
    return [name.decode("utf-8", "backslashreplace"), bound["ggml_type_name"](head.type).decode().upper(), [int(n) for n in reversed(head.ne)], digest(data)]
