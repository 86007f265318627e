"""Random programs of operators on constants, run node by node by ONNX Runtime in little memory.

    python3 program.py FOLDER FIRST COUNT SEED

It writes a model for each program, and a line of results.jsonl: how many elements ONNX Runtime made of
constants, or asked for when its memory ended, and by which operators. A node that the runtime refuses is
left out of its program."""
import json
import pathlib
import random
import resource
import signal
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, TensorProto, defs, helper, numpy_helper

MEMORY = 5 << 29  # beside what the libraries take; a tensor of TOO_MANY elements of eight bytes takes all but a fifth
TOO_MANY = 1 << 28
OPSETS = range(7, 25)
TYPES = {np.dtype(np.float32): 1, np.dtype(np.int32): 6, np.dtype(np.int64): 7, np.dtype(bool): 9, np.dtype(np.float64): 11, np.dtype(np.float16): 10, np.dtype(np.uint8): 2, np.dtype(np.int8): 3}
SPELLED = {"tensor(float)": np.float32, "tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(bool)": bool, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}
LARGE = 1 << 20
NUMBERS = [0, 1, 1, 2, 2, 3, 4, 5, 8, 16, 100, 1 << 10, 1 << 14, LARGE, -1, -2, -3]

SIZES = [1, 1, 2, 3, 1 << 5, 1 << 10, 1 << 14, LARGE]

# Operators that say sizes, or from which sizes are made: they are tried more often.
OFTEN = """ConstantOfShape Expand Tile OneHot Upsample CenterCropPad MaxUnpool AffineGrid DFT Resize Pad Range TopK Slice Gather GatherElements GatherND
Concat Reshape Shape Size Split Squeeze Unsqueeze Where ScatterElements ScatterND Transpose Cast Constant Add Sub Mul Div Pow Max Min Mod
ReduceProd ReduceSum ReduceMax Identity Flatten Compress NonZero Unique CumSum EyeLike MatMul Einsum Conv ConvTranspose Clip If Loop Scan SequenceMap
SequenceConstruct ConcatFromSequence SplitToSequence SequenceAt SequenceInsert DepthToSpace SpaceToDepth Optional OptionalGetElement BlackmanWindow
Col2Im GridSample HannWindow MelWeightMatrix Trilu BitShift ArgMax Neg Abs Floor Sqrt""".split()
LAST = "ConstantOfShape ConstantOfShape ConstantOfShape Expand Expand Tile Tile Pad Range Resize OneHot MatMul Add Gather BlackmanWindow".split()
CHOICES = {
    "mode": ["constant", "edge", "reflect", "wrap", "nearest", "linear", "cubic", "DCR", "CRD", "bilinear"], "auto_pad": ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"],
    "coordinate_transformation_mode": ["asymmetric", "half_pixel", "align_corners", "tf_crop_and_resize"], "keep_aspect_ratio_policy": ["stretch", "not_larger", "not_smaller"],
    "equation": ["ij,jk->ik", "i,j->ij", "ij->ji", "i,j,k->ijk", "...i,...j->...ij", "ii->i", "i->", "ij,kl->ijkl"], "reduction": ["none", "add", "mul", "max"],
    "direction": ["LEFT", "RIGHT", "forward"], "nearest_mode": ["floor", "ceil", "round_prefer_floor"],
}
AXES = ("axis", "axes", "batch_dims", "keepdims", "largest", "sorted", "perm", "inverse", "onesided", "exclusive", "upper", "allowzero", "num_outputs", "new_axis", "ceil_mode", "group", "start", "end")
SKIP = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli", "STFT", "ReverseSequence"}  # these two end the process of the runtime on odd inputs


class Refused(Exception):
    pass


class Large(Exception):
    pass


def kind(v):
    if isinstance(v, list):
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(TYPES[v[0].dtype], None))
    return helper.make_tensor_type_proto(TYPES[v.dtype], None)


def known(v):
    return all(known(x) for x in v) and len(v) > 0 and all(isinstance(x, np.ndarray) for x in v) if isinstance(v, list) else isinstance(v, np.ndarray) and v.dtype in TYPES


def count(v):
    return sum(x.size for x in v) if isinstance(v, list) else int(v.size)


options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.enable_mem_pattern = options.enable_cpu_mem_arena = False
options.log_severity_level = 4
onnxruntime.set_default_logger_severity(4)


def session(nodes, given, outputs, opset, functions=()):
    inputs = [helper.make_value_info(k, kind(v)) for k, v in given.items()]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=o) for o in outputs])
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("f", 1)] if functions else [])
    m = helper.make_model(graph, opset_imports=imports, functions=list(functions))
    m.ir_version = min(m.ir_version, 10)
    return onnxruntime.InferenceSession(m.SerializeToString(), options)


def run(nodes, given, outputs, opset, functions=()):
    """The outputs as ONNX Runtime computes them."""
    try:
        return session(nodes, given, outputs, opset, functions).run(None, given)
    except Exception as e:  # every kind of the runtime's own
        if "bad_alloc" in str(e) or "Failed to allocate" in str(e):
            raise Large from None
        raise Refused(str(e)[:200]) from None


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.opset = rng.choice(OPSETS)
        self.values, self.moving, self.inits, self.nodes, self.functions = {}, set(), [], [], []
        self.made, self.n, self.large, self.statics, self.operators = 0, 0, "", {}, []
        self.names = sorted({s.name for s in defs.get_all_schemas() if s.domain == ""} - SKIP)

    def name(self):
        self.n += 1
        return f"v{self.n}"

    def constant(self):
        r = self.rng
        n = r.choice([0, 1, 1, 1, 2, 2, 3, 4, 6, 17])
        shape = r.choice([(n,), (n,), (n,), (), (1, n), (n, 1), (1, 1, n), (2, 2), (1, 1, 2, 2)])
        dtype = r.choice([np.int64, np.int64, np.int64, np.int64, np.float32, np.float32, np.int32, np.float64, bool])
        if r.random() < 0.4:  # a shape
            shape, dtype = (n,), np.int64
        numbers = r.choice([NUMBERS, NUMBERS, SIZES])
        a = np.array([r.choice(numbers) for _ in range(int(np.prod(shape)))]).reshape(shape).astype(dtype)
        name = self.name()
        if r.random() < 0.3:
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(a)))
        else:
            self.inits.append(numpy_helper.from_array(a, name))
        self.values[name] = a

    def column(self):
        """A large constant of little: a row, a column, a volume."""
        r = self.rng
        shape = r.choice([(LARGE,), (1 << 16, 1), (1, 1 << 16), (1 << 8, 1 << 8), (1, 1, 1 << 16), (1 << 16, 1, 1), (1, 1, 1 << 8, 1 << 8), (1 << 14, 1), (1 << 15,)])
        if self.opset < 9:
            return
        s, name = self.name(), self.name()
        self.inits.append(numpy_helper.from_array(np.array(shape, np.int64), s))
        self.values[s] = np.array(shape, np.int64)
        value = r.choice([None, np.array([2], np.int64), np.array([LARGE], np.int64), np.array([1], np.float32)])
        self.add([helper.make_node("ConstantOfShape", [s], [name], **({} if value is None else {"value": numpy_helper.from_array(value)}))], [name])

    def static(self):
        """An input of a size that the file states."""
        shape = self.rng.choice([(LARGE,), (LARGE, 1), (1 << 10, 1 << 10), (2, 3)])
        name = self.name()
        self.statics[name] = shape
        self.moving.add(name)
        self.values[name] = np.ones(shape, np.float32)

    def add(self, nodes, outputs, functions=()):
        given = {k: self.values[k] for k in self.wants(nodes)}
        fixed = nodes[0].op_type in ("Shape", "Size") or not self.moving & set(given)  # what follows from data is of a size that who calls pays for
        self.operators += [o.op_type for o in nodes]
        try:
            values = run(nodes, given, outputs, self.opset, functions)
        except Large:
            if not fixed:
                del self.operators[-len(nodes):]
                raise Refused("of data") from None
            self.made += TOO_MANY + 1
            self.large = nodes[-1].op_type
            values = []
        except Refused:
            del self.operators[-len(nodes):]
            raise
        self.nodes += nodes
        self.functions += functions
        for o, v in zip(outputs, values):
            self.made += count(v) if known(v) and fixed else 0
            if not fixed:
                self.moving.add(o)
            if known(v) and count(v) <= 1 << 22:
                self.values[o] = v

    def wants(self, nodes, inside=()):
        """The values from outside that nodes take, those inside their graphs among them."""
        made, found = set(inside), []
        for o in nodes:
            found += [i for i in o.input if i and i not in made]
            for a in o.attribute:
                for g in [a.g] if a.type == AttributeProto.GRAPH else []:
                    found += [i for i in self.wants(g.node, made | {x.name for x in g.input}) if i not in made]
                    found += [x.name for x in g.output if x.name not in made and not any(x.name in n.output for n in g.node) and x.name not in {i.name for i in g.input}]
            made |= set(o.output)
        return [i for i in dict.fromkeys(found) if i in self.values]

    def pick(self, allowed):
        fits = [k for k, v in self.values.items() if isinstance(v, np.ndarray) and SPELLED_BACK[v.dtype] in allowed or isinstance(v, list) and f"seq({SPELLED_BACK[v[0].dtype]})" in allowed]
        if not fits:
            raise Refused("no value of a type")
        return self.rng.choice(fits[-8:] if self.rng.random() < 0.6 else fits)

    def attribute(self, s, a):
        r = self.rng
        t, name = int(a.type), a.name
        number = lambda: r.choice([0, 1, 1, 2, -1]) if name in AXES else r.choice(NUMBERS)
        if name == "to" or name == "dtype" or name == "output_dtype":
            return r.choice(list(TYPES.values()))
        if t == AttributeProto.INT:
            return number()
        if t == AttributeProto.INTS:
            return [number() for _ in range(r.choice([1, 1, 2, 3, 4]))]
        if t == AttributeProto.FLOAT:
            return float(r.choice(NUMBERS + [0.5]))
        if t == AttributeProto.FLOATS:
            return [float(r.choice(NUMBERS + [0.5])) for _ in range(r.choice([1, 1, 2, 3, 4]))]
        if t == AttributeProto.STRING and name in CHOICES:
            return r.choice(CHOICES[name])
        if t == AttributeProto.TENSOR:
            return numpy_helper.from_array(np.array([r.choice(NUMBERS)] * (1 if s.name == "ConstantOfShape" else r.choice([1, 2])), r.choice([np.int64, np.int64, np.float32])))
        return None

    def node(self, typ=None):
        """A node of an operator, chosen by its schema."""
        r = self.rng
        typ = typ or r.choice(OFTEN if r.random() < 0.75 else self.names)
        if typ in ("If", "Loop", "Scan", "SequenceMap"):
            return [self.branching(typ)]
        try:
            s = defs.get_schema(typ, self.opset, "")
        except Exception:
            raise Refused("later") from None
        bound, inputs = {}, []
        many = s.min_input if r.random() < 0.4 else r.randint(s.min_input, min(s.max_input, max(len(s.inputs), 3)))
        for k in range(many):
            f = s.inputs[min(k, len(s.inputs) - 1)]
            if int(f.option.value if hasattr(f.option, "value") else f.option) == 1 and r.random() < 0.35:
                inputs.append("")
                continue
            allowed = bound.get(f.type_str) or f.types
            name = self.pick(allowed)
            v = self.values[name]
            if f.type_str not in f.types and f.is_homogeneous:
                bound[f.type_str] = [f"seq({SPELLED_BACK[v[0].dtype]})" if isinstance(v, list) else SPELLED_BACK[v.dtype]]
            inputs.append(name)
        while inputs and inputs[-1] == "":
            inputs.pop()
        given = {}
        for name, a in s.attributes.items():
            if a.required or r.random() < (0.6 if typ in OFTEN else 0.25):
                v = self.attribute(s, a)
                if v is not None:
                    given[name] = v
        if typ == "Constant":
            name = r.choice(sorted(s.attributes))
            v = self.attribute(s, s.attributes[name])
            given = {name: v} if v is not None else {}
        outputs = [self.name() for _ in range(max(s.min_output, r.randint(s.min_output, min(s.max_output, 3))))]
        return [helper.make_node(typ, inputs, outputs, **given)]

    def inner(self, values, depth=1):
        """Nodes of a graph on values, and one of their outputs."""
        outer = Program(self.rng)
        outer.opset, outer.values, outer.moving, outer.n, outer.names = self.opset, dict(values), set(self.moving), self.n + 1000, self.names
        first = list(outer.values)
        for _ in range(40):
            try:
                nodes = outer.node()
                outer.add(nodes, list(nodes[-1].output))
            except Refused:
                continue
            if outer.large or len(outer.nodes) >= self.rng.choice([1, 2, 3]):
                break
        self.n = outer.n
        made = [o for n in outer.nodes for o in n.output if o in outer.values]
        last = made[-1] if made else first[-1]
        if outer.large:
            last = outer.nodes[-1].output[0]
        return outer.nodes, last, outer.values.get(last)

    def branching(self, typ):
        r = self.rng
        small = {k: v for k, v in self.values.items() if isinstance(v, np.ndarray)}
        out = self.name()
        if typ == "If":
            cond = self.pick(["tensor(bool)"])
            graphs = {}
            for branch in ("then_branch", "else_branch"):
                nodes, last, v = self.inner(small)
                as_float = self.name()
                nodes = nodes + [helper.make_node("Cast", [last], [as_float], to=1)]
                graphs[branch] = helper.make_graph(nodes, branch, [], [helper.make_tensor_value_info(as_float, 1, None)])
            return helper.make_node("If", [cond], [out], **graphs)
        if typ == "Loop":
            trips, state = self.pick(["tensor(int64)"]), self.pick(["tensor(int64)", "tensor(float)"])
            if small[trips].size != 1 or small[trips].ndim > 1 or not 0 <= small[trips].max() <= 100:
                raise Refused("trips")
            i, c, carried, kept = (self.name() for _ in range(4))
            nodes, last, _ = self.inner(small | {i: np.array(1, np.int64), carried: small[state]})
            body = helper.make_graph(nodes + [helper.make_node("Identity", [c], [kept])], "body", [helper.make_tensor_value_info(i, 7, []), helper.make_tensor_value_info(c, 9, []), helper.make_value_info(carried, kind(small[state]))],
                                     [helper.make_tensor_value_info(kept, 9, None), onnx.ValueInfoProto(name=last)])
            outs = [out]
            if r.random() < 0.5:
                more, copied = self.name(), self.name()
                body.node.append(helper.make_node("Identity", [last], [copied]))
                body.output.append(onnx.ValueInfoProto(name=copied))
                outs.append(more)
            return helper.make_node("Loop", [trips, "", state], outs, body=body)
        if typ == "Scan":
            over = self.pick(["tensor(int64)", "tensor(float)"])
            v = small[over]
            if v.ndim == 0 or v.shape[0] > 64 or v.shape[0] == 0:
                raise Refused("scan")
            row = self.name()
            nodes, last, _ = self.inner(small | {row: v[0]})
            body = helper.make_graph(nodes, "body", [helper.make_value_info(row, kind(v[0]))], [onnx.ValueInfoProto(name=last)])
            return helper.make_node("Scan", [over], [out], body=body, num_scan_inputs=1)
        raise Refused("not made here")

    def function(self):
        """The nodes of some operators as a function, which is called, once or twice."""
        r = self.rng
        small = {k: v for k, v in self.values.items() if isinstance(v, np.ndarray)}
        nodes, last, _ = self.inner(small)
        if not nodes:
            raise Refused("empty")
        wants = self.wants(nodes)
        name, attributes = f"F{self.n}", {}
        for o in nodes:
            for a in o.attribute:
                if r.random() < 0.5 and a.type in (AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.TENSOR, AttributeProto.FLOAT) and a.name not in attributes:
                    attributes[a.name] = helper.get_attribute_value(a)
                    a.CopyFrom(onnx.AttributeProto(name=a.name, type=a.type, ref_attr_name=a.name))
        f = helper.make_function("f", name, wants, [last], nodes, [helper.make_opsetid("", self.opset)], list(attributes))
        return [helper.make_node(name, wants, [self.name()], domain="f", **attributes)], [f]

    def grow(self):
        r = self.rng
        for _ in range(r.choice([2, 3, 4, 5])):
            self.constant()
        if r.random() < 0.6:
            self.column()
        if r.random() < 0.15:
            self.static()
        want = r.choice([1, 2, 3, 4, 6, 8, 12])
        tried = 0
        while len(self.operators) < want + 1 and tried < 60 and not self.large and self.made < TOO_MANY:
            tried += 1
            try:
                if r.random() < 0.06:
                    nodes, functions = self.function()
                    self.add(nodes, list(nodes[0].output), functions)
                    continue
                nodes = self.node()
                self.add(nodes, list(nodes[-1].output))
            except Refused:
                continue
            except (OverflowError, ValueError, TypeError):
                continue

    def finish(self):
        """An operator that makes a tensor of a size that inputs say, of what came last."""
        for _ in range(40):
            if self.large or self.made >= TOO_MANY:
                return
            try:
                nodes = self.node(self.rng.choice(LAST))
                self.add(nodes, list(nodes[-1].output))
            except (Refused, OverflowError, ValueError, TypeError):
                continue

    def model(self):
        outputs = [o for n in self.nodes for o in n.output if o][-1:]
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info(k, 1, s) for k, s in self.statics.items()], [onnx.ValueInfoProto(name=o) for o in outputs], initializer=self.inits)
        imports = [helper.make_opsetid("", self.opset)] + ([helper.make_opsetid("f", 1)] if self.functions else [])
        m = helper.make_model(graph, opset_imports=imports, functions=self.functions)
        m.ir_version = 10
        return m


SPELLED_BACK = {np.dtype(v): k for k, v in SPELLED.items()}


def main():
    folder, first, many, seed = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:5])
    run([helper.make_node("Abs", ["x"], ["y"])], {"x": np.ones(3, np.float32)}, ["y"], 13)
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    with open(folder / "results.jsonl", "a", buffering=1) as out:
        for k in range(first, first + many):
            if "-v" in sys.argv:
                print(k, file=sys.stderr)
            out.write(json.dumps({"n": k}) + "\n")  # if the process ends in this program
            signal.alarm(60)  # which ends the process: some operators run for hours on odd inputs
            p = Program(random.Random(f"{seed} {k}"))
            try:
                p.grow()
                p.finish()
            except MemoryError:
                continue
            if not p.operators:
                continue
            m = p.model().SerializeToString()
            try:
                onnxruntime.InferenceSession(m, options)
            except Exception as e:  # what the runtime says of constants that it did not know in each node
                if "ShapeInferenceError" in str(e):
                    continue
            (folder / f"{k}.onnx").write_bytes(m)
            out.write(json.dumps({"n": k, "made": p.made, "large": p.large, "operators": p.operators}) + "\n")


main()
