"""Writes pickles of tables whose parts do not fit, as recipes of corpus/hostile/pickle.

    python recipes.py READ FOLDER     with pandas and SciPy
    python recipes.py --valid FOLDER NAME PICKLE...

Each value is made by the library and then changed where the library does not look. The
comment of a recipe says what loading and using the value does here, in a process of its
own, and its offset is where READ, the program of crosscheck/pickles/read, refuses it. With
--valid, honest pickles become recipes of corpus/valid/pickle.
"""
import itertools
import json
import pathlib
import pickle
import pickletools
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")

USES = """
import pickle, sys, warnings, faulthandler, resource
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
try:
    v = pickle.load(sys.stdin.buffer)
except Exception as e:
    print(f"refuses ({type(e).__name__})"); sys.exit()
print("loads it", end="", flush=True)
def uses():
    yield lambda: repr(v)
    yield lambda: v.copy().sum()
    yield lambda: v.astype(object)
    yield lambda: v.to_numpy() if hasattr(v, "to_numpy") else v.toarray()
    yield lambda: v.get_loc(1)
    yield lambda: v.dropna()
    yield lambda: v.tocsr() @ v.tocsc()
failed = set()
for use in uses():
    try:
        use()
    except AttributeError:
        pass
    except BaseException as e:
        failed.add(type(e).__name__)
print(f", and {' and '.join(sorted(failed))} come of its use" if failed else "", end="")
"""


def behaviour(data):
    done = subprocess.run([sys.executable, "-c", USES], input=data, capture_output=True)
    text = done.stdout.decode().strip()
    return text if done.returncode == 0 else f"{text or 'loads it'}{',' if text else ', and'} ends with signal {-done.returncode}"


def offset(read, data):
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        line = json.loads(subprocess.run([read, f.name], capture_output=True, text=True, check=True).stdout)
    error = line["error"]
    return error.split(" at ")[1].split(":")[0], "forbidden" if ": forbidden: " in error else "malformed"


def quoted(data):
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in data) + '"'


def ops(data):
    """Writes a pickle as instructions of the language of recipes."""
    line = []
    for op, arg, _ in pickletools.genops(pickletools.optimize(data)):
        if op.name in ("GLOBAL", "INST"):
            line.append(f"op {op.name} " + " ".join(quoted(part.encode()) for part in arg.split(" ")))
        elif isinstance(arg, str):
            line.append(f"op {op.name} {quoted(arg.encode('utf-8', 'surrogatepass'))}")
        elif isinstance(arg, bytes):
            line.append(f"op {op.name} {quoted(arg)}")
        elif arg is None:
            line.append(f"op {op.name}")
        else:
            line.append(f"op {op.name} {arg!r}")
        if sum(map(len, line)) > 150 or op.name in ("BUILD", "STOP"):
            yield "; ".join(line)
            line = []


def edited(value, old, new):
    data = pickle.dumps(value, 3)
    assert data.count(old) >= 1, old
    return data.replace(old, new)


def cases():
    import numpy as np
    import pandas as pd
    import scipy.sparse as sp
    c = pd.Categorical(["x", "y", "x"])
    c._ndarray[1] = 100
    yield "category-code", "A categorical with a code beyond its categories", c
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [1.5, 2.5, 3.5]})
    slice0 = pickle.dumps(frame, 3)
    yield "block-place", "A frame with a block at a column that it does not have", slice0.replace(b"K\x01K\x02K\x01\x87", b"K\x01K\x02K\x01\x87".replace(b"K\x01K\x02", b"K\x09K\x0a"))
    yield "block-twice", "A frame with two blocks at one column", slice0.replace(b"K\x01K\x02K\x01\x87", b"K\x00K\x01K\x01\x87")
    a = pd.array([1, None, 3], dtype="Int64")
    a._mask = a._mask[:2]
    yield "mask-short", "An array of integers with a mask that is shorter", a
    a = pd.array([True, None, False], dtype="boolean")
    a._data.view("u1")[0] = 77
    yield "boolean-byte", "An array of booleans with a byte that is neither 0 nor 1", a
    i = pd.arrays.IntervalArray.from_breaks(np.arange(300))
    i._left, i._right = i._right, i._left
    yield "interval-turned", "Intervals that end before they begin", pd.Series(i)
    s = pd.arrays.SparseArray([0, 0, 1], kind="integer")
    s.sp_index.indices[0] = 1 << 30
    yield "sparse-point", "A sparse array with a point beyond its end", s
    s = pd.arrays.SparseArray([0, 0, 1, 1])
    s._sparse_values = s._sparse_values[:1]
    yield "sparse-values", "A sparse array with fewer values than points", s
    yield "multi-code", "A MultiIndex with a code beyond its level", pd.MultiIndex([["a", "b"], [1, 2]], [[0, 1], [0, 99]], verify_integrity=False)
    yield "multi-lengths", "A MultiIndex whose codes have two lengths", pd.MultiIndex([["a", "b"], [1, 2]], [[0, 1], [0, 1, 1]], verify_integrity=False)
    yield "range-long", "A frame without columns and with 2^50 rows", pd.DataFrame(index=pd.RangeIndex(2**50))
    other = pd.DataFrame({"a": [1, 2, 3]})
    other._mgr.axes[1] = pd.RangeIndex(1000)
    yield "frame-rows", "A frame with an index of more rows than its blocks", other
    series = pd.Series([1, 2, 3])
    data = pickle.dumps(series, 3)
    yield "series-frame", "A series that has the manager of a frame", data.replace(b"SingleBlockManager", b"BlockManager")
    yield "timestamp-unit", "A moment in a unit that pandas does not have", edited(pd.Timestamp(5, unit="ns"), b"K\n", b"K\x63")
    yield "time-unit", "An array of times whose type has another unit", edited(pd.array(np.array([1, 2], "M8[ns]")), b"C\x02ns", b"C\x02Xs").replace(b"C\x02Xs", b"C\x02us", 1).replace(b"C\x02Xs", b"C\x02ns")
    d = sp.dia_matrix((np.ones((1, 3)), [0]), shape=(3, 3))
    d.offsets[0] = -(2**31)
    yield "dia-offset", "A matrix of diagonals with an offset of -2^31", d
    m = sp.csr_matrix((np.ones(2), np.array([2, 0], "i4"), np.array([0, 2], "i4")), shape=(1, 3))
    m._has_sorted_indices = True
    yield "csr-unsorted", "A sparse matrix that says that its indices grow, which they do not", m
    k = sp.dok_matrix((2, 2))
    k[0, 1] = 1.0
    yield "dok-cell", "A matrix of single cells with one beyond its rows", edited(k, b"K\x00K\x01\x86", b"K\x63K\x01\x86")
    for name, text in ("period-text", "period[" + "9" * 40 + "D]"), ("period-name", "D"):
        yield name, "A type of periods of a text that pandas does not write", b"\x80\x03cpandas.core.dtypes.dtypes\nPeriodDtype\nX" + len(text).to_bytes(4, "little") + text.encode() + b"\x85R."
    yield "period-state", "A type of periods that is made without its frequency", b"\x80\x03cpandas.core.dtypes.dtypes\nPeriodDtype\n)\x81}X\x04\x00\x00\x00freqcpandas._libs.tslibs.offsets\nDay\nK\x01\x89\x86Rsb."


class Call:
    """Pickles as a call of the first value with the second, and with the third for a state."""

    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


def unsaid(matrix):
    for name in "_has_canonical_format", "_has_sorted_indices":
        matrix.__dict__.pop(name, None)
    return matrix


def keys(make):
    one = [pickletools.optimize(pickle.dumps(make(i), 2, fix_imports=False))[2:-1] + b"K\0" for i in range(1, 67)]
    return b"\x80\x03}(" + b"".join(one) + b"u."


def shared():
    import numpy as np
    import pandas as pd
    import scipy.sparse as sp
    from numpy._core.numeric import _frombuffer
    call, of, _ = np.dtype("V8").__reduce__()
    dtype = Call(call, of, (3, "|", None, ("a",), {"a": (np.dtype("f8"), 0)}, 8, 1, 0))
    array = np.zeros(1).__reduce__()
    yield "dtype-flag", "A structure without the flag that its elements are read with the interpreter held", Call(array[0], array[1], (1, (3,), dtype, False, bytes(24)))
    same = np.arange(4, dtype="i4")
    matrix = unsaid(sp.csr_matrix((1, 8), dtype="i4"))
    matrix.indptr, matrix.indices, matrix.data = np.array([0, 4], "i4"), same, same
    yield "csr-alias", "A sparse matrix whose values are its indices", matrix
    memory = bytearray(16)
    matrix = unsaid(sp.csr_matrix((1, 8), dtype="i4"))
    matrix.indptr = np.array([0, 4], "i4")
    matrix.data, matrix.indices = (Call(_frombuffer, (memory, np.dtype("i4"), (4,), "C")) for _ in range(2))
    yield "csr-memory", "A sparse matrix whose values and indices have one bytearray for their memory", matrix
    memory, state = bytes(1004), np.zeros(251, "i4").__reduce__()
    yield "bytes-memory", "Two arrays that have the same bytes for their memory", [Call(state[0], state[1], (1, (251,), np.dtype("i4"), False, memory)) for _ in range(2)]
    yield "csr-wide", "A sparse matrix with 2^31 - 1 columns", sp.csr_matrix(([1.0], ([0], [0])), shape=(1, 2**31 - 1))
    a = pd.array([1, 2, 3], dtype="Int64")
    a._mask = a._data = np.array([0, 1, 0], "?")
    yield "mask-alias", "An array of booleans that is its own mask", a
    sparse = pd.arrays.SparseArray(np.zeros(1 << 20), fill_value=0)
    frame = pd.DataFrame({i: sparse for i in range(18)})
    yield "sparse-columns", "A frame of 18 columns of 2^20 zeros that are not stored", frame
    yield "keys-int", "A dict of 66 integers that have one hash in Python", keys(lambda i: i * (2**61 - 1))
    yield "keys-complex", "A dict of 66 complex numbers that have one hash in Python", keys(lambda i: complex(i * 1000003, -i))
    yield "keys-tuple", "A dict of 66 tuples that have one hash in Python", keys(lambda i: (i * (2**61 - 1),))


def plain(module, name, rest):
    """Writes a call of a name with what follows: arguments, REDUCE, and a state."""
    return b"\x80\x03" + f"c{module}\n{name}\n".encode() + rest


def refused():
    """Values that the library refuses when it loads or first prints them."""
    import numpy as np
    import pandas as pd
    import scipy.sparse as sp
    from numpy.random import SeedSequence
    texts = np.array(["ab", "cd"])
    yield "text-array", "An array of texts with a character beyond the last one", edited(texts, b"a\0\0\0", b"a\0\xff\0")
    yield "text-scalar", "A text of NumPy with a character beyond the last one", pickle.dumps(texts[0], 3).replace(b"b\0\0\0", b"b\0\0\x80")
    yield "text-field", "A structure with a text that has a character beyond the last one", edited(np.array([(1, "a")], "i4,U1"), b"a\0\0\0", b"a\0\x11\0")
    yield "text-masked", "A masked array of texts with a character beyond the last one", edited(np.ma.array(["ab"], mask=[False]), b"a\0\0\0", b"a\0\xff\0")
    yield "moment-unitless", "A moment of NumPy that has no unit and is not no time", edited(np.array([5], "M8[s]"), b"C\x01s", b"C\x07generic")
    yield "duration-none", "A duration of pandas of -2^63 microseconds", edited(pd.Timedelta(5, "us"), b"K\x05K\x09", b"\x8a\x08" + bytes(7) + b"\x80K\x09")
    lists = sp.lil_matrix((1, 2))
    lists[0, 1] = 7.0
    lists.data[0] = ["x"]
    yield "lil-text", "A sparse matrix of lists that holds a text", lists
    for kind, made in (("lil", sp.lil_array((1, 2))), ("dok", sp.dok_array((1, 2)))):
        made[0, 1] = 7.0
        made.dtype = np.dtype("U2")
        yield f"{kind}-type", f"A sparse array of {'lists' if kind == 'lil' else 'keys'} whose numbers are texts", made
    cells = sp.csr_matrix(([1.0], ([0], [0])), shape=(1, 1))
    cells.data = np.array(["x"])
    yield "csr-text", "A sparse matrix of texts", cells
    sparse = pd.arrays.SparseArray([0, 0, 1])
    sparse._dtype = pd.SparseDtype("M8[ns]")
    yield "sparse-type", "A sparse array of integers whose type is one of moments", sparse
    seeds = SeedSequence(5).__reduce__()
    for name, about, state in (("pool-empty", "A seed whose pool is empty", (5, 0, np.zeros(0, "u4"), 0, ())), ("pool-short", "A seed whose pool is shorter than it says", (5, 0, np.zeros(2, "u4"), 4, ())),
                               ("negative", "A seed that is negative", (-5, 0, np.zeros(4, "u4"), 4, ()))):
        yield f"seed-{name}", about, Call(seeds[0], seeds[1], state)
    yield "seed-digest", "A seed with the digest of other attributes", Call(seeds[0], (seeds[1][0], 5, None), (5, 0, np.zeros(4, "u4"), 4, ()))
    yield "uuid-safe", "An identifier that is safe in a way that Python does not have", plain("uuid", "UUID", b")\x81}(X\x03\0\0\0intK\x07X\x07\0\0\0is_safeK\x05ub.")
    yield "uuid-negative", "An identifier that is a negative number", plain("uuid", "UUID", b")\x81}X\x03\0\0\0intJ\xff\xff\xff\xffsb.")
    yield "fraction-zero", "A fraction of nothing", plain("fractions", "Fraction", b"X\x03\0\0\x001/0\x85R.")
    yield "interval-point", "An interval that ends before it begins", plain("pandas._libs.interval", "Interval", b"(K\x02K\x01X\x05\0\0\0righttR.")
    yield "interval-kinds", "An interval from a number to a moment", plain("pandas._libs.interval", "Interval", b"(K\x02cpandas._libs.tslibs.timedeltas\n_timedelta_unpickle\nK\x05K\x09\x86RX\x05\0\0\0righttR.")
    yield "tick-normalized", "A tick of pandas that begins at midnight", plain("pandas._libs.tslibs.offsets", "Hour", b"K\x01\x88\x86R.")
    yield "week-day", "A week of pandas that ends on its tenth day", plain("pandas._libs.tslibs.offsets", "Week", b"K\x01\x89K\x09\x87R.")
    yield "year-month", "A year of pandas that ends in its thirteenth month", plain("pandas._libs.tslibs.offsets", "YearEnd", b"K\x01\x89K\x0d\x87R.")
    yield "period-zero", "A period of pandas of no days", plain("pandas._libs.tslibs.period", "Period", b"(Ncpandas._libs.tslibs.offsets\nDay\nK\0\x89\x86RK\x05tR.")
    yield "period-offset", "A period of pandas of a frequency that has none", plain("pandas._libs.tslibs.period", "Period", b"(Ncpandas._libs.tslibs.offsets\nMonthBegin\nK\x01\x89\x86RK\x05tR.")
    yield "period-letters", "A type of periods with the letters of no frequency", plain("pandas.core.dtypes.dtypes", "PeriodDtype", b"X\x0a\0\0\0period[QQ]\x85R.")
    yield "text-storage", "A type of texts that are kept as nothing that pandas has", plain("pandas.core.arrays.string_", "StringDtype", b"X\x06\0\0\0memory\x85R.")


def main():
    if sys.argv[1] == "--valid":
        out, about = pathlib.Path(sys.argv[2]), sys.argv[3]
        for path in map(pathlib.Path, sys.argv[4:]):
            text = f"# {about}: {path.stem}.\nexpect: ok\n--\n" + "\n".join(ops(path.read_bytes())) + "\n"
            (out / ("tables-" + path.stem.replace(".", "-") + ".txt")).write_text(text)
        return
    import pandas
    import scipy
    out = pathlib.Path(sys.argv[2])
    for name, about, value in itertools.chain(cases(), shared(), refused()):
        data = pickletools.optimize(value if isinstance(value, bytes) else pickle.dumps(value, 3))
        at, answer = offset(sys.argv[1], data)
        text = f"# {about}.\n# pandas {pandas.__version__}, SciPy {scipy.__version__}: {behaviour(data)}.\nexpect: {answer}\noffset: {at}\ncovers: P08\n--\n"
        (out / f"table-{name}.txt").write_text(text + "\n".join(ops(data)) + "\n")


if __name__ == "__main__":
    main()
