"""Reports, verdicts and refusals."""

import hashlib
import json
import os
import pickle
import shutil
import zipfile

import pytest

import anamnesis_models


def checkpoint(path, data):
    """Return a torch checkpoint whose pickle holds only data."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        z.writestr("archive/data.pkl", data)
        z.writestr("archive/version", "3\n")


class Evil:
    """Return a file whose pickle creates a folder when loaded."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_inspect_says_what_the_program_says(demo):
    r = anamnesis_models.inspect(demo / "checkpoint.pt")
    assert (r.format, len(r.tensors), r.bodies) == ("pth", 24, "not read")
    t = r.tensors[1]
    assert (t.name, t.dtype, t.shape, t.nbytes, t.stored) == ("embed.weight", "F32", (96, 16), 6144, "torch.float32")
    assert r.nbytes == r.raw["totals"]["bytes"] and r.elements == r.raw["totals"]["elements"]


def test_verify_reads_the_bodies(demo):
    assert anamnesis_models.verify(demo / "weights.npz").bodies == "verified"


def test_quantized_weights_are_told_from_their_parts(demo):
    q = anamnesis_models.inspect(demo / "llama-fp8").quantized
    assert q.weights == 14 and q.schemes[0].scheme == "FP8" and len(q.bound) == 14
    assert set(q.bound[0].parts) > {q.bound[0].name}


def test_many_models_have_many_reports(demo):
    reports = anamnesis_models.inspect_all(demo, recursive=True)
    assert len(reports) > 3
    with pytest.raises(ValueError, match="models"):
        anamnesis_models.inspect(demo)


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("a.safetensors", (9).to_bytes(8, "little") + b'{"a":[1]}', anamnesis_models.Malformed),
        ("a.safetensors", (800).to_bytes(8, "little") + b'{"a":', anamnesis_models.Truncated),
        ("a.txt", b"hello\n", anamnesis_models.Unsupported),
    ],
)
def test_a_refusal_says_why_by_its_class(tmp_path, name, data, error):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(error) as e:
        anamnesis_models.inspect(tmp_path / name)
    assert e.value.kind == error.kind and e.value.path.endswith(name)
    assert isinstance(e.value, anamnesis_models.Refused)


def test_a_limit_names_its_axis(demo):
    with pytest.raises(anamnesis_models.LimitReached) as e:
        anamnesis_models.inspect(demo / "weights.npz", max_items=3)
    assert (e.value.axis, e.value.flag) == ("items", "--max-items")


def test_nothing_of_a_checkpoint_is_run(tmp_path):
    path = tmp_path / "evil.pt"
    checkpoint(path, pickle.dumps(Evil(tmp_path / "made"), protocol=2))
    with pytest.raises(anamnesis_models.Refused):
        anamnesis_models.load_checkpoint(path, framework="numpy")
    verdict = anamnesis_models.scan(path)
    assert not verdict and verdict.files[0].error is not None
    with pytest.raises(anamnesis_models.Forbidden):
        verdict.raise_refused()
    assert not (tmp_path / "made").exists()


def test_scan_accepts_what_is_safe(demo):
    verdict = anamnesis_models.scan(demo / "checkpoint.pt", demo / "model.safetensors")
    assert verdict.ok and [f.safe for f in verdict.files] == [True, None] or verdict.ok
    assert ("torch._utils._rebuild_tensor_v2", "allowed") in verdict.files[0].globals


def test_wrong_use_is_a_value_error(demo):
    with pytest.raises(ValueError):
        anamnesis_models.inspect(demo / "tiny.gguf", no_such_flag=True)
    with pytest.raises(ValueError):
        anamnesis_models.inspect("a\0b")


def test_a_path_is_never_a_flag_or_standard_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("-", "--help", "-r"):
        with pytest.raises(FileNotFoundError):
            anamnesis_models.inspect(name)
        assert "no such file" in str(anamnesis_models.scan(name).files[0].error)


def test_what_the_system_refuses_is_its_own_error(demo, tmp_path):
    for f in (anamnesis_models.inspect, anamnesis_models.verify, anamnesis_models.open, anamnesis_models.load_file, anamnesis_models.load_checkpoint, anamnesis_models.remember):
        with pytest.raises(FileNotFoundError):
            f(tmp_path / "none.safetensors")
    with pytest.raises(FileNotFoundError):
        anamnesis_models.convert(tmp_path / "none.pt", to="safetensors")
    with pytest.raises(TypeError):
        anamnesis_models.inspect(5)
    with pytest.raises(anamnesis_models.Unsupported):
        anamnesis_models.inspect("https://host.example/model.gguf")


def test_models_of_a_store_are_opened_by_name(demo, tmp_path, monkeypatch):
    data = (demo / "tiny.gguf").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + digest, "size": len(data)}
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / ("sha256-" + digest)).write_bytes(data)
    manifest = tmp_path / "manifests" / "registry.ollama.ai" / "library" / "tiny" / "latest"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": [layer]}))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))
    assert len(anamnesis_models.inspect("ollama:tiny").tensors) == 4
    with anamnesis_models.open("ollama:tiny", "numpy", to="f32") as m:
        assert m["blk.0.attn_q.weight"].shape == (32, 32)
    with pytest.raises(ValueError, match="in no store"):
        anamnesis_models.inspect("ollama:none")


def test_a_folder_with_other_files_is_accepted(demo, tmp_path):
    """Files without a model are skipped, as by the program; a folder of only such files is not accepted."""
    shutil.copy(demo / "checkpoint.pt", tmp_path / "model.pt")
    (tmp_path / "README.md").write_text("# A model\n")
    verdict = anamnesis_models.scan(tmp_path)
    assert verdict and sorted(f.skipped for f in verdict.files) == ["", "a text"]
    assert "skipped" in verdict._repr_html_()
    os.remove(tmp_path / "model.pt")
    verdict = anamnesis_models.scan(tmp_path)
    assert not verdict and verdict.files[0].ok and isinstance(verdict.error, anamnesis_models.Unsupported)
    with pytest.raises(anamnesis_models.Unsupported):
        verdict.raise_refused()


@pytest.mark.skipif(os.name == "nt", reason="the program of this test is a shell's script")
def test_a_program_that_was_ended_has_accepted_nothing(demo, tmp_path, monkeypatch):
    """A killed program may have reported some files; the others were not examined."""
    program = tmp_path / "amn"
    program.write_text(f'#!/bin/sh\n"{anamnesis_models.binary()}" "$@" && kill -9 $$\n')
    program.chmod(0o755)
    monkeypatch.setenv("ANAMNESIS_AMN", str(program))
    verdict = anamnesis_models.scan(demo / "checkpoint.pt")
    assert verdict.files[0].ok and not verdict and isinstance(verdict.error, anamnesis_models.Failed)
    for f in (anamnesis_models.inspect, anamnesis_models.verify):
        with pytest.raises(anamnesis_models.Failed):
            f(demo / "checkpoint.pt")


def test_paths_may_be_written_in_any_way(demo, tmp_path, monkeypatch):
    from anamnesis_models.numpy import load_file

    shutil.copytree(demo / "sharded", tmp_path / "sharded")
    for name in ("checkpoint.pt", "model.safetensors", "weights.npz"):
        shutil.copy(demo / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    for path in ("checkpoint.pt", "./checkpoint.pt", "sharded/../checkpoint.pt"):
        assert len(anamnesis_models.load_checkpoint(path, framework="numpy")) == 24
    for path in ("model.safetensors", ".//model.safetensors", "weights.npz", "sharded", "sharded/", "./sharded//", "sharded/model.safetensors.index.json"):
        assert load_file(path), path
        with anamnesis_models.open(path, "numpy") as m:
            assert m.load(), path
    monkeypatch.chdir(tmp_path / "sharded")
    for path in (".", "model.safetensors.index.json", "../sharded"):
        assert len(load_file(path)) == 24


def test_a_notebook_shows_text_of_a_file_as_text(tmp_path):
    from anamnesis_models import numpy as ours
    import numpy

    ours.save_file({"<script>alert(1)</script>": numpy.zeros(3, "f4")}, tmp_path / "a.safetensors")
    page = anamnesis_models.inspect(tmp_path / "a.safetensors")._repr_html_()
    assert "&lt;script&gt;" in page and "<script" not in page
    assert "refused" in anamnesis_models.inspect_all(tmp_path / "none.safetensors")[0]._repr_html_()
    assert "<script" not in anamnesis_models.scan(tmp_path)._repr_html_()


def test_conversions(demo, tmp_path):
    w = anamnesis_models.remember(demo / "tiny.gguf", tmp_path / "a.safetensors", to="f32")
    assert w.written and w.weights == 2 and w.target == "F32"
    w = anamnesis_models.convert(demo / "weights.npz", tmp_path / "b.safetensors", to="safetensors")
    assert w.nbytes == (tmp_path / "b.safetensors").stat().st_size
    w = anamnesis_models.forget(demo / "tiny.gguf", tmp_path / "c.gguf", to="q8_0")
    assert anamnesis_models.inspect(w.output).format == "gguf"
    with pytest.raises(FileExistsError):
        anamnesis_models.convert(demo / "weights.npz", tmp_path / "b.safetensors", to="safetensors")
