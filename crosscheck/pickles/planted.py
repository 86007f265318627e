"""Bad classes, and good ones among them: python prove.py --planted finds each bad one.

Every class whose name begins with Bad does, when it is loaded or first used in a way that is
not asked for by name, what no class of a set may do; those that begin with Good are data.
"""
import collections
import copyreg
import enum
import functools
import importlib
import os
import pathlib
import pickle
import subprocess
import typing


class BadDel:
    def __init__(self):
        self.path = None

    def __del__(self):
        os.unlink(self.path)


class BadDelOfAttribute:
    def __init__(self):
        self.close = None

    def __del__(self):
        self.close()


class BadSetstate:
    def __setstate__(self, state):
        eval(state["code"])


class BadSetstateByName:
    def __setstate__(self, state):
        for name, value in state.items():
            getattr(self, name)(value)

    def run(self, command):
        os.system(command)


class BadSetstateImport:
    def __setstate__(self, state):
        self.module = importlib.import_module(state["module"])


class BadSetstateLambda:
    __setstate__ = lambda self, state: exec(state["x"])  # noqa: E731


class BadSetstateInherited(BadSetstate):
    def __init__(self):
        self.x = 1


class BadMixin:
    def __setstate__(self, state):
        subprocess.run(state["args"])


class BadByMixin(dict, BadMixin):
    pass


class BadGetattr:
    def __getattr__(self, name):
        return open(name)


class BadGetattrEval:
    def __init__(self):
        self.expr = ""

    def __getattr__(self, name):
        return eval(self.__dict__.get("expr", name))


class BadGetattribute:
    def __getattribute__(self, name):
        return os.system if name == "run" else object.__getattribute__(self, name)


class BadProperty:
    def __init__(self):
        self.source = ""

    @property
    def value(self):
        return eval(self.source)


class BadCachedProperty:
    def __init__(self):
        self.path = ""

    @functools.cached_property
    def text(self):
        return pathlib.Path(self.path).read_text()


class Runner:
    def __get__(self, instance, owner):
        return None if instance is None else os.system(instance.command)

    def __set__(self, instance, value):
        instance.__dict__["command"] = value


class BadDescriptor:
    value = Runner()

    def __init__(self):
        self.command = ""


class BadEq:
    def __init__(self):
        self.path = ""

    def __eq__(self, other):
        return open(self.path).read() == open(other.path).read()

    __hash__ = object.__hash__


class BadHash:
    def __init__(self):
        self.path = ""

    def __hash__(self):
        return hash(os.stat(self.path))


class BadRepr:
    def __init__(self):
        self.path = ""

    def __str__(self):
        with open(self.path) as f:
            return f.read()


class BadLen:
    def __init__(self):
        self.code = ""

    def __len__(self):
        return eval(self.code)


class BadIter:
    def __init__(self):
        self.command = ""

    def __iter__(self):
        return iter(subprocess.check_output(self.command, shell=True))


class BadBool:
    def __init__(self):
        self.name = ""

    def __bool__(self):
        return bool(__import__(self.name))


class Meta(type):
    def __call__(cls, *args):
        os.system(*args)


class BadMeta(metaclass=Meta):
    pass


class BadReduceEx:
    def __reduce_ex__(self, protocol):
        return eval, ("1",)


class BadReduce:
    def __reduce__(self):
        return BadReduce, (1,)


class BadSlots:
    __slots__ = ("handle",)

    def __setattr__(self, name, value):
        os.close(value)


class BadSetattr:
    __slots__ = ("a", "__dict__")

    def __setattr__(self, name, value):
        exec(value)


class BadNew:
    def __new__(cls, *args):
        os.makedirs("/nowhere/" + "".join(args))
        return object.__new__(cls)


class BadNewCache:
    made = []

    def __new__(cls, *args):
        one = object.__new__(cls)
        cls.made.append(importlib.import_module("this"))
        return one


class BadNewArguments(str):
    def __new__(cls, text="1"):
        return str.__new__(cls, eval(text))


class BadItems(dict):
    def __setitem__(self, key, value):
        os.environ[key] = value


class BadMissing(dict):
    def __missing__(self, key):
        return __import__(key)


class BadList(list):
    def append(self, value):
        os.system(value)


class BadExtend(list):
    def extend(self, values):
        subprocess.run(values)


class BadEnum(enum.Enum):
    A = 1

    @classmethod
    def _missing_(cls, value):
        return eval(value)


class BadCall:
    def __init__(self):
        self.function = ""

    def __call__(self, *args):
        return getattr(os, self.function)(*args)


class BadPredict:
    def __init__(self):
        self.file = ""

    def predict(self, x):
        return pickle.load(open(self.file, "rb"))


class BadPredictInner:
    def __init__(self):
        self.file = ""

    def predict(self, x):
        def inner():
            return exec(self.file)
        return inner()


class BadHelper:
    def __init__(self):
        self.file = ""

    def transform(self, x):
        return helper(self.file)


def helper(path):
    return deeper(path)


def deeper(path):
    return os.listdir(path)


class BadNamed(typing.NamedTuple):
    path: str

    def __del__(self):
        os.unlink(self.path)


class BadInitSubclass:
    def __init_subclass__(cls):
        os.getcwd()


class BadUserDict(collections.UserDict):
    def __init__(self):
        self.data = {}


class BadCopyreg:
    def __init__(self):
        self.x = 1


copyreg.pickle(BadCopyreg, lambda one: (os.getcwd, ()))


class BadBuiltinsByItem:
    def __init__(self):
        self.name = ""

    def predict(self, x):
        return __builtins__["eval"](self.name)


class BadGlobals:
    def __init__(self):
        self.name = ""

    def predict(self, x):
        return globals()[self.name](x)


class BadCalledAttribute:
    def __init__(self):
        self.name = ""

    @property
    def shape(self):
        return getattr(os, self.name)()


class GoodPlain:
    def __init__(self, a=1):
        self.a = a

    def predict(self, x):
        return [self.a for _ in x]


class GoodDict(dict):
    def __dir__(self):
        return list(self)


class GoodEnum(enum.Enum):
    A = "a"
    B = "b"


class GoodSaves:
    def __init__(self):
        self.a = 1

    def save(self, path):
        with open(path, "w") as f:
            f.write(str(self.a))


class GoodHash:
    def __init__(self):
        self.a = 1

    def __eq__(self, other):
        return self.a == other.a

    def __hash__(self):
        return hash(self.a)
