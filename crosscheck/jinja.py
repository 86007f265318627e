"""Chat templates that the check of internal/jinja accepts, evaluated by jinja2.

    python3 crosscheck/run.py jinja
    python3 crosscheck/jinja.py - WORK [COUNT [SEED]]       COUNT templates (100,000)

Templates are made by the grammar, with the names that lead into the interpreter among those that
templates use, and by changing those of templates/packages.txt if CROSSCHECK_TEMPLATES names a
folder for these packages. What the check accepts is evaluated in one of two plain environments: one
without anything, and one with what transformers gives. Neither has a sandbox. It must reach

- no attribute that begins with an underscore, and no name of a frame or of a generator: each
  lookup of an attribute by Jinja is seen, and the data are objects that see each access;
- no module, no function and no class of Python: no lookup may end in one but in a method of data;
- nothing that Python's audit hooks know: an import, a file, a process, compile and exec, code.

The data have no string with an underscore. In a second evaluation they are full of the names of
inner attributes, as messages of an attacker and special tokens of a model may be: then one such
lookup is allowed, on data and printed, and nothing may be looked up in what it found.

What jinja2 cannot parse must be refused. What the check takes for an error of syntax and
jinja2 does not, is counted, and none of it may be a published template.
"""
import dis
import json
import os
import pathlib
import random
import subprocess
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "templates"))

import jinja2  # noqa: E402
import jinja2.runtime  # noqa: E402

import collect  # noqa: E402
import grammar  # noqa: E402

COUNT = 100_000
BATCH = 2000
DATA = (str, list, dict, tuple, set, reversed, type(reversed([])), type(reversed({})), int, float, bool, type(None), jinja2.Undefined, range, type({}.keys()), type({}.values()), type({}.items()))
METHODS = (types.BuiltinMethodType, types.MethodWrapperType)
UNSAFE = ("gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_", "im_class", "im_func", "im_self")


class Reached(Exception):
    """A template reached what it must not."""


class Seen:
    """What one evaluation looked up."""

    def __init__(self):
        self.strict, self.found, self.on = True, [], False

    def note(self, what):
        self.found.append(what)
        raise Reached(what)


SEEN = Seen()
# What jinja2 itself does while it renders: it compiles no template then, and asks for the time.
HARMLESS = {"object.__getattr__", "sys._getframe", "time.sleep", "builtins.id", "sys.unraisablehook", "sys._current_frames", "gc.get_objects"}


def audit(event, args):
    if SEEN.on and event not in HARMLESS:
        SEEN.on = False
        SEEN.found.append(("audit", event))
        raise Reached(event)


sys.addaudithook(audit)


def asks_class(frame, name):
    """Whether isinstance asks: Jinja's code calls it before it sets a member of a namespace."""
    return name == "__class__" and dis.opname[frame.f_code.co_code[frame.f_lasti]] not in ("LOAD_ATTR", "LOAD_METHOD")


class Datum(dict):
    """Data that see each attribute which a template asks for by its own code."""

    def __getattribute__(self, name):
        if SEEN.on:
            caller = sys._getframe(1)
            if caller.f_code.co_filename == "<template>" and name.startswith("_") and not asks_class(caller, name):
                SEEN.note(("attribute", name))
        return super().__getattribute__(name)


def method(x):
    """Whether x is a method of data, and not, say, a function of builtins."""
    return isinstance(x, METHODS) and isinstance(x.__self__, DATA)


def judged(obj, name, found):
    """Judges one lookup by Jinja."""
    if not SEEN.on:
        return found
    inner = isinstance(name, str) and (name.startswith("_") or name.startswith(UNSAFE) or name in ("mro", "format_map"))
    data = isinstance(obj, DATA)
    if isinstance(found, (types.ModuleType, types.FrameType, types.CodeType)):
        SEEN.note(("reached", type(found).__name__, str(name)))
    if inner and (SEEN.strict or not data):
        SEEN.note(("inner", type(obj).__name__, str(name)))
    if not data and not method(obj) and isinstance(name, str) and not isinstance(obj, (jinja2.runtime.LoopContext, jinja2.utils.Namespace, types.GeneratorType)):
        SEEN.note(("no data", type(obj).__name__, str(name)))
    if SEEN.strict and isinstance(found, (types.FunctionType, types.BuiltinFunctionType, type)) and not method(found):
        SEEN.note(("reached", type(found).__name__, str(name)))
    return found


class Watched(jinja2.Environment):
    """The plain environment, with eyes: it looks up what Environment looks up."""

    def getattr(self, obj, attribute):
        return judged(obj, attribute, super().getattr(obj, attribute))

    def getitem(self, obj, argument):
        found = super().getitem(obj, argument)
        return judged(obj, argument, found) if isinstance(argument, str) else found

    def handle_exception(self, source=None):
        """Ends the evaluation. Jinja would compile code that shows the line of the error."""
        SEEN.on = False
        raise sys.exc_info()[1]


def environments():
    plain = Watched(optimized=False)  # else parts of a template are evaluated while it is compiled
    plain.globals.update(raise_exception=raise_exception)
    full = collect.environment(Watched, trim_blocks=True, lstrip_blocks=True, optimized=False)
    full.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys, default=str)
    full.globals.update(raise_exception=raise_exception, strftime_now=lambda f: "2026 Nov 29 " + str(f))
    return plain, full


def raise_exception(message):
    raise jinja2.TemplateError(str(message))


def seen(x):
    if isinstance(x, dict):
        return Datum({k: seen(v) for k, v in x.items()})
    return [seen(v) for v in x] if isinstance(x, list) else x


def context(rng, strings):
    """What servers give to a template, with strings of a list."""
    s = lambda: rng.choice(strings)  # noqa: E731
    message = lambda role: {"role": role, "content": rng.choice([s(), [{"type": "text", "text": s()}], None]), "name": s(), "a": s(), "b": [s(), s()], s(): s()}  # noqa: E731
    tool = {"type": "function", "function": {"name": s(), "description": s(), "parameters": {"type": "object", "properties": {s(): {"type": s(), "enum": [s()]}}, "required": [s()]}}}
    call = {"id": s(), "function": {"name": s(), "arguments": {s(): s()}}}
    return seen({
        "messages": [message("system"), message("user"), message("assistant") | {"tool_calls": [call]}, message("tool")],
        "tools": [tool], "documents": [{"title": s(), "text": s()}], "bos_token": s(), "eos_token": s(), "add_generation_prompt": rng.random() < 0.5,
        "enable_thinking": True, "x": {"a": s(), "b": {"c": s()}, s(): [s()]}, "y": s(), "z": [s(), s(), 1], "k": s(), "n": rng.randrange(3), "a": s(), "b": [s()],
    })


PLAIN = ["content", "role", "name", "text", "a", "b", "hello world", "x.y.z", "class", "string", "upper", "", "0", "A|B,C", "arguments"]
HOSTILE = ["__class__", "__init__", "__globals__", "__base__", "__subclasses__", "__builtins__", "__import__", "a.__class__.b", "x__class__y", "_", "__", "gi_frame", "f_globals",
           "mro", "format", "{0.__class__}", "attr", "__dict__", "__doc__", "__mro__", "os", "{{ x.__class__ }}", "_TemplateReference__context", "__self__", "__call__", "__func__"]


def evaluate(template, data, strict):
    """Renders a template, and returns what it reached, or None."""
    SEEN.strict, SEEN.found, SEEN.on = strict, [], True
    try:
        for i, _ in enumerate(template.generate(**data)):
            if i > 5000:
                break
    except Exception:  # noqa: BLE001 - whatever a template raises is no matter
        pass
    finally:
        SEEN.on = False
    return SEEN.found[0] if SEEN.found else None


def judge(ours, texts):
    """The issues of each template."""
    parts = []
    for t in texts:
        raw = t.encode("utf-8", "replace")
        parts += [len(raw).to_bytes(4, "little"), raw]
    done = subprocess.run([ours], input=b"".join(parts), stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().split("\n")[:-1]


def parses(env, text):
    try:
        env.parse(text)
        return True
    except (jinja2.TemplateError, RecursionError, ValueError):
        return False


class Tally:
    def __init__(self):
        self.made = self.accepted = self.evaluations = self.unparsed = self.overstrict = self.rendered = 0
        self.bad = []

    def row(self, envs, text, issues, rng):
        self.made += 1
        if issues:
            self.overstrict += "syntax" in issues and parses(envs[1], text)
            return
        self.accepted += 1
        right = parses(envs[1], text)
        self.unparsed += not right
        if not right:
            return
        try:
            template = rng.choice(envs).from_string(text)
        except Exception:  # noqa: BLE001 - what is not compiled is not run
            return
        for strings, strict in ((PLAIN, True), (HOSTILE, False)):
            found = evaluate(template, context(rng, strings), strict)
            self.evaluations += 1
            if found:
                self.bad.append((found, text))
                print(f"reached {found}: {text!r}", file=sys.stderr, flush=True)


def main():
    work = pathlib.Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else max(COUNT, int(os.environ.get("CROSSCHECK_ELEMENTS", 0)) // 100)
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(2**31)
    rng, ours = random.Random(seed), work / "ours"
    subprocess.run(["go", "build", "-o", str(ours), "./crosscheck/templates/ours"], cwd=HERE.parent, check=True)
    envs, tally = environments(), Tally()
    folder = os.environ.get("CROSSCHECK_TEMPLATES")
    published = [(p, f, t) for p, f, t in collect.templates(pathlib.Path(folder))] if folder else []
    rows = []
    if published:
        answers = judge(ours, [t for _, _, t in published])
        refused = [(p, f, a) for (p, f, _), a in zip(published, answers) if a]
        for p, f, a in refused:
            print(f"refused: {p} {f}: {a}", file=sys.stderr)
        known = {line.split("\t")[0] for line in (HERE / "templates" / "refused.txt").read_text().splitlines()}
        rows.append(("published templates, not refused", f"{len(published)} templates", len(published), sum(f"{p} {f}" not in known for p, f, _ in refused)))
    make = grammar.Maker(rng, [t for _, _, t in published])
    while tally.made < count:
        texts = [make.template() for _ in range(min(BATCH, count - tally.made))]
        for text, issues in zip(texts, judge(ours, texts)):
            tally.row(envs, text, issues, rng)
        print(f"{tally.made} made, {tally.accepted} accepted, {tally.evaluations} evaluations, {len(tally.bad)} found, {tally.unparsed} that Jinja cannot parse, {tally.overstrict} refused as syntax", file=sys.stderr, flush=True)
    oracle = "jinja2 " + jinja2.__version__
    rows.append((f"{tally.accepted} accepted of templates by grammar (seed {seed})", oracle, tally.made, len(tally.bad)))
    rows.append(("accepted, and Jinja cannot parse it", oracle, tally.accepted, tally.unparsed))
    rows.append(("refused as syntax, and Jinja parses it", oracle, tally.made, tally.overstrict))
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
