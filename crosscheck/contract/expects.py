"""Which tensors transformers expects of a class, by its configuration.

    expects.py [TYPE ...]     prints the version, and rows: types with their class after a slash, a bar, the beginning that the bare model
                              has in other classes, a bar, members of config.json that decide, each with its default, a bar, the types
                              of models inside, a bar, groups of names, a bar, which groups a layer has together.
                              A row whose second part is "=CLASS" has the names of that class of the type, without those of its third
                              part, and with the groups of its fourth

The class that every.py tries is built without numbers from a small configuration, and from others in which one member differs, or two of
those that matter. The names are those of the file: the library's own function for saving is asked, and what its report of missing keys
leaves out (tied matrices, keys that it ignores) is left out. From all builds follows, for each name, when it is there. The other classes
of a type are built twice, with and without tied embeddings, and compared with it.

A group is "condition:beginning:ends", where a(b,c) is a.b and a.c. In names {m} is a number below the value of m, {m+1} below one more, {m[]} below the entry of
the layer, {#m} below the length of a list, {*} below a number that does not follow from the configuration. A condition is a list of
literals with & between: m=a,b!c is true of the values a and b, false of c, and unknown of others; m is true of what is not 0, null or
false, -m of what is; m[] speaks of the entry of the layer, #>=m and #<m of its number; #@m is true if a list has the number, #-m if not;
#^m is true in the last m layers, #!m in those before; #0 in the first layer, #+ in all others, #$ in the last, #_ in all others; a/b is true of one or both. ~1 means that no condition was found, ~1&m with the group 1 if m: which
groups of this kind a layer may have together is the fifth part. ?1 is the same of names outside of layers.
"""
import collections
import copy
import itertools
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() not in (HERE, HERE.parent)]
sys.path.append(str(HERE.parent / "linears"))
sys.path.append(str(HERE))
import reload as small  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from models import GIVEN, OF_CLASS, default, named  # noqa: E402
from models import classes as all_classes  # noqa: E402
from transformers.core_model_loading import revert_weight_conversion  # noqa: E402
from transformers.models.auto import configuration_auto  # noqa: E402

ONE, TWO = 140, 48  # builds in which one member differs, and in which two do
# Members that say nothing of which tensors there are.
APART = re.compile(r"(_token_id|_token_index|_token|vocab_size|dropout|_eps|epsilon|_std|_range|theta|_prob|_loss|_act|use_cache|dtype|architectures|id2label|label2id|problem_type|name_or_path|torchscript|"
                   r"transformers_version|chunk_size_feed_forward|output_\w+|return_dict|max_position_embeddings|_coef|_weight|image_size|sampling_rate|seed|finetuning_task|pruned_heads|pad_\w+|is_gated_act|dense_act_fn)$")
transformers.PreTrainedConfig.__repr__ = object.__repr__  # it is written for messages that nothing prints
SCALAR = (bool, int, str, type(None))
# Integers that are no widths: of a width only 0 is tried.
COUNTS = re.compile(r"num|(^|_)n_|layer|expert|depth|rank|step|freq|interval|period|every|block|stage|level|index|group|_kv|hash|length|stack|codebook")
# Values that a configuration takes apart, so that no source compares them.
MORE = {"feed_forward_proj": {"gated-gelu", "gated-silu", "relu"}}
NAMED = ("label2id", "id2label", "task_specific_params")  # objects of names, which say nothing of tensors
FOLLOWS = ("is_gated_act", "dense_act_fn")  # from such a value


# Members that are the number of a layer, or a period of layers, by type: of layers.txt.
LAYERED = {(kind, member[:-1]): member[-1] for line in (HERE.parent.parent / "internal/loaders/layers.txt").read_text().splitlines() if not line.startswith("#")
           for kind in line.split("|")[0].split() for member in line.split("|")[1].split() if member[-1] in "<%"}
NUMBERED = {(kind, member[:-2]) for line in (HERE.parent.parent / "internal/loaders/layers.txt").read_text().splitlines() if not line.startswith("#")
            for kind in line.split("|")[0].split() for member in line.split("|")[1].split() if member.endswith("{}")}


def flat(value, path="", out=None):
    """Scalars and lists by path; the entries of a short list of integers too."""
    out = {} if out is None else out
    if isinstance(value, dict):
        for k, v in value.items():
            if k not in NAMED:
                flat(v, f"{path}.{k}" if path else str(k), out)
    elif isinstance(value, (list, tuple)):
        out[path] = list(value)
        if len(value) <= 8 and all(type(v) is int for v in value):
            out.update({f"{path}.{i}": v for i, v in enumerate(value)})
    else:
        out[path] = value
    return out


def put_one(d, path, value):
    d = copy.deepcopy(d)
    at = d
    *parents, last = path.split(".")
    for p in parents:
        at = at[int(p)] if isinstance(at, (list, tuple)) else at[p]
    if isinstance(at, list):
        at[int(last)] = value
    else:
        at[last] = value
        for k in FOLLOWS if last in MORE else ():
            at.pop(k, None)
    return d


def names_in(cls, config):
    """The names in the file of what the class expects, those it only looks for left out."""
    with torch.device("meta"):
        model = cls(config)
    state = model.state_dict()
    tied = set(getattr(model, "all_tied_weights_keys", None) or ())
    quiet = [re.compile(p) for p in (getattr(model, "_keys_to_ignore_on_load_missing", None) or ())]
    state = {k: v for k, v in state.items() if k not in tied and not any(p.search(k) for p in quiet)}
    return set(revert_weight_conversion(model, dict(state)))


class Build:
    """One configuration: its members, and the indices of each name."""
    def __init__(self, cls, values):
        config = cls.config_class.from_dict(copy.deepcopy(values))
        self.config, self.values, self.members = config, values, flat(config.to_dict())
        self.at = collections.defaultdict(set)
        for name in names_in(cls, config):
            parts = name.split(".")
            self.at[".".join("#" if p.isdigit() else p for p in parts)].add(tuple(int(p) for p in parts if p.isdigit()))

    def shape(self):
        return json.dumps(sorted((k, sorted(v)) for k, v in self.at.items()))


def literals(kind):
    """Texts that the sources of a type compare with members of a configuration."""
    folder = pathlib.Path(transformers.__file__).parent / "models" / configuration_auto.model_type_to_module_name(kind)
    found = collections.defaultdict(set)
    for file in sorted(folder.glob("modeling_*.py")) + sorted(folder.glob("configuration_*.py")):
        for m in re.finditer(r"(?:config|self)\.(\w+)\s*(?:==|!=|in|not in)\s*([\(\[\{]?[^\n:]*)", file.read_text()):
            found[m[1]].update(re.findall(r"[\"']([\w.-]+)[\"']", m[2]))
    return found


def read(base):
    """The members that the sources of a type and of the types inside it read."""
    found = {"tie_word_embeddings", "is_decoder", "add_cross_attention", "is_encoder_decoder"}
    for path, kind in flat(base).items():
        if path.rpartition(".")[2] == "model_type" and kind in configuration_auto.CONFIG_MAPPING_NAMES:
            folder = pathlib.Path(transformers.__file__).parent / "models" / configuration_auto.model_type_to_module_name(kind)
            for file in sorted(folder.glob("modeling_*.py")) + sorted(folder.glob("configuration_*.py")):
                found.update([x for pair in re.findall(r"(?:config|self|cfg)\.(\w+)|getattr\([\w.]*config, [\"'](\w+)", file.read_text()) for x in pair if x])
    return found


def changes(base, said, same):
    """(path, value, configuration) of each other configuration that is tried; same are names for one member."""
    values, asked = flat(base), read(base)
    plain = put_one

    def put(d, path, value):
        above, _, last = path.rpartition(".")
        for other in sorted(same.get(last, ())):
            beside = f"{above}.{other}" if above else other
            if beside in values:
                d = plain(d, beside, value)
        return plain(d, path, value)
    for path, v in sorted(values.items()):
        last = path.rpartition(".")[2]
        if APART.search(last) or last == "model_type" or path.startswith(("_", "quantization")) or ".rope_" in path or path.startswith("rope_"):
            continue
        if not {*path.split("."), *(other for part in path.split(".") for other in same.get(part, ()))} & asked:
            continue
        if isinstance(v, bool):
            yield path, not v, put(base, path, not v)
        elif v is None:
            yield from ((path, w, put(base, path, w)) for w in (16, True))
        elif isinstance(v, int):
            more = put(base, path, v + 1)
            above = path.rpartition(".")[0]
            for p, w in values.items():  # a list with an entry for each layer grows with their number
                if isinstance(w, list) and len(w) == v > 0 and p.rpartition(".")[0] == above:
                    more = put(more, p, [w[0], *w])
            if COUNTS.search(last):
                yield path, v + 1, more
            if path.rpartition(".")[2].isdigit():
                continue
            yield path, 0, put(base, path, 0)
            if v > 1 and COUNTS.search(last):
                yield path, 1, put(base, path, 1)
            if re.search("expert|group", last):
                yield path, 2 * v, put(base, path, 2 * v)
        elif isinstance(v, str):
            yield from ((path, w, put(base, path, w)) for w in sorted((said[last] | MORE.get(last, set())) - {v}))
        elif isinstance(v, list) and v and len(v) <= 64:
            kinds = sorted(set(map(str, v)) | said[last]) if all(isinstance(w, str) for w in v) else []
            if len(set(map(str, v))) > 1:
                yield path, "turned", put(base, path, v[::-1])
            for w in kinds:
                yield path, w, put(base, path, [w] * len(v))
            if all(type(w) is int for w in v):
                more, above = put(base, path, [*v, v[-1]]), path.rpartition(".")[0]
                for p, w in values.items():  # what else has an entry for each stage, or their number
                    if p != path and p.rpartition(".")[0] == above and (isinstance(w, list) and len(w) == len(v) or type(w) is int and w == len(v)):
                        more = put(more, p, [*w, w[-1]] if isinstance(w, list) else w + 1)
                yield path, "longer", more
            if all(type(w) is bool for w in v):
                yield from ((path, w, put(base, path, [w] * len(v))) for w in (True, False))
        elif v == []:
            yield path, "first", put(base, path, [0])


def aliases(config):
    """The other names of members, of a configuration and of those inside it."""
    out = collections.defaultdict(set)
    for c in [config, *(getattr(config, k, None) for k in getattr(config, "sub_configs", {}))]:
        for a, b in (getattr(type(c), "attribute_map", None) or {}).items():
            out[a].add(b)
            out[b].add(a)
    return out


def with_both(base):
    """A configuration whose few layers are of both kinds, where a member says with which the other kind begins, or how often it comes."""
    values = flat(base)
    for path, v in values.items():
        member = values.get(".".join([*path.split(".")[:-1], "model_type"])), path.rpartition(".")[2]
        relation = LAYERED.get(member)
        if member in NUMBERED and v is None:
            base = put_one(base, path, [1])
        if relation and type(v) is int and v >= 2:
            base = put_one(base, path, 1 if relation == "<" else 2)
    return base


def builds(kind, cls):
    """All builds of a class, the first from its small configuration."""
    for values in (small.LAYERS | small.TOKENS, small.LAYERS, {}):
        try:
            config = small.small(default(kind, cls), values, GIVEN.get(kind, {}) | OF_CLASS.get(cls.__name__, {}))
            base = config.to_dict()
            found = [Build(cls, base)]
            try:
                mixed = with_both(base)
                found = [Build(cls, mixed)]
                base = mixed
            except Exception:
                pass
            break
        except Exception:
            continue
    else:
        return []
    first, matter, said, same = found[0].shape(), [], literals(kind), aliases(found[0].config)
    for path, value, other in itertools.islice(changes(base, said, same), ONE):
        try:
            b = Build(cls, other)
        except Exception:
            continue
        found.append(b)
        if b.shape() != first:
            matter.append((path, value))
    pairs = [(a, b) for a, b in itertools.combinations(matter, 2) if a[0] != b[0] and not any(x in ("turned", "first", "longer") for x in (a[1], b[1]))]
    for a, b in pairs[:TWO]:
        try:
            both = base
            for path, value in (a, b):
                was = flat(base)[path]
                if isinstance(was, list):
                    value = [value] * len(was)
                elif type(was) is int and value == was + 1:  # its lists grow too
                    both = dict_of(changes(both, said, same), path, value)
                    continue
                both = put_one(both, path, value)
            found.append(Build(cls, both))
        except Exception:
            continue
    return found


def dict_of(many, path, value):
    return next(d for p, v, d in many if (p, v) == (path, value))


# ---- from builds to rules

def literal_holes(found):
    """Makes numbers parts of the names, where they are the same in all builds, or where nothing says how many there are."""
    sets = collections.defaultdict(lambda: collections.defaultdict(set))  # by beginning, by build and what is before: the numbers
    for k, b in enumerate(found):
        for name, at in b.at.items():
            for i in at:
                for h in range(len(i)):
                    sets[prefix_of(name, h)][k, i[:h]].add(i[h])
    made_literal(found, {p for p, by in sets.items() if len({frozenset(s) for s in by.values()}) == 1})
    while unsaid := {p for p, said in counts(found).items() if said == "*"}:
        made_literal(found, {min(unsaid, key=lambda p: (p.count("#"), p))})


def made_literal(found, beginnings):
    for b in found:
        at = collections.defaultdict(set)
        for name, tuples in b.at.items():
            for i in tuples:
                parts, left, h = [], [], 0
                for p in name.split("."):
                    literal = p == "#" and prefix_of(name, h) in beginnings
                    if p == "#" and not literal:
                        left.append(i[h])
                    parts.append(str(i[h]) if literal else p)
                    h += p == "#"
                at[".".join(parts)].add(tuple(left))
        b.at = at


def prefix_of(name, h):
    """The name up to its hole of this number, counted from 0."""
    parts, n = name.split("."), -1
    for k, p in enumerate(parts):
        n += p == "#"
        if n == h:
            return ".".join(parts[:k + 1])
    raise ValueError(name)


def order(path):
    last = path.rpartition(".")[2]
    return not re.search(r"(^|_)(num|n)_", last), path.count("."), path


def counts(found):
    """What says how many numbers there are, for each beginning that ends with one."""
    seen = collections.defaultdict(list)  # (build, numbers before, how many), None for a gap
    for b in found:
        by = collections.defaultdict(set)
        for name, at in b.at.items():
            for h in range(name.split(".").count("#")):
                for i in at:
                    by[prefix_of(name, h), i[:h]].add(i[h])
        for (p, before), numbers in by.items():
            seen[p].append((b, before, len(numbers) if numbers == set(range(len(numbers))) else None))
    out = {}
    for p, cases in seen.items():
        out[p] = "*" if any(n is None for _, _, n in cases) else said_by(cases)
    return out


def said_by(cases):
    members = set.intersection(*({m for m, v in b.members.items() if type(v) in (int, list)} for b, _, _ in cases))
    for add in (0, 1, -1):
        good = [m for m in members if all(type(b.members[m]) is int and b.members[m] + add == n for b, _, n in cases)]
        if good:
            return min(good, key=order) + (f"{add:+d}" if add else "")
        if add == 0:
            lists = [m for m in members if all(type(b.members[m]) is list for b, _, _ in cases)]
            for m in sorted(lists, key=order):
                if all(before and before[0] < len(b.members[m]) and b.members[m][before[0]] == n for b, before, n in cases):
                    return m + "[]"
            good = [m for m in lists if all(len(b.members[m]) == n for b, _, n in cases)]
            if good:
                return "#" + min(good, key=order)
    return "*"


def features(found, sizes):
    """What may decide: functions of a build and the number of a layer, by their text. Only what differs between builds."""
    out, last = {}, {id(b): n - 1 for b, n in zip(found, sizes or ())}
    for m in sorted(set.union(*(set(b.members) for b in found)), key=order):
        if APART.search(m.rpartition(".")[2]):
            continue
        values = [b.members.get(m) for b in found]
        if all(isinstance(v, SCALAR) for v in values) and len({json.dumps(v) for v in values}) > 1:
            out[m] = lambda b, i, m=m: b.members.get(m)
        if sizes and all(isinstance(v, list) and len(v) >= n for v, n in zip(values, sizes)) and all(isinstance(w, SCALAR) for v in values for w in v):
            out[m + "[]"] = lambda b, i, m=m: b.members[m][i]
        if sizes and all(isinstance(v, list) and all(type(w) is int for w in v) for v in values):
            out["#@" + m] = lambda b, i, m=m: i in b.members[m]
        if sizes and all(type(v) is int for v in values):
            out["#>=" + m] = lambda b, i, m=m: i >= b.members[m]
            if "shared" in m:
                out["#^" + m] = lambda b, i, m=m: i >= last[id(b)] + 1 - b.members[m]
    if sizes:
        out["#0"] = lambda b, i: i == 0
        out["#$"] = lambda b, i: i == last[id(b)]
    return out


def text_of(v):
    return v if isinstance(v, str) else TEXTS[v] if v is None or isinstance(v, bool) else str(v)


TEXTS = {None: "null", True: "true", False: "false"}


def condition(there, values, one=True):
    """A condition for when a name is there, by the values of what may decide: "" for always, None if none was found."""
    if all(there):
        return ""
    allowed = {f: {v for v, t in zip(vs, there) if t} for f, vs in values.items()}
    allowed = {f: a for f, a in allowed.items() if a < set(values[f])}

    def fits(chosen):
        return all(all(values[f][k] in allowed[f] for f in chosen) == t for k, t in enumerate(there))
    if fits(allowed):
        chosen = list(allowed)
        for f in sorted(chosen, key=lambda f: (not f.startswith("#"), not f.endswith("[]"), order(f))):
            if fits([c for c in chosen if c != f]):
                chosen.remove(f)
        written = [literal(f, allowed[f], set(values[f]) - allowed[f]) for f in sorted(chosen)]
        return None if None in written else "&".join(written)
    return either(values, there) if one else None


def either(values, there):
    """A condition that is one of two."""
    single = {}
    for f, vs in values.items():
        always = {v for v in set(vs) if all(t for w, t in zip(vs, there) if w == v)}
        if always and always < set(vs):
            single[f] = always
    for f, g in itertools.combinations(sorted(single, key=order), 2):
        if all((values[f][k] in single[f] or values[g][k] in single[g]) == t for k, t in enumerate(there)):
            both = [literal(x, single[x], set(values[x]) - single[x]) for x in (f, g)]
            return None if None in both else "/".join(both)
    return None


EMPTY = {"0", "null", "false"}


def literal(f, yes, no):
    if f.startswith("#"):
        return f if yes == {"true"} else f.replace("#>=", "#<").replace("#@", "#-").replace("#0", "#+").replace("#$", "#_").replace("#^", "#!")
    if no <= EMPTY and not yes & EMPTY:
        return f
    if yes <= EMPTY and not no & EMPTY:
        return "-" + f
    if any(not re.fullmatch(r"[\w.-]+", v) for v in yes | no) or all(re.fullmatch(r"\d+|null", v) for v in yes | no):
        return None  # of a number, what others would do is not known
    return f"{f}={','.join(sorted(yes))}!{','.join(sorted(no))}"


def rules(found):
    """(members, groups, layers) of a class."""
    literal_holes(found)
    count = counts(found)
    all_names = sorted(set.union(*(set(b.at) for b in found)))
    size = {}  # how many layers a beginning has in a build
    for p, said in count.items():
        if p.count("#") == 1:
            for k, b in enumerate(found):
                numbers = {i[0] for name, at in b.at.items() if name.startswith(p + ".") or name == p for i in at}
                size[p, k] = max(numbers) + 1 if numbers else 0
    feats, where = {}, {}

    def decide(first):
        if first not in feats:
            sizes = [size[first, k] for k in range(len(found))] if first else None
            where[first] = [(k, i) for k in range(len(found)) for i in range(sizes[k] if first else 1)]
            feats[first] = {f: [text_of(get(found[k], i)) for k, i in where[first]] for f, get in features(found, sizes).items()}
        return feats[first]
    groups, vague, seen = collections.defaultdict(set), {}, collections.defaultdict(set)
    loose = {}
    for name in all_names:
        layered = "#" in name
        first = prefix_of(name, 0) if layered else ""
        decide(first)
        there, whole = [], True
        for k, i in where[first]:
            mine = {t for t in found[k].at.get(name, ()) if not layered or t[0] == i}
            there.append(bool(mine))
            whole = whole and (not mine or complete(name, mine, found[k], count))
        spelled = spell(name, count)
        cond = condition(there, feats[first])
        if cond is None or not whole:
            key = first, tuple(there)
            if layered:
                vague.setdefault(first, {}).setdefault(key, []).append(spelled)
            else:
                loose.setdefault(key, []).append(spelled)
            continue
        groups[cond].add(spelled)
    layers = []
    for first, by in sorted(vague.items()):
        scalars = {f: values for f, values in feats[first].items() if f[0] != "#" and not f.endswith("[]")}
        ordered = sorted((list_, vector) for (_, vector), list_ in by.items())
        anchors = [(list_, vector) for list_, vector in ordered if not depends(vector, ordered, scalars)]
        for n, (list_, _) in enumerate(anchors, 1):
            groups[f"~{n}"].update(list_)
        for list_, vector in ordered:
            if (on := depends(vector, anchors, scalars)) and (list_, vector) not in anchors:
                groups[f"~{on[0]}&{on[1]}"].update(list_)
        together = sorted({tuple(n for n, (_, v) in enumerate(anchors, 1) if v[k]) for k in range(len(where[first]))})
        layers.append(f"{spell(first, count)}:{','.join('+'.join(map(str, t)) or '-' for t in together)}")
    for n, (_, list_) in enumerate(sorted(loose.items(), key=lambda r: sorted(r[1])), 1):
        groups[f"?{n}"].update(list_)
    written = " ".join(write(cond, list_) for cond, list_ in sorted(groups.items()))
    return members(found[0], written), written, " ".join(layers)


def depends(vector, groups, scalars):
    """(number, condition) of the first group with which a vague one always is, where a member says so."""
    for n, (_, other) in enumerate(groups, 1):
        if other != vector and all(o or not v for o, v in zip(other, vector)):
            cases = [k for k, o in enumerate(other) if o]
            if cond := condition([vector[k] for k in cases], {f: [values[k] for k in cases] for f, values in scalars.items()}, False):
                return n, cond
    return None


def complete(name, tuples, b, count):
    """Whether a name has every number that it could have in a layer."""
    n = name.count("#")
    if n <= 1:
        return True
    for h in range(1, n):
        before = {t[:h] for t in tuples}
        for p in before:
            numbers = {t[h] for t in tuples if t[:h] == p}
            if numbers != set(range(len(numbers))) or not says(count[prefix_of(name, h)], b, p, len(numbers)):
                return False
    return True


def says(said, b, before, n):
    if said == "*":
        return True
    if said.startswith("#"):
        return len(b.members[said[1:]]) == n
    if said.endswith("[]"):
        return b.members[said[:-2]][before[0]] == n
    m = re.fullmatch(r"(.+?)([+-]1)?", said)
    return b.members[m[1]] + int(m[2] or 0) == n


def spell(name, count):
    parts, h = [], 0
    for p in name.split("."):
        if p == "#":
            p = "{" + count[prefix_of(name, h)] + "}"
            h += 1
        parts.append(p)
    return ".".join(parts) if h else name


def split_at_layer(name):
    """The beginning up to its last number that is counted, and the rest."""
    at = name.rfind("}")
    return ("", name) if at < 0 else (name[:at + 1], name[at + 1:].removeprefix("."))


def write(cond, list_):
    by = collections.defaultdict(list)
    for name in sorted(list_):
        beginning, end = split_at_layer(name)
        by[beginning].append(end)
    return " ".join(f"{cond}:{beginning}:{braced(ends)}" for beginning, ends in sorted(by.items()))


def braced(names):
    """Names with what several begin with written once: a.b,a.c is a(b,c)."""
    by = collections.defaultdict(list)
    for name in names:
        first, _, rest = name.partition(".")
        by[first].append(rest)
    out = []
    for first, rests in sorted(by.items()):
        out += [first] * ("" in rests)
        if more := [r for r in rests if r]:
            inner = braced(more)
            out.append(f"{first}.{inner}" if "," not in inner else f"{first}({inner})")
    return ",".join(out)


def members(b, written):
    """The scalar members that a row speaks of, with their defaults."""
    asked = set()
    for group in written.split(" "):
        cond, beginning, _ = group.split(":", 2)
        for one in re.split("[&/]", cond):
            if one and one[0] not in "~?":  # a vague group's number
                if (m := re.sub(r"^(#>=|#<|#[-@^!]|#[0+$_]|-)", "", one).partition("=")[0].removesuffix("[]")):
                    asked.add(m)
        for said in re.findall(r"\{([^}]*)\}", beginning):
            if said != "*":
                asked.add(re.sub(r"[+-]1$", "", said.removeprefix("#").removesuffix("[]")))
    return sorted(asked)


def with_defaults(cls, config, asked):
    """The members with their defaults, and with the other names that the configuration takes."""
    try:
        own = flat(cls.config_class().to_dict())
    except Exception:
        own = {}
    out = []
    for m in asked:
        *parents, last = m.split(".")
        at = config
        for p in parents:
            at = getattr(at, p, None)
        known = getattr(type(at), "attribute_map", None) or {}
        more = sorted({a for a, b in known.items() if b == last} | {b for a, b in known.items() if a == last})
        v = own.get(m)
        plain = m in own and not isinstance(v, (list, dict)) and (not isinstance(v, str) or re.fullmatch(r"[\w.-]+", v))
        out.append(f"{'/'.join([m, *more])}={text_of(v) if plain else '*'}")
    return out


def inside(base):
    """The types of the models inside, of which alone the row speaks."""
    return sorted(f"{p}={v}" for p, v in base.members.items() if p.endswith(".model_type") and isinstance(v, str) and v)


def row(kind, cls, found):
    asked, written, layers = rules(found)
    return "|".join([getattr(cls, "base_model_prefix", "") or "", " ".join(with_defaults(cls, found[0].config, asked)), " ".join(inside(found[0])), written, layers])


def bare(name, cls):
    prefix = getattr(cls, "base_model_prefix", "")
    return name.removeprefix(prefix + ".") if prefix else name


def like(main, cls, of_main, first):
    """A row that says how the names of a class differ from those of another, None if the body does."""
    both = []
    for tied in (True, False):
        values = copy.deepcopy(first.values)
        if "tie_word_embeddings" in values:
            values["tie_word_embeddings"] = tied
        try:
            both.append(names_in(cls, cls.config_class.from_dict(values)))
        except Exception:
            return None
    was = of_main if all(of_main) else [names_in(main, first.config)] * 2
    body = {bare(n, main) for n in was[0] & was[1]}
    mine = {bare(n, cls) for n in both[0] & both[1]}
    if len(body - mine) > max(4, len(body) // 4):
        return None
    minus = sorted({n for w in was for n in w if bare(n, main) not in {bare(n, cls) for b in both for n in b}})
    plus = {"": both[0] & both[1], "tie_word_embeddings": both[0] - both[1], "-tie_word_embeddings": both[1] - both[0]}
    had = {bare(n, main) for n in was[0] & was[1]}
    groups = [f"{cond}::{braced(sorted(n for n in names if bare(n, cls) not in had))}" for cond, names in plus.items() if any(bare(n, cls) not in had for n in names)]
    if sum(g.count(",") + 1 for g in groups) > 8 or any(part.isdigit() for g in (*groups, *minus) for part in re.split("[.,:()]", g)):
        return None
    tied = [n for n in was[0] ^ was[1] if n not in minus]
    return "|".join([f"={main.__name__}", ",".join(sorted({*minus, *tied})), " ".join(groups)])


def both_ties(cls, first):
    out = []
    for tied in (True, False):
        values = copy.deepcopy(first.values)
        if "tie_word_embeddings" in values:
            values["tie_word_embeddings"] = tied
        try:
            out.append(names_in(cls, cls.config_class.from_dict(values)))
        except Exception:
            out.append(None)
    return out


def of(kind):
    """(what, type/class) of each class of a type."""
    try:
        main = small.class_of(kind)
        if main.config_class.model_type != kind or not (found := builds(kind, main)):
            return
        yield row(kind, main, found), f"{kind}/{main.__name__}"
        ties = both_ties(main, found[0])
    except Exception as e:
        print(kind, f"{type(e).__name__}: {e}", file=sys.stderr)
        return
    for name in all_classes()[kind]:
        try:
            cls = named(kind, name)
            if cls is main or not issubclass(cls, transformers.PreTrainedModel) or cls.config_class is not main.config_class:
                continue
            if (what := like(main, cls, ties, found[0])) is None and (other := builds(kind, cls)):
                what = row(kind, cls, other)
            if what:
                yield what, f"{kind}/{name}"
        except Exception as e:
            print(kind, name, f"{type(e).__name__}: {e}", file=sys.stderr)


def rows(answers):
    same = collections.defaultdict(set)
    for answer in answers:
        for what, name in answer:
            same[what].add(name)
    return sorted((" ".join(sorted(names)), what) for what, names in same.items())


if __name__ == "__main__":
    print(transformers.__version__)
    for names, what in rows(map(of, sys.argv[1:] or sorted(configuration_auto.CONFIG_MAPPING_NAMES))):
        print(f"{names}|{what}")
