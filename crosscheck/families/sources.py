"""llama.cpp's converter and gguf-py, read as syntax trees: which classes of transformers the
converter takes, with which architecture, names of tensors and keys. Nothing of them is run."""
import ast
import pathlib


class Class:
    """A class of the converter."""

    def __init__(self, file, node):
        self.file, self.node, self.name = file, node, node.name
        self.bases = [ast.unparse(b).split(".")[-1] for b in node.bases]
        self.methods = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
        self.values = {t.id: a.value for a in node.body if isinstance(a, ast.Assign) for t in a.targets if isinstance(t, ast.Name)}
        self.registered = [a.value for d in node.decorator_list if isinstance(d, ast.Call) and getattr(d.func, "attr", "") == "register" for a in d.args if isinstance(a, ast.Constant)]


def converter(tree):
    """All classes by their names, and what is registered: the text models and the vision and audio parts, by the class of transformers."""
    classes = {}
    for path in sorted((tree / "conversion").glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] = Class(path.name, node)
    text, parts = {}, {}
    for c in classes.values():
        for name in c.registered if not raises(c) else ():
            (parts if arch(classes, c) == "MMPROJ" else text)[name] = c
    return classes, text, parts


def raises(c):
    """Whether the class is registered only to say that there is no such model, as that of Ultravox's text model."""
    last = c.methods["__init__"].body[-1] if "__init__" in c.methods else None
    return isinstance(last, ast.Raise) and isinstance(last.exc, ast.Call) and getattr(last.exc.func, "id", "") == "NotImplementedError"


def chain(classes, c):
    """The class and those that it inherits from, in the order in which a member is looked for."""
    seen, todo = [], [c]
    while todo:
        one = todo.pop(0)
        if one and one not in seen:
            seen.append(one)
            todo += [classes.get(b) for b in one.bases]
    return seen


def arch(classes, c):
    """The name of the architecture in MODEL_ARCH."""
    for one in chain(classes, c):
        value = one.values.get("model_arch")
        if isinstance(value, ast.Attribute):
            return value.attr
    return "MMPROJ" if any(one.name == "MmprojModel" for one in chain(classes, c)) else None


def method(classes, c, name):
    """All definitions of a method, the class's own first."""
    return [(one, one.methods[name]) for one in chain(classes, c) if name in one.methods]


def constant(tree, path, name):
    """A dictionary that gguf-py assigns, with names of enumerations as texts."""
    for node in ast.walk(ast.parse((tree / "gguf-py" / "gguf" / path).read_text())):
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id == name and node.value is not None:
            return plain(node.value)
    raise KeyError(name)


def plain(node):
    if isinstance(node, ast.Dict):
        return {plain(k): plain(v) for k, v in zip(node.keys, node.values)}
    if isinstance(node, (ast.Tuple, ast.List)):
        return [plain(e) for e in node.elts]
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.value if isinstance(node, ast.Constant) else ast.unparse(node)


def writers(tree):
    """The keys by the methods of gguf_writer.py that add them, without "{arch}."."""
    keys = {}
    for node in ast.walk(ast.parse((tree / "gguf-py" / "gguf" / "constants.py").read_text())):
        if isinstance(node, ast.ClassDef) and node.name == "Keys":
            for group in node.body:
                for a in getattr(group, "body", []):
                    if isinstance(a, ast.Assign) and isinstance(a.value, ast.Constant):
                        keys[group.name, a.targets[0].id] = a.value.value
    out = {}
    for node in ast.walk(ast.parse((tree / "gguf-py" / "gguf" / "gguf_writer.py").read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("add_"):
            for call in ast.walk(node):
                if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Attribute) and isinstance(call.value.value, ast.Name) and call.value.value.id == "Keys":
                    key = keys.get((call.value.attr, call.attr))
                    if key:
                        out.setdefault(node.name, key.removeprefix("{arch}."))
    return out


def names(tree):
    """The names in transformers' checkpoints by tensor: of all models, of blocks, and of blocks of one architecture."""
    return tuple(constant(tree, "tensor_mapping.py", n) for n in ("mappings_cfg", "block_mappings_cfg", "arch_block_mappings_cfg"))
