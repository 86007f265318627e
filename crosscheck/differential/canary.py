"""Files whose answers are known, asked before each search: a machine that does not
see what they do would find nothing, and look sound."""

PICKLES = ("pickle", "joblib", "torch.load", "numpy allow_pickle")
# Pickle, and how the first effect of each loader that runs it begins.
EFFECTS = (
    (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
    (b"cbuiltins\nopen\n(S'/dev/null'\nS'w'\ntR.", "open"),
    (b"cbuiltins\nexec\n(S'pass'\ntR.", "exec"),
    (b"csocket\nsocket\n)R.", "socket.__new__"),
    (b"cthis\ns\n.", "import this"),
)
ABORT = b"cos\nabort\n)R."
ARRAY = b"\x93NUMPY\x01\x00F\x00{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }".ljust(79) + b"\n\x01\0\x02\0"


def blind(loaders):
    """What of them the loaders' server does not see, or None."""
    inputs = [(PICKLES, data) for data, _ in EFFECTS] + [(["pickle"], ABORT), (["numpy"], ARRAY)]
    *run, died, read = loaders.ask(inputs)
    for (_, want), answers in zip(EFFECTS, run):
        for name in PICKLES:
            if not any(e.startswith(want) for e in answers[name].get("effects", [])):
                return f"{name}: {want} is not noticed: {answers[name]}"
    if died["pickle"].get("died") != -6:
        return f"a loader that aborts is not noticed: {died}"
    if [row[:3] for row in read["numpy"].get("rows", [])] != [["arr_0", "U16", [2]]]:
        return f"an array is not read after that: {read}"
    return None
