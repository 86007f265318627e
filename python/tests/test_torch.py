"""Compares torch tensors with what torch.load and safetensors.torch read."""

import io

import pytest

torch = pytest.importorskip("torch")
reference = pytest.importorskip("safetensors.torch")

import anamnesis_models
from anamnesis_models import torch as ours

TYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")


def tensors():
    g = torch.Generator().manual_seed(1)
    out = {t: (torch.randn(3, 5, generator=g) * 3).to(getattr(torch, t)) for t in TYPES}
    return out | {"complex64": torch.randn(4, dtype=torch.complex64, generator=g), "scalar": torch.tensor(2.5), "none": torch.zeros(0, 3)}


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert torch.equal(a.contiguous().reshape(-1).view(torch.uint8), b.contiguous().reshape(-1).view(torch.uint8))


def test_save_file_writes_the_bytes_of_safetensors(tmp_path):
    ours.save_file(tensors(), tmp_path / "ours.safetensors", {"format": "pt"})
    reference.save_file(tensors(), tmp_path / "theirs.safetensors", {"format": "pt"})
    assert (tmp_path / "ours.safetensors").read_bytes() == (tmp_path / "theirs.safetensors").read_bytes()


def test_load_file_reads_what_safetensors_reads(tmp_path):
    reference.save_file(tensors(), tmp_path / "a.safetensors")
    got, want = ours.load_file(tmp_path / "a.safetensors"), reference.load_file(tmp_path / "a.safetensors")
    assert got.keys() == want.keys()
    for name in want:
        same(got[name], want[name])


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_load_checkpoint_reads_what_torch_reads(tmp_path, zipped):
    given = tensors()
    base = torch.arange(24.0)
    given |= {"base": base, "tied": base, "part": base[3:15].view(3, 4), "transposed": base.view(4, 6).t(), "spread": base[::5], "stretched": torch.ones(1, 3).expand(4, 3)}
    if not zipped:  # torch does not read these back from its older form
        given = {n: t for n, t in given.items() if not n.startswith("float8")}
    torch.save({"model": given, "step": 7}, tmp_path / "a.pt", _use_new_zipfile_serialization=zipped)
    want = torch.load(tmp_path / "a.pt", weights_only=True)["model"]
    got = anamnesis_models.load_checkpoint(tmp_path / "a.pt")
    assert set(got) == {"model." + n for n in want}
    for name, t in want.items():
        same(got["model." + name], t)
        assert got["model." + name].stride() == t.stride() or t.numel() < 2
    assert got["model.tied"].data_ptr() == got["model.base"].data_ptr()
    got["model.base"][4] = 99
    assert got["model.part"].reshape(-1)[1] == 99 and got["model.tied"][4] == 99


def test_a_module_loads_its_state(tmp_path):
    module = torch.nn.TransformerEncoderLayer(16, 4, 32)
    torch.save(module.state_dict(), tmp_path / "a.pt")
    fresh = torch.nn.TransformerEncoderLayer(16, 4, 32)
    fresh.load_state_dict(anamnesis_models.load_checkpoint(tmp_path / "a.pt"))
    for a, b in zip(module.parameters(), fresh.parameters()):
        assert torch.equal(a, b)


def test_what_is_no_checkpoint_is_refused(demo):
    with pytest.raises(anamnesis_models.Unsupported, match="load_file"):
        anamnesis_models.load_checkpoint(demo / "model.safetensors")


def test_shared_memory_is_not_written_twice(tmp_path):
    a = torch.zeros(4)
    with pytest.raises(RuntimeError, match="share memory"):
        ours.save_file({"a": a, "b": a[1:]}, tmp_path / "a.safetensors")
    assert not list(tmp_path.iterdir())


def test_quantized_folder_as_remember_writes_it(demo, tmp_path):
    anamnesis_models.remember(demo / "llama-fp8", tmp_path / "bf16")
    want = {}
    for path in (tmp_path / "bf16").glob("*.safetensors"):
        want |= reference.load_file(path)
    with anamnesis_models.open(demo / "llama-fp8") as m:
        got = m.load()
        assert set(got) == set(want)
        for name in want:
            same(got[name], want[name])
            same(m[name], want[name])


def test_other_byte_order(honest):
    numpy = pytest.importorskip("numpy")
    for path in honest.glob("npy/*-be.npy"):
        with anamnesis_models.open(path, decode=False) as m:
            if not all(t.dtype in m._lib.types for t in m.report.tensors):
                continue
            (got,) = m.load().values()
        want = numpy.load(path)
        assert numpy.array_equal(got.numpy(), want.astype(want.dtype.newbyteorder("="))), path


def test_a_checkpoint_from_memory_is_a_file_first(tmp_path):
    buffer = io.BytesIO()
    torch.save({"a": torch.ones(2)}, buffer)
    (tmp_path / "a.bin").write_bytes(buffer.getvalue())
    assert torch.equal(anamnesis_models.load_checkpoint(tmp_path / "a.bin")["a"], torch.ones(2))
