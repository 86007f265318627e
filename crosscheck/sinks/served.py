"""Reads the sources of servers for what they do with the texts that start them.

    python3 crosscheck/sinks/served.py ROOT

ROOT has the unpacked wheels as folders NAME==VERSION, such as vllm==0.33.0. The members that reading.py finds to reach an
import, eval or unpickling are written to served.jsonl beside this file, each with its place, and to
internal/sidecar/served.txt, by which the gate judges them in a text that no row of a kind explains. Left out are members
whose annotations are all numbers, names of whole objects, and single words, which mean other things in other texts; those of
WORDS are looked at by hand. CHECKED has members that reading.py does not follow to their import, with the place that was
read instead. Files with a name of their own that a function executes are printed, for runNames in internal/sidecar/code.go.
"""
import ast
import json
import pathlib
import re
import sys

import reading

HERE = pathlib.Path(__file__).resolve().parent
# Parts of each library that read configurations: the others are models and kernels.
LIBRARIES = {
    "vllm": "vllm/config vllm/engine vllm/entrypoints vllm/v1/executor vllm/v1/worker vllm/v1/sample vllm/distributed vllm/tool_parsers vllm/reasoning vllm/plugins vllm/v1/core vllm/v1/kv_offload vllm/transformers_utils vllm/v1/spec_decode",
    "sglang": "sglang/srt/entrypoints sglang/srt/managers sglang/srt/model_loader sglang/srt/configs sglang/srt/plugins sglang/srt/parser sglang/srt/function_call sglang/srt/utils sglang/srt/arg_groups sglang/srt/connector",
    "lmdeploy": "lmdeploy", "ray": "ray/serve ray/_common ray/llm", "torchserve": "ts", "mlserver": "mlserver", "kserve": "kserve",
    "litellm": "litellm/proxy", "xinference": "xinference/core xinference/model xinference/deploy xinference/api", "bentoml": "bentoml _bentoml_sdk _bentoml_impl",
    "pyannote.audio": "pyannote", "spacy-transformers": "spacy_transformers",
}
DOES = {"import": "imports", "evaluate": "evaluates", "unpickle": "unpickles"}
WORDS = {"middleware", "guardrail", "backend"}
OBJECTS = re.compile(r"(_config|_configs|_settings|_params|_args|_kwargs|_options)$")
# Members of other texts: weights and their folders, which are judged as files, and classes that transformers has or trusts.
FILES = {"auto_map", "weight_map", "model_path", "tokenizer_path", "src_dir", "router_path", "architectures", "model_ref", "tokenizer_revision", "base_path", "working_dir", "import_string", "use_version", "protocol_version", "store_model_in_db"}
# Members that were looked at, and whose text does not reach the sink: it is an argument beside it, or a part of a name that the library completes.
MISREAD = {"config_file_path", "jwt_client_id_field", "model_list", "model_type", "func_name", "anthropic_cache_control", "mlx_cache_boundaries", "shared_worker_lock", "distributed_init_method", "service_method", "lora_root", "measured_metrics", "broker_type"}
CHECKED = {
    "ray": [("import_path", "import", "ray/serve/scripts.py:501"), ("tracing_exporter_import_path", "import", "ray/serve/_private/tracing_utils.py:524")],
    "sglang": [("custom_weight_loader", "import", "sglang/srt/model_executor/model_runner_components/weight_updater.py:375"), ("linker_module_path", "import", "sglang/srt/mem_cache/unified_cache/linker_factory.py:75")],
    "vllm": [("tool_parser_plugin", "import", "vllm/tool_parsers/abstract_tool_parser.py:267"), ("reasoning_parser_plugin", "import", "vllm/reasoning/abs_reasoning_parsers.py:270")],
    "torchserve": [("model_file", "import", "ts/torch_handler/base_handler.py:340")],
    "xinference": [("launcher_name", "import", "xinference/model/flexible/utils.py:45")],
}
RUNS = {"exec_module", "run_path", "spec_from_file_location", "SourceFileLoader"}


def numbers(folders):
    """The names that annotations give numbers alone."""
    seen = {}
    for folder in folders:
        for path in folder.rglob("*.py"):
            try:
                tree = ast.parse(path.read_text())
            except (SyntaxError, UnicodeDecodeError):
                continue
            for node in ast.walk(tree):
                name, said = None, None
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    name, said = node.target.id, node.annotation
                elif isinstance(node, ast.arg):
                    name, said = node.arg, node.annotation
                if name and said is not None:
                    seen.setdefault(name, set()).add(bool(re.fullmatch(r"[\s|,\[\]]*((Optional|Union|int|float|bool|None|list)[\s|,\[\]]*)+", ast.unparse(said))))
    return {name for name, kinds in seen.items() if kinds == {True}}


def executed(folders):
    """The files by name in functions that execute a file."""
    for folder in folders:
        for path in folder.rglob("*.py"):
            if "test" in str(path):
                continue
            try:
                tree = ast.parse(path.read_text())
            except (SyntaxError, UnicodeDecodeError):
                continue
            for f in ast.walk(tree):
                if isinstance(f, ast.FunctionDef) and RUNS & {reading.name_of(n.func) for n in ast.walk(f) if isinstance(n, ast.Call)}:
                    for n in ast.walk(f):
                        if isinstance(n, ast.Constant) and isinstance(n.value, str) and re.fullmatch(r"[\w/]+\.py", n.value):
                            yield n.value, "%s:%d" % (path.name, f.lineno)


def main():
    rows, kept = [], {}
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        name, _, version = folder.name.partition("==")
        if name not in LIBRARIES or not version:
            continue
        parts = [folder / p for p in LIBRARIES[name].split() if (folder / p).exists()]
        numeric = numbers(parts)
        found = [(m, s, min(p)) for (m, s), p in reading.Library(parts).found.items() if s in DOES]
        found = [r for r in found if r[0].isidentifier() and r[0].strip("_") not in numeric | FILES | MISREAD | reading.CONFIGS and not OBJECTS.search(r[0]) and ("_" in r[0].strip("_") or r[0] in WORDS)]
        for member, sink, place in sorted(set(found) | set(CHECKED.get(name, ()))):
            rows.append({"library": name, "version": version, "member": member, "sink": sink, "place": place, "reached": "read"})
            kept.setdefault(member.lower().strip("_"), {}).setdefault(name + " " + version, DOES[sink])
        for file, place in sorted(set(executed(parts))):
            print("%s %s executes %s: %s" % (name, version, file, place), file=sys.stderr)
        print("%s %s: %d members" % (name, version, sum(r["library"] == name for r in rows)), file=sys.stderr, flush=True)
    (HERE / "served.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    table = ["%s\t%s\t%s\n" % (member, sorted(by.values())[0], " and ".join(sorted(by))) for member, by in sorted(kept.items())]
    (HERE.parent.parent / "internal" / "sidecar" / "served.txt").write_text("".join(table))


if __name__ == "__main__":
    main()
