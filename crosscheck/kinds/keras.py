"""Lists what Keras makes of a class_name without a module, for internal/sidecar/keras.txt.

    python3 crosscheck/kinds/keras.py KERAS TF_KERAS > internal/sidecar/keras.txt

The arguments are the unpacked packages. Their sources are read, not run: every class and
function that keras_export gives a name of a layer, an initializer and so on, which is what
deserialize_keras_object looks a name up in.
"""
import ast
import pathlib
import re
import sys

# The tables that a model's configuration is built from.
TABLES = {"activations", "constraints", "dtype_policies", "experimental", "initializers", "layers", "losses", "metrics",
          "mixed_precision", "models", "optimizers", "quantizers", "regularizers"}


def exported(root):
    for path in sorted(pathlib.Path(root).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                continue
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", "")) == "keras_export":
                    for arg in ast.walk(call):
                        if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                            yield arg.value, node


def version(root):
    text = "".join(p.read_text() for p in pathlib.Path(root).rglob("*.py") if p.name in ("version.py", "__init__.py"))
    return re.search(r'__version__ = "([^"]+)"', text).group(1)


def main():
    names = {"Functional"}  # what a model made of layers calls itself
    for root in sys.argv[1:]:
        for full, node in exported(root):
            parts = full.split(".")
            if "models" in parts and isinstance(node, ast.FunctionDef):
                continue  # such as load_model, which no configuration names
            if len(parts) > 2 and TABLES & set(parts[1:-1]) or full in ("keras.Model", "keras.Sequential"):
                names.update((parts[-1], node.name))
    print("# Names that Keras looks up without a module, of keras %s and tf_keras %s, by crosscheck/kinds/keras.py." % tuple(map(version, sys.argv[1:])))
    print("\n".join(sorted(names)))


main()
