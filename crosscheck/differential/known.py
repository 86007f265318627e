"""Explained differences. A row is format, rule, loader, a pattern of the
detail, and the reason; what is matched is counted and not reported. A reason that
is the code of a finding holds for files in which this module has that finding."""
import re

TABLE = [
    (".*", "refuses a type", ".*", "", "a file with an element type that is only listed here, and that ends as unsupported when it is read"),
    ("pickle", "refuses", "pickle|joblib", "persistent id|persistent_load", "torch's own pickles need torch's persistent_load"),
    ("pickle", "refuses", "pickle|joblib", "UnicodeDecodeError", "texts of Python 2: pickle takes them with encoding='latin1' or 'utf-8', as torch does"),
    ("pickle", "refuses", "joblib", "generated with python 2", "the same, in joblib's words"),
    ("pickle", "refuses", "pickle", "", "pickle.joblib"),  # an array's bytes, which pickle takes for instructions
    ("pickle|pth", "refuses", ".*", "attribute '(_rebuild_sparse_csr_tensor|_rebuild_from_type|_(Un)?[tT]ypedStorage)'|No module named 'torch.tensor'",
     "a name of PyTorch 1.7 to 1.13, which newer ones do not have"),
    ("pth", "refuses", "torch.load.*", "'torch.storage.UntypedStorage' has no attribute 'dtype'", "a storage without a type in a legacy file, which torch.save writes and torch.load does not read"),
    ("pth", "refuses", "torch.load.*", "CUDA in forked subprocess|Found no NVIDIA driver|not compiled with CUDA|device type at start of device string: (npu|mlu|musa|gcu)",
     "a device that is not there"),
    ("pickle", "refuses", "pickle|joblib", "CUDA in forked subprocess|Found no NVIDIA driver|not compiled with CUDA|device type at start of device string: (npu|mlu|musa|gcu)",
     "a device that is not there"),
    ("pickle|pth", "refuses", "pickle|joblib|torch.load.*", "cannot instantiate '(Windows|Posix)Path' on your system|No module named 'pathlib._local'",
     "a path of another system, or of a newer Python"),
    ("pth", "tensors", "torch.load.*", "we list .*(<object>|<set>)|it does not: .*<(class|function|built-in)", "a key whose repr is not written here: the names below it are ours"),
    ("npy|npz", "refuses", "numpy.*", "not a valid dtype descriptor: '[<|=]f1'", "a type of ml_dtypes, which NumPy reads once that is imported"),
    ("gguf", "refuses", "gguf-py", "version 1 which we cannot", "gguf.version"),
    ("gguf", "tensors", "gguf-py", "values", "gguf.type-internal"),  # Q8_1 has 40 bytes there, 36 in ggml
    ("gguf", "refuses", "ggml", "GGUFv1 is no longer supported", "gguf.version"),
    ("gguf", "refuses", "ggml", "mismatch between the host and model endianness", "gguf.big-endian"),
    ("gguf", "refuses", "ggml", "failed to read tensor data binary blob", "gguf.last-padding"),
    ("gguf", "refuses", "ggml", "has invalid GGUF type 9", "gguf.nested-array"),
    ("gguf", "refuses", "gguf-py", "UnicodeDecodeError", "gguf.nested-array"),  # it takes all inner arrays for such as the first
    ("gguf", "refuses", "gguf-py", "tuple index out of range", "gguf.shape-scalar"),
    ("gguf", "refuses", "gguf-py", "array is too big", "gguf.shape-empty"),  # no elements, and a product of the other dimensions that NumPy asks for
    ("gguf", "refuses", "gguf-py", r"np.uint32\(42\) is not a valid GGMLQuantizationType", "Q2_0, which gguf-py 0.19 does not know and ggml does"),
    ("gguf", "refuses", "ggml", "tensor name .* is too long", "gguf.name-long"),
]


def reason(d):
    for form, rule, loader, pattern, why in TABLE:
        # A reason that is the code of a finding holds where we have that finding.
        if "." in why and " " not in why and why not in d.finds:
            continue
        if re.fullmatch(form, d.format) and d.rule == rule and re.fullmatch(loader, d.loader) and re.search(pattern, d.detail):
            return why
    return None
