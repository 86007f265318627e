"""Which modules are the embeddings and the output layer of each type of transformers, and which of them share one matrix.

    ties.py [TYPE ...]     prints the version, and rows: types, a bar, names of the input embedding, a bar, of the output layer, a bar,
                           of other modules that share the embedding's matrix, a bar, and whether its configuration ties the output
                           layer unless it says otherwise: + it does, - it does not, 0 it never does; b behind it: with the output layer's bias, which is that of a
                           module around it

The library's own functions are asked (get_input_embeddings, get_output_embeddings, tie_weights), on models without numbers: those of
names.py, and those with a head for masked and translated texts. A shared matrix is one parameter in two modules. Names are those of
the modules without the beginning that the class gives its model; classes of one type may have several. Where they say different things
about ties, the class for language models decides.
"""
import collections
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() not in (HERE, HERE.parent)]
sys.path.append(str(HERE.parent / "linears"))
sys.path.append(str(HERE))
import names as others  # noqa: E402
import reload as small  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from models import GIVEN, OF_CLASS, default, named  # noqa: E402
from transformers.models.auto import configuration_auto, modeling_auto  # noqa: E402


def classes(kind):
    found = {}
    for mapping in ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_MASKED_LM_MAPPING_NAMES", "MODEL_FOR_PRETRAINING_MAPPING_NAMES", "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES"):
        name = getattr(modeling_auto, mapping, {}).get(kind)
        if isinstance(name, str):
            try:
                found[name] = named(kind, name)
            except (AttributeError, TypeError, ImportError):
                pass
    for cls in others.classes(kind):
        found.setdefault(cls.__name__, cls)
    return [c for c in found.values() if isinstance(c, type) and issubclass(c, transformers.PreTrainedModel) and c.config_class is not None and c.config_class.model_type == kind]


def built(kind, cls, tied):
    """A model without numbers, whose configuration says so of ties; None for what it says by itself."""
    for values in (small.LAYERS | small.TOKENS, small.LAYERS, {}):
        try:
            config = small.small(default(kind, cls), values, GIVEN.get(kind, {}) | OF_CLASS.get(cls.__name__, {}))
            if tied is not None:
                for c in {id(c): c for c in (config, config.get_text_config(), config.get_text_config(decoder=True))}.values():
                    c.tie_word_embeddings = tied
            with torch.device("meta"):
                model = cls(config)
            model.tie_weights()
            return model
        except Exception:
            continue
    return None


def asked(kind, cls):
    """(embedding, output layer, others, mark), None for a class without an embedding of texts."""
    models = [built(kind, cls, t) for t in (None, True, False)]
    if any(m is None for m in models):
        return None

    def said(model):
        try:
            inner, head = model.get_input_embeddings(), model.get_output_embeddings()
        except (NotImplementedError, AttributeError):
            return None
        if not isinstance(inner, torch.nn.Embedding):
            return None
        name = {id(m): n for n, m in reversed(list(model.named_modules(remove_duplicate=False)))}
        shared = sorted(n for n, m in model.named_modules(remove_duplicate=False) if getattr(m, "weight", None) is inner.weight and n != name[id(inner)] and (head is None or n != name.get(id(head))))
        bias = getattr(head, "bias", None)
        bound = isinstance(bias, torch.nn.Parameter) and sum(p is bias for _, p in model.named_parameters(remove_duplicate=False)) > 1
        return name[id(inner)], name.get(id(head), "") if head is not None else "", shared, head is not None and getattr(head, "weight", None) is inner.weight, bound
    by, yes, no = map(said, models)
    if by is None or yes is None or no is None:
        return None
    if no[3]:
        raise ValueError(f"{cls.__name__} ties its output layer whatever its configuration says: the program has no word for that")
    mark = "0" if not yes[3] else ("+" if by[3] else "-") + "b" * yes[4]
    prefix = getattr(cls, "base_model_prefix", "") or ""

    def bare(n):
        return n.removeprefix(prefix + ".") if prefix else n
    return bare(by[0]), bare(by[1]), sorted({bare(n) for n in yes[2]}), mark


def of(kind):
    """(what, type) of a type that has an embedding of texts."""
    inner, heads, more, mark = [], [], [], ""
    try:
        for cls in classes(kind):
            if (found := asked(kind, cls)) is None:
                continue
            inner.append(found[0])
            heads += [found[1]] if found[1] else []
            more += found[2]
            mark = mark or (found[3] if found[1] else "")
    except Exception as e:
        print(kind, e, file=sys.stderr)
        return
    if inner:
        yield "|".join([*(" ".join(dict.fromkeys(x)) for x in (inner, heads, more)), mark or "0"]), kind


def rows(answers):
    same = collections.defaultdict(list)
    for answer in answers:
        for what, kind in answer:
            same[what].append(kind)
    return sorted((" ".join(sorted(kinds)), what) for what, kinds in same.items())


if __name__ == "__main__":
    print(transformers.__version__)
    for kinds, what in rows(map(of, sys.argv[1:] or sorted(configuration_auto.CONFIG_MAPPING_NAMES))):
        print(f"{kinds}|{what}")
