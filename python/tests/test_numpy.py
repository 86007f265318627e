"""Compares arrays with what numpy and safetensors read."""

import os

import pytest

np = pytest.importorskip("numpy")
reference = pytest.importorskip("safetensors.numpy")

import anamnesis_models
from anamnesis_models import numpy as ours


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes()


def arrays():
    rng = np.random.default_rng(1)
    return {
        "a.f4": rng.standard_normal((3, 5)).astype("f4"),
        "a.f8": rng.standard_normal(7),
        "a.f2": rng.standard_normal((2, 2, 2)).astype("f2"),
        "b.i8": np.arange(5, dtype="i8"),
        "b.u1": np.arange(11, dtype="u1"),
        "b.bool": np.array([True, False, True]),
        "scalar": np.array(3.5, "f4"),
        "none": np.zeros((0, 4), "f4"),
        "d\N{SNOWMAN}\"\\": np.ones(1, "i2"),
    }


def test_save_file_writes_the_bytes_of_safetensors(tmp_path):
    ours.save_file(arrays(), tmp_path / "ours.safetensors")
    reference.save_file(arrays(), tmp_path / "theirs.safetensors")
    assert (tmp_path / "ours.safetensors").read_bytes() == (tmp_path / "theirs.safetensors").read_bytes()


def test_load_file_reads_what_safetensors_reads(tmp_path):
    reference.save_file(arrays(), tmp_path / "a.safetensors", {"k": "v"})
    got, want = ours.load_file(tmp_path / "a.safetensors"), reference.load_file(tmp_path / "a.safetensors")
    assert got.keys() == want.keys()
    for name in want:
        same(got[name], want[name])


def test_metadata_goes_there_and_back(tmp_path):
    ours.save_file(arrays(), tmp_path / "a.safetensors", {"format": "np", "x": "\N{SNOWMAN}"})
    with anamnesis_models.open(tmp_path / "a.safetensors", "numpy") as m:
        assert m.metadata() == {"format": "np", "x": "\N{SNOWMAN}"}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    given = arrays() | {"big": np.arange(6, dtype=">f4").reshape(2, 3), "fortran": np.asfortranarray(np.arange(12.0).reshape(3, 4))}
    given = {k.replace('"', "").replace("\\", ""): v for k, v in given.items()}
    save(tmp_path / "a.npz", **given)
    with anamnesis_models.open(tmp_path / "a.npz", "numpy") as m:
        got = m.load()
        one = {k: m[k] for k in m}
    assert set(got) == set(given)
    for name, want in given.items():
        for have in (got[name], one[name]):
            assert have.shape == want.shape and np.array_equal(have, want)


def test_honest_npy_files_read_as_numpy_reads_them(honest):
    read = 0
    for path in sorted(honest.glob("npy/*.npy")):
        report = anamnesis_models.inspect(path)
        with anamnesis_models.open(path, "numpy", decode=False) as m:
            if not all(t.dtype in m._lib.types for t in report.tensors):
                continue
            (got,) = m.load().values()
        try:
            want = np.load(path)
        except ValueError:  # ml_dtypes writes names that numpy does not read
            continue
        if want.dtype.kind == "V":
            continue
        assert got.shape == want.shape and np.array_equal(got, want, equal_nan=want.dtype.kind in "fc"), path
        read += 1
    assert read > 20


def test_a_view_is_no_copy_and_never_reaches_the_file(tmp_path):
    reference.save_file({"a": np.zeros(1 << 16, "f4")}, tmp_path / "a.safetensors")
    before = (tmp_path / "a.safetensors").read_bytes()
    a = ours.load_file(tmp_path / "a.safetensors")["a"]
    assert not a.flags.owndata
    a[:] = 1
    assert (tmp_path / "a.safetensors").read_bytes() == before


def test_a_file_that_changes_meanwhile_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    reference.save_file({"a": np.zeros(64, "f4")}, path)
    m = anamnesis_models.open(path, "numpy")
    os.truncate(path, 100)
    with pytest.raises(anamnesis_models.Failed, match="changed"):
        m["a"]


def test_the_decoded_are_those_that_remember_writes(demo, tmp_path):
    anamnesis_models.remember(demo / "tiny.gguf", tmp_path / "a.safetensors", to="f32")
    want = reference.load_file(tmp_path / "a.safetensors")
    with anamnesis_models.open(demo / "tiny.gguf", "numpy", to="f32") as m:
        got = m.load()
        for name in want:
            same(got[name], want[name])
            same(m[name], want[name])
    with pytest.raises(TypeError, match="decode=True"):
        ours.load_file(demo / "tiny.gguf", decode=False)
    loaded = ours.load_file(demo / "tiny.gguf", to="f32")  # open and load_file have one default
    assert set(loaded) == set(want)
    for name in want:
        same(loaded[name], want[name])


def test_names_that_are_patterns_decode_themselves_alone(tmp_path):
    given = {"a*": np.ones(3), "a[0]": np.zeros(3), "a\\": np.full(3, 2.0), "ab": np.full(3, 3.0)}
    np.savez_compressed(tmp_path / "a.npz", **{k: v for k, v in given.items() if k != "a\\"})
    with anamnesis_models.open(tmp_path / "a.npz", "numpy") as m:
        for name in m:
            assert np.array_equal(m[name], given[name])


def test_nothing_is_left_behind(demo):
    import glob
    import tempfile

    def left():
        return set(glob.glob("/dev/shm/anamnesis-*")) | set(glob.glob(tempfile.gettempdir() + "/anamnesis-*"))

    before = left()
    with anamnesis_models.open(demo / "tiny.gguf", "numpy", to="f32") as m:
        kept = m.load()
    assert left() <= before and all(np.isfinite(v).all() for v in kept.values())
