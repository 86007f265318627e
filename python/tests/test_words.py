"""What arguments take: bytes, open files, slices, frameworks; and errors of Python's kind."""

import errno
import importlib.metadata
import io
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("ml_dtypes")
reference = pytest.importorskip("safetensors.numpy")
safe_open = pytest.importorskip("safetensors").safe_open

import anamnesis_models
from anamnesis_models import numpy as ours


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.safetensors"
    reference.save_file({"a": np.arange(24, dtype=np.float32).reshape(4, 6), "b": np.ones(3, np.int16), "s": np.array(2.0)}, path)
    return path


def same(got, want):
    assert set(got) == set(want)
    for name in want:
        assert got[name].dtype == want[name].dtype and np.array_equal(got[name], want[name]), name


def test_bytes_and_open_files(file):
    want = reference.load_file(file)
    data = file.read_bytes()
    for source in (data, bytearray(data), memoryview(data), io.BytesIO(data)):
        same(ours.load_file(source), want)
    same(ours.load(data), reference.load(data))
    with open(file, "rb") as f:
        same(anamnesis_models.load_file(f, framework="numpy"), want)
    with anamnesis_models.open(io.BytesIO(data), "numpy") as m:
        assert repr(m) == "<anamnesis_models.Model '<file>': safetensors, 3 tensors>"
        assert np.array_equal(m["a"], want["a"])
    assert anamnesis_models.inspect(data).format == "safetensors"
    assert anamnesis_models.verify(data).bodies == "verified"
    scan = anamnesis_models.scan(file, data, b"cos\nsystem\n(S'id'\ntR.")
    assert [(f.path, f.ok) for f in scan.files] == [(str(file), True), ("<bytes>", True), ("<bytes>", False)]
    with pytest.raises(anamnesis_models.Truncated, match="^<bytes>: "):
        anamnesis_models.inspect(data[:-1])
    for wrong, says in ((7, "not int"), (None, "not NoneType"), (io.StringIO("x"), 'mode "rb"')):
        with pytest.raises(TypeError, match=says):
            ours.load_file(wrong)


def test_nothing_is_left_of_bytes(file, tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(anamnesis_models._given.tempfile, "tempdir", str(place))
    a = ours.load_file(file.read_bytes())["a"]
    with pytest.raises(anamnesis_models.Refused):
        ours.load_file(b"nothing")
    assert list(place.iterdir()) == [] and a[3, 5] == 23  # the view outlives its file


def test_slices_are_those_of_safetensors(file, demo):
    with safe_open(file, "numpy") as theirs, anamnesis_models.open(file, "numpy") as m:
        for name, keys in (("a", [slice(1, 3), (slice(None), slice(2, 4)), (0, slice(None)), slice(None)]), ("b", [slice(1, None)])):
            got, want = m.get_slice(name), theirs.get_slice(name)
            assert got.get_shape() == want.get_shape() and got.get_dtype() == want.get_dtype()
            for key in keys:
                assert np.array_equal(got[key], want[key]), (name, key)
        with pytest.raises(KeyError, match="none"):
            m.get_slice("none")
    with pytest.raises(ValueError, match="closed"):
        got[0]
    with anamnesis_models.open(demo / "tiny.gguf", "numpy", to="f32") as m:
        got = m.get_slice("blk.0.attn_q.weight")
        assert got.get_shape() == [32, 32] and got.get_dtype() == "F32" and len(got) == 32
        assert np.array_equal(got[3:5], m["blk.0.attn_q.weight"][3:5])


def test_outputs_that_exist(demo, tmp_path):
    out = tmp_path / "out.safetensors"
    reference.save_file({"mine": np.ones(3, np.int8)}, out)
    mine = out.read_bytes()
    for write in (anamnesis_models.remember, anamnesis_models.dequantize):
        with pytest.raises(FileExistsError, match="force=True") as e:
            write(demo / "tiny.gguf", out)
        assert e.value.errno == errno.EEXIST and e.value.filename == str(out)
    with pytest.raises(FileExistsError):
        anamnesis_models.convert(demo / "tiny.gguf", out, to="safetensors")
    with pytest.raises(FileExistsError):
        anamnesis_models.quantize(demo / "model.safetensors", out, to="nf4")
    assert out.read_bytes() == mine
    assert anamnesis_models.dequantize(demo / "tiny.gguf", out, force=True).written
    copy = tmp_path / "tiny.gguf"
    copy.write_bytes((demo / "tiny.gguf").read_bytes())
    assert anamnesis_models.convert(copy, to="safetensors").written  # the program names the output
    with pytest.raises(FileExistsError):
        anamnesis_models.convert(copy, to="safetensors")


def test_the_framework_is_inferred_or_asked_for(file):
    def run(before, here=""):
        code = f"import sys\n{before}\nimport anamnesis_models\nm = anamnesis_models.open({str(file)!r})\nprint(m.keys())\nprint(type(m['b']).__module__)"
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert run("import numpy").stdout.splitlines()[1] == "numpy"
    installed = "import importlib.util, types\nimportlib.util.find_spec = lambda name, given=importlib.util.find_spec: {} if name in NAMES else None if name in ('torch', 'numpy') else given(name)"
    asked = run(installed.replace("NAMES", "('torch', 'numpy')"))
    assert "['a', 'b', 's']" in asked.stdout.replace('"', "'") or "'a'" in asked.stdout  # names need no framework
    assert 'TypeError: torch and numpy are both installed, and neither is imported: say framework="torch" or framework="numpy"' in asked.stderr
    assert run(installed.replace("NAMES", "('numpy',)")).stdout.splitlines()[1] == "numpy"
    assert "ImportError: tensors need a framework: install torch or numpy" in run(installed.replace("NAMES", "()")).stderr
    with pytest.raises(ValueError, match="give torch or numpy"):
        anamnesis_models.open(file, "jax")


def test_the_version():
    try:
        want = importlib.metadata.version("anamnesis-models")
    except importlib.metadata.PackageNotFoundError:
        want = "0.0.0"
    assert anamnesis_models.__version__ == want
    for name in anamnesis_models.__all__:
        assert hasattr(anamnesis_models, name), name
