"""Writes pickles of the data that libraries hold, with the versions that are installed.

    python values.py FOLDER

One file for each value and protocol, named <versions>-<value>-<protocol>.pkl. The values
are those that people store: crosscheck/pickles/README.md says how they are compared.
"""
import collections
import datetime
import decimal
import fractions
import pathlib
import pickle
import sys
import uuid
import warnings

import numpy as np
import pandas as pd
import scipy
import scipy.sparse

warnings.simplefilter("ignore")


def python():
    yield "decimal", [decimal.Decimal("1.50"), decimal.Decimal("-Infinity"), decimal.Decimal("1E+400")]
    yield "fraction", fractions.Fraction(-3, 7)
    yield "uuid", [uuid.UUID(int=7), uuid.uuid1()]
    yield "mixed", {"a": np.array(["x", 1, None], dtype=object)}


def numpy():
    yield "object", np.array([["a", 1, None], [2.5, (1, "b"), {"k": [1]}]], dtype=object)
    yield "object-fortran", np.asfortranarray(np.array([[1, "b"], [None, 2.5]], dtype=object))
    yield "object-empty", np.array([], dtype=object)
    yield "object-scalar", np.array(None, dtype=object)
    ragged = np.empty(2, dtype=object)
    ragged[:] = [np.arange(3), np.arange(2.0)]
    yield "object-ragged", ragged
    yield "structured", np.array([(1, 2.5, "ab"), (3, 4.5, "c")], dtype=[("i", "<i4"), ("f", "<f8"), ("u", "<U2")])
    yield "structured-nested", np.zeros(3, dtype=[("p", [("x", "<f4"), ("y", "<f4")]), ("n", "<i2", (2, 2))])
    yield "structured-object", np.array([(1, "a"), (2, [3])], dtype=[("i", "<i8"), ("o", "O")])
    yield "structured-aligned", np.zeros(2, dtype=np.dtype([("a", "i1"), ("b", "<f8")], align=True))
    yield "record", np.rec.array([(1, 2.5), (3, 4.5)], dtype=[("i", "<i4"), ("f", "<f8")])
    yield "record-scalar", np.array([(1, 2.5)], dtype=[("i", "<i4"), ("f", "<f8")])[0]
    yield "masked", np.ma.masked_array([1.5, 2.5, 3.5], mask=[0, 1, 0])
    yield "masked-int", np.ma.masked_array(np.arange(6).reshape(2, 3), mask=[[0, 1, 0], [1, 0, 0]], fill_value=-1)
    yield "masked-nothing", np.ma.masked_array([1, 2])
    yield "masked-object", np.ma.masked_array(np.array(["a", None], dtype=object), mask=[0, 1])
    yield "masked-structured", np.ma.masked_array([(1, 2.5), (3, 4.5)], mask=[(0, 1), (1, 0)], dtype=[("i", "<i4"), ("f", "<f8")])
    yield "masked-constant", np.ma.masked
    yield "matrix", np.matrix([[1.0, 2.0], [3.0, 4.0]])
    yield "datetime", np.array(["2021-01-02", "NaT"], dtype="datetime64[ns]")
    yield "timedelta", np.array([1, -5], dtype="timedelta64[s]")
    yield "datetime-scalar", [np.datetime64("2021-01-02T03:04:05"), np.timedelta64(5, "D"), np.datetime64("NaT")]
    yield "chars", np.char.array(["abc", "de"])
    yield "scalars", [np.float32(1.5), np.int64(-3), np.bool_(True), np.str_("a"), np.bytes_(b"b"), np.complex128(1 + 2j)]
    yield "types", [np.float64, np.int8, np.dtype("f4"), np.dtype("O"), np.ndarray]


def random():
    state = np.random.RandomState(7)
    state.normal()
    yield "randomstate", state
    for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
        if hasattr(np.random, name):
            yield "generator-" + name, np.random.Generator(getattr(np.random, name)(7))
    yield "bits", np.random.PCG64(7)
    yield "seeds", np.random.SeedSequence(7)
    yield "randomstate-state", state.get_state()


def frames():
    when = pd.date_range("2021-01-01", periods=3, freq="D")
    whole = pd.DataFrame({
        "i": [1, 2, 3], "f": [1.5, None, 2.5], "s": ["a", None, "c"], "b": [True, False, True], "t": when, "d": when - when[0],
        "z": when.tz_localize("UTC"), "c": pd.Categorical(["x", "y", "x"]), "I": pd.array([1, None, 3], dtype="Int64"),
        "B": pd.array([True, None, False], dtype="boolean"), "S": pd.array(["p", None, "r"], dtype="string"), "p": pd.period_range("2021-01", periods=3, freq="M"),
        "v": pd.interval_range(0, 3), "q": pd.arrays.SparseArray([0, 0, 1])})
    yield "frame", whole
    yield "frame-plain", pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=list("abc"))
    yield "frame-empty", pd.DataFrame()
    yield "frame-multi", pd.DataFrame({("a", 1): [1, 2], ("b", 2): [3.5, 4.5]}, index=pd.MultiIndex.from_tuples([("x", 1), ("y", 2)], names=["k", None]))
    for name in whole.columns:
        yield "series-" + ("upper-" if name.isupper() else "") + name.lower(), whole[name].rename("n")
    other = whole["i"].copy()
    other.attrs["k"] = "v"
    yield "series-attrs", other
    if hasattr(pd, "Float64Dtype"):
        yield "series-float64", pd.Series(pd.array([1.5, None], dtype="Float64"))
    for name, index in {
        "range": pd.RangeIndex(5), "plain": pd.Index(["a", "b"], name="n"), "int": pd.Index([3, 1]), "float": pd.Index([1.5]), "date": when, "delta": when - when[0],
        "zone": when.tz_localize("Europe/Paris"), "fixed": when.tz_localize(datetime.timezone(datetime.timedelta(hours=2))), "period": pd.period_range("2021-01", periods=3, freq="M"),
        "interval": pd.interval_range(0, 3), "categorical": pd.CategoricalIndex(["x", "y"]), "multi": pd.MultiIndex.from_product([["a", "b"], [1, 2]]), "bool": pd.Index([True, False]),
    }.items():
        yield "index-" + name, index
    yield "timestamp", [pd.Timestamp("2021-01-02"), pd.Timestamp("2021-01-02", tz="UTC"), pd.Timestamp("2021-01-02 03:04", tz="Europe/Paris")]
    yield "timedelta-scalar", pd.Timedelta(days=2, seconds=5)
    yield "period-scalar", pd.Period("2021-02", freq="M")
    yield "interval-scalar", pd.Interval(0, 2.5, closed="left")
    yield "missing", [pd.NaT, pd.NA]
    yield "categories", pd.CategoricalDtype(["a", "b"], ordered=True)
    yield "types-pandas", [pd.Int64Dtype(), pd.StringDtype(), pd.BooleanDtype(), pd.DatetimeTZDtype("ns", "UTC"), pd.PeriodDtype("D"), pd.IntervalDtype("int64"), pd.SparseDtype("float64", 0.0)]
    yield "offsets", [pd.offsets.Day(2), pd.offsets.MonthEnd(), pd.offsets.BusinessDay(), pd.offsets.Hour(3)]
    arrow = getattr(pd, "ArrowDtype", None)
    try:
        import pyarrow
    except ImportError:
        return
    if arrow:
        yield "arrow-string", pd.Series(["a", None], dtype="string[pyarrow]")
        yield "arrow-int", pd.Series([1, None], dtype=arrow(pyarrow.int64()))


def sparse():
    dense = np.array([[0, 1.5, 0], [2.5, 0, 0]])
    for kind in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
        yield kind + "-matrix", getattr(scipy.sparse, kind + "_matrix")(dense)
        if hasattr(scipy.sparse, kind + "_array"):
            yield kind + "-array", getattr(scipy.sparse, kind + "_array")(dense)


GROUPS = (python, numpy, random, frames, sparse)


def version():
    return f"np{np.__version__}-pd{pd.__version__}-sp{scipy.__version__}-py{sys.version_info[0]}.{sys.version_info[1]}"


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    written = collections.Counter()
    for group in GROUPS:
        for name, value in group():
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                try:
                    text = pickle.dumps(value, protocol)
                except Exception as e:  # some values have no form in old protocols
                    print(f"{name}, protocol {protocol}: {type(e).__name__}: {e}", file=sys.stderr)
                    continue
                (out / f"{version()}-{name}-{protocol}.pkl").write_bytes(text)
                written[group.__name__] += 1
    print(version(), dict(written))


if __name__ == "__main__":
    main()
