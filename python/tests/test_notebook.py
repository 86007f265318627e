"""What notebooks show, in Chromium and through nbconvert, with scripts and without."""

import html.parser
import json
import pathlib
import shutil
import subprocess

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("ml_dtypes")
reference = pytest.importorskip("safetensors.numpy")

import anamnesis_models

EVIL = "</code></li><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


class Elements(html.parser.HTMLParser):
    """The elements of a text, and whether they are closed."""

    VOID = {"meta", "br", "img", "rect"}

    def __init__(self, text):
        super().__init__()
        self.all, self.open, self.text = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.all.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def accessible(text):
    """Check what a screen reader needs: heads of tables with their scope, names of frames and pictures."""
    e = Elements(text)
    assert e.open == []
    for tag, attrs in e.all:
        assert not any(a.startswith("on") for a in attrs) and tag not in ("script", "img", "object", "embed")
        assert tag != "th" or attrs.get("scope") in ("col", "row")
        assert tag != "iframe" or attrs["title"] and attrs["sandbox"] == "allow-scripts"
        assert tag != "svg" or attrs["role"] == "img" and attrs["aria-label"]
    return e


def shown(tmp_path, text):
    """Return the page as Chromium has it after it has run."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    page = tmp_path / "page.html"
    page.write_text(text, encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000"]
    return subprocess.run([chromium, *flags, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=180, check=True).stdout


@pytest.fixture
def evil(tmp_path):
    path = tmp_path / "evil.safetensors"
    reference.save_file({"a." + EVIL: np.ones(2, np.float32), "model.layers.0.w": np.arange(6, dtype=np.float32).reshape(2, 3), "model.layers.1.w": np.zeros(4, np.float32)}, path)
    return path


def test_what_is_shown_is_accessible_and_text(evil, demo, tmp_path):
    bad = tmp_path / "bad.pkl"
    bad.write_bytes(b"cos\nsystem\n(S'id'\ntR.")
    m = anamnesis_models.open(evil, "numpy")
    quantized = anamnesis_models.open(demo / "llama-fp8", "numpy")
    weight = "model.layers.0.mlp.up_proj.weight"
    for thing, says in (
        (m, "model"),
        (m.report, "Types"),
        (m.report.tensors[0], "offset"),
        (m.stats("model.layers.0.w"), "mean"),
        (anamnesis_models.scan(evil), "accepted"),
        (anamnesis_models.scan(bad), "refused"),
        (quantized.stats(weight), "FP8"),
        (quantized.stats(weight, stored=True), "F8_E4M3"),
        (anamnesis_models.page(evil), "accepted"),
        (anamnesis_models.page(bad), "refused"),
        (m.page(), "accepted"),
    ):
        assert says in accessible(thing._repr_html_()).text, thing
    s = m.stats("model.layers.0.w")
    assert (s.min, s.max, s.mean, s.zeros, s.elements) == (0, 5, 2.5, 1, 6)
    with pytest.raises(KeyError):
        m.stats("none")


def test_the_page_is_that_of_the_program(evil, tmp_path):
    page = anamnesis_models.page(evil)
    made = tmp_path / "made.html"
    subprocess.run([anamnesis_models.binary(), "inspect", f"--html={made}", str(evil)], check=True, capture_output=True)
    assert page.html == made.read_text(encoding="utf-8")
    (frame,) = [attrs for tag, attrs in Elements(page._repr_html_()).all if tag == "iframe"]
    assert frame["srcdoc"] == page.html
    page.save(tmp_path / "saved.html")
    with pytest.raises(FileExistsError):
        page.save(tmp_path / "saved.html")
    assert (tmp_path / "saved.html").read_text(encoding="utf-8") == page.html


def test_a_deep_or_large_model_is_cut(tmp_path):
    reference.save_file({"x." * 3000 + "w": np.ones(1, np.uint8), **{f"l.{i}.w": np.ones(1, np.uint8) for i in range(5000)}}, tmp_path / "a.safetensors")
    text = anamnesis_models.inspect(tmp_path / "a.safetensors")._repr_html_()
    assert accessible(text).text.endswith("and more") and len(text) < 1 << 20


def test_in_chromium(evil, tmp_path):
    m = anamnesis_models.open(evil, "numpy")
    text = "<title>notebook</title>" + m._repr_html_() + m.stats("model.layers.0.w")._repr_html_() + anamnesis_models.page(evil)._repr_html_()
    nothing = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    for policy in ("", nothing):  # a notebook that runs scripts and frames, and one that does neither
        dom = shown(tmp_path, "<!doctype html>" + policy + text)
        assert "<title>notebook</title>" in dom and "layers" in dom and "accepted" in dom and "<svg" in dom
    page = shown(tmp_path, anamnesis_models.page(evil).html)
    assert "<title>owned" not in page and "layers" in page.rpartition("</script>")[2] + page.partition("<script")[0]


def test_through_nbconvert(evil, tmp_path):
    nbconvert = pytest.importorskip("nbconvert")
    nbformat = pytest.importorskip("nbformat")
    page = anamnesis_models.page(evil)
    cell = nbformat.v4.new_code_cell("page", outputs=[nbformat.v4.new_output("execute_result", {"text/html": page._repr_html_(), "text/plain": repr(page)})])
    book = nbformat.v4.new_notebook(cells=[cell])
    made, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(book)
    assert "srcdoc" in made and "accepted" in made
    try:
        made, _ = nbconvert.HTMLExporter(template_name="basic", sanitize_html=True).from_notebook_node(book)
    except ImportError:
        return  # without a sanitizer nothing is removed
    assert "<script" not in made and "accepted" in made and json.dumps(str(pathlib.Path(evil).name))[1:-1] in made
