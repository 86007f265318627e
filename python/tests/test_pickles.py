"""Pickles that the program accepts are loaded by Python's unpickler, and no others."""

import hashlib
import pathlib
import pickle
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


def test_another_file_than_the_judged_one_is_not_loaded(tmp_path, monkeypatch):
    from anamnesis_models import _pickle

    path = write(tmp_path / "a.pkl", [1])
    other = pickle.dumps(Evil())
    monkeypatch.setattr(_pickle, "_read", lambda _: (other, hashlib.sha256(other).hexdigest()))
    with pytest.raises(am.Failed, match="changed"):
        am.load_pickle(path)


@pytest.mark.parametrize("ahead", (0, 1 << 30))
def test_a_file_that_is_swapped_is_not_loaded(tmp_path, monkeypatch, capsys, ahead):
    from anamnesis_models import _pickle

    path = write(tmp_path / "a.pkl", [1])
    read = _pickle._read

    def swap(asked):
        write(path, Evil())
        return read(asked)

    monkeypatch.setattr(_pickle, "AHEAD", ahead)
    monkeypatch.setattr(_pickle, "_read", swap)
    with pytest.raises((am.Failed, am.Forbidden)):
        am.load_pickle(path)
    assert capsys.readouterr().out == ""


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
