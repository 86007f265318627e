"""Drafts rows of internal/family from the sources of llama.cpp's converter.

    python3 crosscheck/families/derive.py               of every class that has no row: how much is derived, and what is not
    python3 crosscheck/families/derive.py CLASS         a draft of its row, and what could not be derived
    python3 crosscheck/families/derive.py --table       writes internal/family/converter_table.go: what the converter takes

The sources are those of ggml/llamacpp.py, read as syntax trees. A draft is no row: the names that
a checkpoint has among those that gguf-py knows, what modify_tensors does and what a key is made of
are for a person to decide, and nothing is taken that was not compared (runs.py).
"""
import argparse
import ast
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "ggml")]

import llamacpp  # noqa: E402
import sources  # noqa: E402

# Shapes by llama.cpp's tensor, where all models agree.
SHAPES = {
    "TOKEN_EMBD": "Vocab, Hidden", "OUTPUT": "Vocab, Hidden", "OUTPUT_NORM": "Hidden", "ATTN_NORM": "Hidden", "FFN_NORM": "Hidden", "ATTN_POST_NORM": "Hidden", "FFN_POST_NORM": "Hidden",
    "ATTN_Q": "Q, Hidden", "ATTN_K": "KV, Hidden", "ATTN_V": "KV, Hidden", "ATTN_OUT": "Hidden, Q", "ATTN_QKV": "QKV, Hidden", "ATTN_SINKS": "Heads",
    "FFN_GATE": "FFN, Hidden", "FFN_UP": "FFN, Hidden", "FFN_DOWN": "Hidden, FFN", "FFN_GATE_INP": "Experts, Hidden", "FFN_EXP_PROBS_B": "Experts",
    "FFN_GATE_EXP": "ExpertFFN, Hidden", "FFN_UP_EXP": "ExpertFFN, Hidden", "FFN_DOWN_EXP": "Hidden, ExpertFFN",
    "FFN_GATE_SHEXP": "SharedExperts, Hidden", "FFN_UP_SHEXP": "SharedExperts, Hidden", "FFN_DOWN_SHEXP": "Hidden, SharedExperts", "FFN_GATE_INP_SHEXP": "One, Hidden",
    "ATTN_Q_A": "QRank, Hidden", "ATTN_Q_A_NORM": "QRank", "ATTN_Q_B": "LatentQ, QRank", "ATTN_KV_A_MQA": "KVRankRope, Hidden", "ATTN_KV_A_NORM": "KVRank", "POS_EMBD": "Positions, Hidden", "TOKEN_TYPES": "TokenTypes, Hidden",
}
COMPUTED = {"ROPE_FREQS", "ROPE_FACTORS_LONG", "ROPE_FACTORS_SHORT", "ATTN_ROT_EMBD"}  # which no checkpoint has


def attributes(name):
    """The attributes of modules in the file of transformers that has the class, as a syntax tree; None if it has none."""
    for path in sorted((pathlib.Path(os.environ.get("CROSSCHECK_LIBS") or llamacpp.HOME.parent) / "quant" / "transformers" / "models").glob("*/modeling_*.py")):
        text = path.read_text()
        if f"class {name}(" in text:
            return {t.attr for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Assign, ast.AnnAssign)) for t in (n.targets if isinstance(n, ast.Assign) else [n.target]) if isinstance(t, ast.Attribute)}
    return None


def exists(name, has):
    return has is None or all(part in has or part in ("{bid}", "weight", "bias") for part in name.split("."))


def tensors(tree, arch, has):
    """Mappings of a layer and outside of layers, and what is open about them. A name whose parts are
    no attributes of transformers' class is none that a checkpoint has."""
    outer, blocks, apart = sources.names(tree)
    written = sources.constant(tree, "constants.py", "TENSOR_NAMES")
    done, open_ = [], []
    for tensor in sources.constant(tree, "constants.py", "MODEL_TENSORS")[arch]:
        if tensor in COMPUTED:
            continue
        all_ = apart.get(arch, {}).get(tensor) or blocks.get(tensor) or outer.get(tensor) or []
        usual = list(dict.fromkeys(n for n in all_ if n.startswith(("model.layers.{bid}.", "model.", "lm_head")) and exists(n, has)))
        if has is not None and not usual:
            continue  # gguf-py lists tensors that only some models of the architecture have
        if len(usual) != 1:
            open_.append(f"{tensor}: which of {len(usual) or len(all_)} names a checkpoint has: {', '.join((usual or all_)[:4])}")
        if tensor not in SHAPES:
            open_.append(f"{tensor}: its shape")
        if usual:
            hf = usual[0].removeprefix("model.layers.{bid}.")
            own = written.get(tensor, tensor).removeprefix("blk.{bid}.")
            done.append(f'{{hf: "{hf}", gguf: "{own}", shape: dims{{{SHAPES.get(tensor, "?")}}}}},' + (f" // or {', '.join(usual[1:4])}" if usual[1:] else ""))
    return done, open_


def keys(tree, classes, c):
    """The keys that are a member as it is, and the statements that are more."""
    adds = sources.writers(tree)
    done, open_ = [], []
    for one, f in sources.method(classes, c, "set_gguf_parameters"):
        if one.name in ("TextModel", "ModelBase"):
            done.append("common(k)")
            continue
        for call in (n for n in ast.walk(f) if isinstance(n, ast.Call) and getattr(n.func, "attr", "") in adds):
            key, value = adds[call.func.attr], call.args[0] if call.args else None
            member = re.fullmatch(r"(?:self\.)?hparams(?:\[['\"](\w+)['\"]\]|\.get\(['\"](\w+)['\"]\))", ast.unparse(value)) if value is not None else None
            if member:
                done.append(f'k.u32("{key}", "{member[1] or member[2]}")')
            else:
                open_.append(f"{one.name}: {key} is {ast.unparse(value) if value is not None else 'nothing'}"[:150])
    return done, open_


def draft(tree, classes, name, c):
    """A row, and what could not be derived of it."""
    arch = sources.arch(classes, c)
    maps, open_ = tensors(tree, arch, attributes(name))
    put, more = keys(tree, classes, c)
    open_ += more
    for what in ("modify_tensors", "filter_tensors", "generate_extra_tensors", "prepare_tensors", "set_vocab", "__init__"):
        open_ += [f"{one.name}.{what}: {f.end_lineno - f.lineno + 1} lines of {one.file}" for one, f in sources.method(classes, c, what) if one.name not in ("TextModel", "ModelBase")]
    text = [f'var xRow = &row{{', f'\tarch: "{sources.constant(tree, "constants.py", "MODEL_ARCH_NAMES")[arch]}", names: []string{{"{name}"}},', "\touter: outer, layer: decoderLayer,",
            "\tlayers: lazy(func() []mapping {", "\t\treturn []mapping{", *("\t\t\t" + m for m in maps), "\t\t}", "\t}),", "\tkeys: func(k *keys) {", *("\t\t" + k for k in reversed(put)), "\t},", "}"]
    return text, open_, len(maps) + len(put)


def taken():
    """The classes that rows of text models have; the names of others end in Projector."""
    text = "".join(p.read_text() for p in (ROOT / "internal" / "family").glob("row_*.go"))
    found = re.findall(r"^(?:var |\t)\w+Row += &row\{.*?names: +\[\]string\{([^}]*)\}", text, re.S | re.M)
    return {n for m in found for n in re.findall(r'"([^"]+)"', m)}


def roots(tree):
    """The classes that the converter keeps although their text_config states another one: those of the one condition of get_model_architecture that has a list."""
    for path in sorted(pathlib.Path(tree).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.FunctionDef) and node.name == "get_model_architecture"):
                continue
            lists = [c.comparators[0].elts for c in ast.walk(node) if isinstance(c, ast.Compare) and isinstance(c.ops[0], ast.In) and isinstance(c.comparators[0], ast.Tuple)]
            assert len(lists) == 1, "get_model_architecture has another form"
            return [e.value for e in lists[0]]
    raise AssertionError("the converter has no get_model_architecture")


def go(text, parts, kept):
    lines = ["// Code generated by crosscheck/families/derive.py; DO NOT EDIT.", "", "package family", "", f"// converterName is the converter of which these are the classes.", f'const converterName = "the converter of {llamacpp.VERSION}"', "",
             "// converterText are the classes that llama.cpp's converter takes as text models.", "var converterText = []string{", *(f'\t"{n}",' for n in sorted(text)), "}", "",
             "// converterParts are those of which it takes a vision or audio part.", "var converterParts = []string{", *(f'\t"{n}",' for n in sorted(parts)), "}", "",
             "// converterRoots are those that it keeps although their text_config states another one.", "var converterRoots = []string{", *(f'\t"{n}",' for n in sorted(kept)), "}", ""]
    return "\n".join(lines)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("name", nargs="?")
    flags.add_argument("--table", action="store_true")
    flags = flags.parse_args()
    tree = llamacpp.sources()
    classes, text, parts = sources.converter(tree)
    if flags.table:
        (ROOT / "internal" / "family" / "converter_table.go").write_text(go(text, parts, roots(tree)))
        return
    if flags.name:
        row, open_, _ = draft(tree, classes, flags.name, text[flags.name])
        print("\n".join([*row, "", "Not derived:", *("  " + o for o in open_)]))
        return
    have = taken()
    for name in sorted(set(text) - have):
        try:
            _, open_, done = draft(tree, classes, name, text[name])
            print(f"{name}: {done} derived, {len(open_)} not: {'; '.join(o.split(':')[0] for o in open_[:6])}")
        except KeyError as e:
            print(f"{name}: nothing is derived: gguf-py has no {e}")
    print(f"{len(set(text) & have)} of {len(text)} text models have a row; {len(set(parts))} classes have a vision or audio part")


if __name__ == "__main__":
    main()
