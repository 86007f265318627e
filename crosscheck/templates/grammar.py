"""Makes templates by Jinja's grammar: most of what published ones use, and some of what leads
into the interpreter, so that enough are accepted and each is near what must not be."""
import keyword
import re

NAMES = ["messages", "tools", "x", "y", "z", "k", "n", "a", "b", "bos_token", "eos_token", "documents", "m", "i", "v", "ns", "l", "d", "f", "g"]
INNER = ["loop", "range", "dict", "namespace", "self", "lipsum", "cycler", "joiner", "caller", "varargs", "kwargs", "raise_exception", "strftime_now", "super", "config", "true", "none"]
ATTRIBUTES = ["content", "role", "name", "a", "b", "items", "keys", "c", "text", "p", "q"]
UNSAFE = ["__class__", "__init__", "__globals__", "_a", "_x", "mro", "gi_frame", "f_globals", "format", "format_map", "sort", "append", "fromkeys", "cycle", "index0", "previtem", "attr"]
STRINGS = ["a", "b", "content", "name", "x", "role", ", ", "", "text", "%s", "{}", "class", "string", "upper", "defined", "equalto", "tool_calls"]
PIECES = ["_", "__class__", "_a", "a_", "__", "a_b", "attr", "a.b", "a.__class__", "{0.a}", "{0}", "%c", "%s%s", "_%s_", "\\x5f", "\\137\\137", "\\u005f", "\\N{LOW LINE}", "mro", "map", "x.gi_frame"]
METHODS = ["strip", "split", "items", "get", "keys", "values", "upper", "lower", "startswith", "replace", "join", "append", "extend", "update", "setdefault", "pop", "copy", "title",
           "lstrip", "partition", "rsplit", "insert", "index", "count", "find"]
FILTERS = ["trim", "tojson", "length", "list", "first", "last", "string", "upper", "default", "join", "items", "dictsort", "sort", "unique", "reverse", "map", "select", "selectattr", "rejectattr",
           "replace", "lower", "int", "min", "max", "batch", "groupby", "sum", "e", "safe", "format", "attr", "random", "center", "indent", "title", "slice", "d", "count", "pprint", "xmlattr"]
TESTS = ["defined", "string", "mapping", "iterable", "none", "sequence", "number", "callable", "in(x)", "equalto(a)", "undefined", "boolean", "divisibleby(2)", "sameas none"]
BINARY = ["+", "~", "-", "*", "%", "/", "//", "==", "!=", "<", "in", "not in", "and", "or"]


class Maker:
    def __init__(self, rng, published):
        self.rng, self.published = rng, published
        self.left = 0

    def pick(self, usual, rare, odds=0.03):
        return self.rng.choice(rare if self.rng.random() < odds else usual)

    def template(self):
        r = self.rng.random()
        if self.published and r < 0.2:
            return self.changed(self.rng.choice(self.published))
        self.left = self.rng.choice((6, 12, 25, 50))
        return self.chain() if r < 0.45 else self.body(2)

    def chain(self):
        """A few steps in a row, of what an escape is made of: build a string, keep it, look it up."""
        r, steps = self.rng, []
        names = ["k", "v", "l", "d", "ns.p"]
        steps.append("{% set ns = namespace(p=1) %}{% set l = [] %}{% set d = {'a': 1} %}")
        for _ in range(r.randrange(1, 5)):
            to, what = r.choice(names), r.choice((self.string, self.atom, self.expression, self.lookup))()
            steps.append(r.choice((
                f"{{% set {to} = {what} %}}", f"{{% set _ = l.append({what}) %}}", f"{{% for {r.choice(('k', 'v'))} in {what} %}}{self.use()}{{% endfor %}}",
                f"{{% macro f(k, v=1) %}}{self.use()}{{% endmacro %}}{{{{ f({what}) }}}}", f"{{% set k %}}{{{{ {what} }}}}{{% endset %}}", f"{{% with k = {what} %}}{self.use()}{{% endwith %}}",
                f"{{% if {what} %}}{{% set {r.choice(('k', 'v'))} = {self.atom()} %}}{{% endif %}}", f"{{% set _ = d.update(a={what}) %}}",
                f"{{% set {to} = 'x'|{r.choice(('int', 'float', 'default', 'd'))}({what}) %}}", f"{{% set {to} = [{what}]|{r.choice(('batch(1)', 'slice(1)', 'reverse', 'list', 'unique'))}|first %}}",
                f"{{% do d.{r.choice(('setdefault', 'get'))}({self.string()}, {what}) %}}{{{{ d.{r.choice(('strip', 'title', 'index', 'items', 'pop'))}() }}}}", f"{{% do d.setdefault({what}, 1) %}}{{% set {to} = d.keys() - [] %}}",
                f"{{% with lipsum = 0, {r.choice(('k', 'v'))} = {r.choice(('lipsum', what))} %}}{self.use()}{{% endwith %}}", f"{{% generation %}}{{% set lipsum = {what} %}}{{% endgeneration %}}{{{{ lipsum }}}}",
                f"{{% macro m({r.choice(('k', 'range', 'f'))}) %}}{{{{ {r.choice(('caller()', 'range(1)', 'f()', 'k', 'varargs[0].a', 'kwargs.z'))} }}}}{{% endmacro %}}{{{{ m({r.choice(('', 'caller=', 'z=', '*', '1, '))}{what}) }}}}",
                f"{{% for v in [5, {what}] %}}{{% set {to} = {r.choice(('loop|list', 'loop|first', 'loop.nextitem', 'loop.previtem', 'loop.cycle(1, k)'))} %}}{self.use()}{{% endfor %}}",
                f"{{% set {to} = ({what}|{r.choice(('escape', 'tojson', 'safe', 'trim', 'lower', 'reverse', 'string'))}) %}}", f"{{% set {to} = z|groupby('a')|first %}}", f"{{% set {to} = [{what}] + d.items()|list %}}",
                f"{{% macro g() %}}{{{{ caller({what}) }}}}{{% endmacro %}}{{% call(k) g() %}}{self.use()}{{% endcall %}}",
            )))
        return "".join(steps) + self.use()

    def use(self):
        of, key = self.rng.choice(("x", "messages", "messages[0]", "y", "'a'", "l", "d", "ns", "k", "v", "[]", "loop", "f")), self.rng.choice(("k", "v", "l[0]", "ns.p", "d.a", "k[0]", "k[1:]", "l|first", "d|first", "k|upper", "l|join", "k|list|first"))
        return self.rng.choice((f"{{{{ {of}[{key}] }}}}", f"{{{{ {of}[{key}][{key}] }}}}", f"{{{{ {of}[{key}].a }}}}", f"{{{{ {of}|map(attribute={key})|list }}}}", f"{{{{ [{of}]|map(attribute={key})|list }}}}",
                                f"{{{{ {of}|sort(attribute={key}) }}}}", f"{{{{ {of}|groupby({key}) }}}}", f"{{{{ {key}(1) }}}}", f"{{% set k = {of}[{key}] %}}{{{{ k[{key}] }}}}", f"{{{{ {of}[{key}] }}}}{self.output()}"))

    def lookup(self):
        return f"{self.name()}[{self.atom()}]"

    def body(self, depth):
        out = []
        for _ in range(self.rng.randrange(1, 5)):
            if self.left <= 0:
                break
            self.left -= 1
            out.append(self.statement(depth) if depth and self.rng.random() < 0.6 else self.output())
        return "".join(out) or "t"

    def output(self):
        mark = self.rng.choice(("", "", "-"))
        return self.rng.choice(("text ", "", "{# {{ x.__class__ }} #}", "{% raw %}{{ x.__class__ }}{% endraw %}")) + f"{{{{{mark} {self.expression()} {mark}}}}}"

    def statement(self, depth):
        r = self.rng
        e, inner, to = self.expression, lambda: self.body(depth - 1), r.choice(("k", "v", "m", "i", "ns.p", "ns.q", "a", "l", "k, v", "(i, m)"))
        loop = r.choice(("k", "v", "m", "i", "k, v"))
        return r.choice((
            lambda: f"{{% set {to} = {e()} %}}", lambda: f"{{% set {to} = {e()} %}}", lambda: "{% set ns = namespace(p=" + e() + ", q=[]) %}",
            lambda: f"{{% if {e()} %}}{inner()}{{% elif {e()} %}}{inner()}{{% else %}}{inner()}{{% endif %}}", lambda: f"{{%- if {e()} -%}}{inner()}{{%- endif -%}}",
            lambda: f"{{% for {loop} in {e()} %}}{inner()}{{% endfor %}}", lambda: f"{{% for {loop} in {e()} if {e()} recursive %}}{inner()}{{{{ loop({e()}) if loop.depth < 3 }}}}{{% endfor %}}",
            lambda: f"{{% for {loop} in {r.choice(('messages', 'x', 'x.items()', 'tools', 'z', 'range(3)'))} %}}{inner()}{{% else %}}{inner()}{{% endfor %}}",
            lambda: f"{{% macro f(k, v={e()}) %}}{inner()}{{% endmacro %}}{{{{ f({e()}) }}}}", lambda: f"{{% call(k) f({e()}) %}}{inner()}{{% endcall %}}",
            lambda: f"{{% set k %}}{inner()}{{% endset %}}", lambda: f"{{% set k | {self.filter()} %}}{inner()}{{% endset %}}", lambda: f"{{% filter {self.filter()} %}}{inner()}{{% endfilter %}}",
            lambda: f"{{% with k = {e()}, v = {e()} %}}{inner()}{{% endwith %}}", lambda: f"{{% set _ = {r.choice(('l', 'ns.q', 'messages', 'z', 'x', 'd'))}.{r.choice(('append', 'extend', 'update', 'insert'))}({e()}) %}}",
            lambda: f"{{% generation %}}{inner()}{{% endgeneration %}}", lambda: f"{{% do {e()} %}}", lambda: f"{{% block g %}}{inner()}{{% endblock %}}", lambda: "{% set l = [] %}{% set d = {} %}",
            lambda: f"{{% for m in messages %}}{inner()}{{% if {e()} %}}{{% break %}}{{% endif %}}{{% endfor %}}",
        ))()

    def expression(self):
        self.left -= 1
        if self.left <= 0:
            return self.atom()
        r, e = self.rng, self.expression
        return r.choice((
            self.atom, self.atom, self.postfix, self.postfix, self.postfix, lambda: f"{e()} {self.rng.choice(BINARY)} {e()}", lambda: f"{e()} if {e()} else {e()}", lambda: f"not {self.postfix()}",
            lambda: f"({e()})", lambda: f"[{e()}, {e()}]", lambda: "{" + f"{self.string()}: {e()}" + "}", lambda: f"{self.postfix()} is {r.choice(('', 'not '))}{self.pick(TESTS, ('pickle', 'filter', 'test'))}",
            lambda: f"({e()}, {e()})", lambda: f"-{self.postfix()}", lambda: f"{self.name()} | {self.filter()}",
        ))()

    def atom(self):
        return self.rng.choice((self.name, self.name, self.name, self.string, self.string, lambda: str(self.rng.randrange(3)), lambda: "1.5"))()

    def name(self):
        return self.pick(NAMES, INNER, 0.06)

    def string(self):
        quote = self.rng.choice("'\"")
        return " ".join(f"{quote}{self.pick(STRINGS, PIECES, 0.06)}{quote}" for _ in range(self.rng.choice((1, 1, 1, 1, 2))))

    def arguments(self):
        r, e = self.rng, self.expression
        return ", ".join(r.choice((e, e, e, self.string, lambda: f"{r.choice(('attribute', 'k', 'a', 'd', 'start', 'v'))}={e()}"))() for _ in range(r.randrange(3))) if r.random() > 0.03 else r.choice(("*x", "**x", "*[k]", "*l"))

    def filter(self):
        name = self.pick(FILTERS, ("attr", "pickle", "tojson"))
        return name if self.rng.random() < 0.4 else f"{name}({self.arguments()})"

    def postfix(self):
        r = self.rng
        out = self.name() if r.random() < 0.8 else r.choice((self.string, lambda: f"({self.expression()})", lambda: "'<{}>'.format(a)", lambda: "loop", lambda: "range(3)", lambda: "dict(a=1)"))()
        for _ in range(r.randrange(4)):
            out += r.choice((
                lambda: "." + self.pick(ATTRIBUTES, UNSAFE), lambda: "." + self.pick(ATTRIBUTES, UNSAFE), lambda: f"[{self.string()}]", lambda: f"[{self.rng.randrange(2)}]", lambda: f"[{self.expression()}]",
                lambda: "[1:]", lambda: f".{self.pick(METHODS, UNSAFE)}({self.arguments()})", lambda: f".{self.pick(METHODS, UNSAFE)}({self.arguments()})", lambda: " | " + self.filter(), lambda: " | " + self.filter(),
                lambda: f"({self.arguments()})" if r.random() < 0.1 else "",
            ))()
        return out

    def changed(self, text):
        """A published template with a few of its words exchanged, and what is new put in."""
        r = self.rng
        words = [m for m in re.finditer(r"[A-Za-z_]\w*|'[^'\n]*'|\"[^\"\n]*\"", text) if not keyword.iskeyword(m.group())]
        if len(text) > 6000 or not words:
            return self.body(2)
        self.left = 8
        for m in sorted(r.sample(words, min(len(words), r.randrange(1, 4))), key=lambda m: -m.start()):
            other = r.choice((lambda: r.choice(words).group(), self.atom, self.name, self.postfix, lambda: self.pick(ATTRIBUTES, UNSAFE)))()
            text = text[:m.start()] + other + text[m.end():]
        return text + (self.use() if r.random() < 0.3 else "")
