"""Pickles that the program accepts are loaded by Python's unpickler, and no others."""

import pathlib
import pickle
import sys
import types
import zlib

import pytest

import anamnesis_models as am

CLASSES = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "gate" / "classes"


class Evil:
    def __reduce__(self):
        return print, ("run",)


def write(path, value, protocol=4):
    path.write_bytes(pickle.dumps(value, protocol))
    return path


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_data_is_loaded(tmp_path, protocol):
    value = {"a": [1, 2.5, "x", b"y", None, True, (1, 2)], "b": {3, 4}}
    assert am.load_pickle(write(tmp_path / "a.pkl", value, protocol)) == value


def test_what_runs_code_is_refused(tmp_path, capsys):
    with pytest.raises(am.Forbidden):
        am.load_pickle(write(tmp_path / "a.pkl", Evil()))
    assert capsys.readouterr().out == ""


def test_a_class_of_a_set_needs_its_policy(tmp_path):
    with pytest.raises(am.Forbidden, match="sklearn"):
        am.load_pickle(CLASSES / "accepted" / "onehot.pkl")


@pytest.mark.parametrize("path", sorted((CLASSES / "refused").glob("*.pkl")), ids=lambda p: p.stem)
def test_no_policy_loads_what_the_program_refuses(path):
    with pytest.raises(am.Refused):
        am.load_pickle(path, policy="tabular")


@pytest.mark.parametrize("place", ("file", "path"))
def test_a_file_that_is_swapped_is_not_loaded(tmp_path, monkeypatch, capsys, place):
    from anamnesis_models import _pickle

    path = write(tmp_path / "a.pkl", [1])
    judge = _pickle._verdict

    def swap(*asked):
        verdict = judge(*asked)
        if place == "path":  # the old file is still open
            path.unlink()
        write(path, Evil())
        return verdict

    monkeypatch.setattr(_pickle, "_verdict", swap)
    if place == "path":
        assert am.load_pickle(path) == [1]
    else:
        with pytest.raises((am.Failed, am.Forbidden)):
            am.load_pickle(path)
    assert capsys.readouterr().out == ""


def test_a_file_that_is_swapped_before_it_is_judged_is_not_loaded(tmp_path, monkeypatch, capsys):
    from anamnesis_models import _pickle

    path = write(tmp_path / "a.pkl", Evil())
    judge = _pickle._verdict

    def swap(*asked):
        path.unlink()
        write(path, [1])
        return judge(*asked)

    monkeypatch.setattr(_pickle, "_verdict", swap)
    with pytest.raises(am.Failed, match="changed"):
        am.load_pickle(path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("protocol", (3, 4, 5))
def test_numbers_that_nobody_looked_at_come_from_the_file_and_the_rest_from_memory(tmp_path, monkeypatch, protocol):
    np = pytest.importorskip("numpy")
    from anamnesis_models import _pickle

    value = {"a": np.arange(200_000.0), "name": "x" * 100_000, "b": [np.ones(50_000, "f4"), 7], "c": b"y" * 300_000}
    path = write(tmp_path / "a.pkl", value, protocol)
    got = am.load_pickle(path)
    assert got["name"] == value["name"] and got["b"][1] == 7 and got["c"] == value["c"]
    assert np.array_equal(got["a"], value["a"]) and np.array_equal(got["b"][0], value["b"][0])
    assert len(_pickle._verdict(path, None, ("pickle",), {"unread": True}).raw["pickles"][0]["unread"]) == 3

    # A change of such numbers after the verdict is a change of numbers, one of the text is refused.
    judge, data = _pickle._verdict, path.read_bytes()
    for old, new, refused in ((np.float64(150_000).tobytes(), np.float64(-1).tobytes(), False), (b"x" * 1000, b"z" * 1000, True)):
        def change(*asked):
            verdict = judge(*asked)
            path.write_bytes(data.replace(old, new, 1))
            return verdict

        path.write_bytes(data)
        monkeypatch.setattr(_pickle, "_verdict", change)
        if refused:
            with pytest.raises(am.Failed, match="changed"):
                am.load_pickle(path)
        else:
            assert am.load_pickle(path)["a"][150_000] == -1
        monkeypatch.setattr(_pickle, "_verdict", judge)


def test_a_file_that_became_shorter_is_not_loaded(tmp_path, monkeypatch):
    from anamnesis_models import _pickle

    path = write(tmp_path / "a.pkl", [b"y" * 300_000])
    judge = _pickle._verdict

    def cut(*asked):
        verdict = judge(*asked)
        path.write_bytes(path.read_bytes()[:200_000])
        return verdict

    monkeypatch.setattr(_pickle, "_verdict", cut)
    with pytest.raises(am.Failed, match="changed"):
        am.load_pickle(path)


def test_a_name_outside_of_the_verdict_is_not_found(tmp_path):
    from anamnesis_models import _pickle
    import io

    unpickler = _pickle._restricted(pickle.Unpickler, frozenset({("collections", "OrderedDict")}))
    with pytest.raises(am.Forbidden, match="not in the verdict"):
        unpickler(io.BytesIO(pickle.dumps(Evil()))).load()


def test_a_compressed_file_is_judged_by_what_it_holds(tmp_path):
    joblib = pytest.importorskip("joblib")
    assert joblib
    path = tmp_path / "a.joblib"
    path.write_bytes(zlib.compress(pickle.dumps({"a": [1]})))
    assert am.load_joblib(path) == {"a": [1]}
    path.write_bytes(zlib.compress(pickle.dumps(Evil())))
    with pytest.raises(am.Refused):
        am.load_joblib(path)


def test_a_checkpoint_is_loaded(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"w": torch.arange(4)}, tmp_path / "a.pt")
    assert am.torch_load(tmp_path / "a.pt")["w"].tolist() == [0, 1, 2, 3]
    torch.save({"w": Evil()}, tmp_path / "b.pt")
    with pytest.raises(am.Refused):
        am.torch_load(tmp_path / "b.pt")


OLDER = CLASSES / "accepted" / "older-1.1.2-onehot.pkl"


@pytest.fixture
def installed(monkeypatch):
    """Put a library in the place of the installed one, whose only classes are what a file names."""

    def install(module, version):
        for name in [n for n in sys.modules if n == module or n.startswith(f"{module}.")]:
            monkeypatch.delitem(sys.modules, name)
        library = types.ModuleType(module)
        if version is not None:
            library.__version__ = version
        monkeypatch.setitem(sys.modules, module, library)

    return install


@pytest.mark.parametrize("load", (am.load_pickle, am.load_joblib))
@pytest.mark.parametrize("version", ("1.1.1", "1.1.20", "1.1.2+local", "1.1", "", None))
def test_another_version_than_that_of_the_verdict_is_refused(installed, load, version):
    if load is am.load_joblib:
        pytest.importorskip("joblib")
    installed("sklearn", version)
    with pytest.raises(am.Forbidden, match=r"is installed, and the verdict is about 1\.1\.2"):
        load(OLDER, policy="tabular")


def test_the_version_of_the_verdict_is_taken(installed):
    installed("sklearn", "1.1.2")
    with pytest.raises(ModuleNotFoundError, match="sklearn.preprocessing"):  # the unpickler went on to its first class
        am.load_pickle(OLDER, policy="tabular")


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(am.Unsupported, match="scikit-learn is not installed"):
        am.load_pickle(OLDER, policy="tabular")


def test_a_policy_that_asks_for_versions_is_about_the_installed_one(installed, tmp_path):
    policy = tmp_path / "policy.json"
    policy.write_text('{"version": 3, "classes": ["lightgbm>=4.6"]}')
    path = CLASSES / "accepted" / "lightgbm-categories.pkl"
    installed("lightgbm", "4.5.0")
    with pytest.raises(am.Forbidden, match=r"lightgbm 4\.5\.0 is installed, and the verdict is about 4\.6\.0 or 4\.7\.0"):
        am.load_pickle(path, policy=policy)
    with pytest.raises(ModuleNotFoundError):
        am.load_pickle(path, policy="tabular")
