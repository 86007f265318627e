"""The program in README runs unchanged."""

import re
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")


def test_the_program_of_readme_runs(demo, tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    program = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    monkeypatch.chdir(tmp_path)
    torch.save(torch.nn.Linear(4, 4).state_dict(), "model.pt")
    (tmp_path / "downloads").mkdir()
    shutil.copy(demo / "checkpoint.pt", "downloads")
    (tmp_path / "downloads" / "README.md").write_text("# A model\n")
    shutil.copy(demo / "tiny.gguf", "model.gguf")
    shutil.copy(demo / "model.safetensors", "model.safetensors")
    shutil.copytree(demo / "llama-fp8", "llama-fp8")
    names: dict = {}
    exec(compile(program, "README.md", "exec"), names)
    assert set(names["state"]) == {"weight", "bias"} and names["weight"].dtype == torch.bfloat16
    assert "blk.0.attn_q.weight" in capsys.readouterr().out
    for made in ("copy.safetensors", "llama-bf16", "full.safetensors", "full-nf4.safetensors"):
        assert (tmp_path / made).exists(), made


def blocks(name):
    text = (Path(__file__).parent.parent.parent / "docs" / name).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.S)


def test_what_the_guides_show_runs(demo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    layer = torch.nn.Linear(4, 4)
    torch.save(layer.state_dict(), "model.pt")
    shutil.copy(demo / "tiny.gguf", "model.gguf")
    names: dict = {"model": torch.nn.Linear(4, 4)}
    judge, *services, load = blocks("gate-python.md")
    assert len(services) == 2  # crosscheck/gate/hosts.py runs the first, test_receipt.py the second
    exec(compile(judge, "gate-python.md", "exec"), names)
    names["store"]("model.pt")
    Path("evil.bin").write_bytes(b'cos\nsystem\n(S"id"\ntR.')
    with pytest.raises(ValueError):
        names["store"]("evil.bin")
    exec(compile(load, "gate-python.md", "exec"), names)
    assert torch.equal(names["model"].weight, layer.weight)
    (start,) = blocks("start-ml.md")
    exec(compile(start, "start-ml.md", "exec"), names)
    assert names["weight"].dtype == torch.bfloat16
