"""Compares what this module reads from pickles with what the libraries load.

    python compare.py READ FILE...

READ is the program of crosscheck/pickles/read. Each value that it prints is made again
with the libraries, by the calls and the states that were read, and pickled again; so is
the value that pickle.load gives. Both pickles must describe the same tree of calls.
"""
import base64
import importlib
import json
import pickle
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")


class Tree(pickle._Unpickler):
    """Loads a pickle as the tree of what it asks for; nothing of it is called."""

    def find_class(self, module, name):
        def new(cls, *args, **named):
            one = object.__new__(cls)
            one.parts = [(args, named)]
            return one
        parts = {"__new__": new, "__init__": lambda self, *a, **k: None, "__repr__": lambda self: f"{module}.{name}{self.parts!r}",
                 "__setstate__": lambda self, state: self.parts.append(("state", state)), "append": lambda self, one: self.parts.append(one),
                 "extend": lambda self, many: self.parts.extend(many), "__setitem__": lambda self, key, one: self.parts.append((key, one)), "__hash__": lambda self: 0}
        meta = type("Meta", (type,), {"__repr__": lambda cls: f"@{module}.{name}"})
        return meta(name, (), parts)


def tree(value):
    import io
    return repr(Tree(io.BytesIO(pickle.dumps(value, 4))).load())


class Maker:
    """Makes a value from what was read."""

    def __init__(self):
        self.made = {}

    def make(self, v):
        kind = v[0]
        if kind == "none":
            return None
        if kind == "bool":
            return v[1]
        if kind == "int":
            return int(v[1])
        if kind == "float":
            return {"NaN": float("nan"), "+Inf": float("inf"), "-Inf": float("-inf")}.get(v[1]) or float.fromhex(v[1])
        if kind == "str":
            return base64.b64decode(v[1]).decode("utf-8", "surrogatepass")
        if kind == "global":
            return named(v[1], v[2])
        if kind == "again":
            return self.made[v[1]]
        one = getattr(self, kind)(*v[3:])
        self.made[v[1]] = one
        return one

    def bytes(self, array, text):
        return (bytearray if array else bytes)(base64.b64decode(text))

    def dict(self, ordered, items):
        import collections
        return (collections.OrderedDict if ordered else dict)((self.make(k), self.make(v)) for k, v in items or ())

    def tuple(self, _, items):
        return tuple(map(self.make, items or ()))

    def list(self, _, items):
        return list(map(self.make, items or ()))

    def set(self, frozen, items):
        return (frozenset if frozen else set)(map(self.make, items or ()))

    def object(self, module, name, args, state, items):
        call, args = named(module, name), self.make(args)
        one = call.__new__(call) if isinstance(call, type) and not args else call(*args)
        made = None if state is None else self.make(state)  # in the order in which they were written
        if items is not None:
            for key, value in self.make(items).items():
                dict.__setitem__(one, key, value)
        if state is not None:
            state = made
            if hasattr(one, "__setstate__"):
                one.__setstate__(state)
            else:
                vars(one).update(state)
        return one


def named(module, name):
    value = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def main():
    lines = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True).stdout.splitlines()
    same, refused, wrong = 0, {}, 0
    for line in map(json.loads, lines):
        if "error" in line:
            refused.setdefault(line["error"], []).append(line["path"])
            continue
        with open(line["path"], "rb") as f:
            want = tree(pickle.load(f))
        try:
            got = tree(Maker().make(line["value"]))
        except Exception as e:
            got = f"{type(e).__name__}: {e}"
        if got == want:
            same += 1
            continue
        wrong += 1
        print(f"{line['path']}:\n  read   {got[:300]}\n  loaded {want[:300]}", file=sys.stderr)
    for text, paths in refused.items():
        print(f"refused: {len(paths)} like {paths[0]}: {text}", file=sys.stderr)
    print(json.dumps({"same": same, "refused": sum(map(len, refused.values())), "wrong": wrong}))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
