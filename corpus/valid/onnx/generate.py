"""Writes the honest models of this folder, with onnx 1.23.2: python3 generate.py, in this folder."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

w = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "w")
half = numpy_helper.from_array(np.ones(3, dtype=np.float16), "half")
ints = helper.make_tensor("ints", TensorProto.INT64, [2], [1, -2])
four = helper.make_tensor("four", TensorProto.INT4, [3], [1, -2, 3])
words = helper.make_tensor("words", TensorProto.STRING, [2], ["a", "b"])
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
inner = helper.make_graph([helper.make_node("Identity", ["w"], ["z"])], "then", [], [y])
nodes = [
    helper.make_node("MatMul", ["x", "w"], ["m"]),
    helper.make_node("Twice", ["m"], ["y"], domain="local"),
    helper.make_node("If", ["c"], ["q"], then_branch=inner, else_branch=inner),
]
twice = helper.make_function("local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 21)])
graph = helper.make_graph(nodes, "g", [x], [y], [w, half, ints, four, words])
model = helper.make_model(graph, functions=[twice], opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("local", 1)], producer_name="corpus")
helper.set_model_props(model, {"author": "nobody"})
with open("small.onnx", "wb") as f:
    f.write(model.SerializeToString())

for t in (w,):
    onnx.external_data_helper.set_external_data(t, "outside.onnx.data", 0, 24)
    t.ClearField("raw_data")
    t.data_location = TensorProto.EXTERNAL
graph = helper.make_graph(nodes[:1], "g", [x], [y], [w])
with open("outside.onnx", "wb") as f:
    f.write(helper.make_model(graph, producer_name="corpus").SerializeToString())

# Tensors in every place of a model: operators, branches, functions, sparse ones.
def constant(name, value):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(value, np.float32), "value"))


def places(name, places, dims):
    values = helper.make_tensor(name, TensorProto.FLOAT, [2], [5, 6])
    at = np.array(places, np.int64)
    return helper.make_sparse_tensor(values, helper.make_tensor("at", TensorProto.INT64, at.shape, at.flatten()), dims)


branches = [helper.make_graph([constant("k", [n]), helper.make_node("Add", ["k", "b"], ["z"])], "branch", [], [y], [numpy_helper.from_array(np.array([n], np.float32), "b")]) for n in (1, 2)]
filled = helper.make_node("ConstantOfShape", ["two"], ["f"], value=helper.make_tensor("", TensorProto.INT64, [1], [-3]))
listed = helper.make_node("Listed", [], ["l"], domain="local", tensors=[helper.make_tensor("", TensorProto.INT8, [1], [n]) for n in (-4, 5)], graphs=branches[:1])
nodes = [
    constant("c", [[1, 2], [3, 4]]), filled, listed,
    helper.make_node("Constant", [], ["s"], sparse_value=places("", [1, 3], [4])),
    helper.make_node("If", ["x"], ["q"], then_branch=branches[0], else_branch=branches[1]),
    helper.make_node("Lonely", [], [], domain="local", value=helper.make_tensor("", TensorProto.BOOL, [2], [True, False])),
]
inner = helper.make_function("local", "Listed", [], ["l"], [constant("l", [7])], [helper.make_opsetid("", 21)])
graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(np.array([2], np.int64), "two")])
graph.sparse_initializer.extend([places("linear", [0, 5], [2, 3]), places("axes", [[0, 1], [1, 2]], [2, 3])])
lonely = helper.make_function("local", "Lonely", [], [], [], [helper.make_opsetid("", 21)])
model = helper.make_model(graph, functions=[inner, lonely], opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("local", 1)])
with open("scopes.onnx", "wb") as f:
    f.write(model.SerializeToString())

# Every type, as raw data and as numbers.
values = {TensorProto.STRING: ["a", "b", "c"], TensorProto.BOOL: [True, False, True], TensorProto.COMPLEX64: [1 + 2j, 3j, -1], TensorProto.COMPLEX128: [1 + 2j, 3j, -1]}
tensors = []
for number, name in sorted((n, s) for s, n in TensorProto.DataType.items() if n):
    t = helper.make_tensor(name, number, [3], values.get(number, [1, 2, 1] if "U" in name[:2] or "E" in name else [1, -2, 1]))
    tensors.append(t)
    if number != TensorProto.STRING:
        tensors.append(numpy_helper.from_array(numpy_helper.to_array(t), "raw " + name))
with open("types.onnx", "wb") as f:
    f.write(helper.make_model(helper.make_graph([], "g", [], [], tensors)).SerializeToString())

# Sizes that runtimes compute of constants, as PyTorch's exporter writes expand and pad.
listed = {"s": [-1, 3, 4], "minus": [-1, -1, -1], "rank": [3], "four": [4], "ends": [1, 1], "pairs": [-1, 2], "last": [-1], "first": [-9223372036854775807], "zero": [0]}
filled = {k: numpy_helper.from_array(np.array([v], dtype=np.int64)) for k, v in {"ones": 1, "zeros": 0}.items()}
nodes = [
    helper.make_node("Equal", ["s", "minus"], ["open"]), helper.make_node("ConstantOfShape", ["rank"], ["ones"], value=filled["ones"]),
    helper.make_node("Where", ["open", "ones", "s"], ["shape"]), helper.make_node("Expand", ["w", "shape"], ["wide"]),
    helper.make_node("ConstantOfShape", ["four"], ["zeros"], value=filled["zeros"]), helper.make_node("Concat", ["ends", "zeros"], ["all"], axis=0),
    helper.make_node("Reshape", ["all", "pairs"], ["rows"]), helper.make_node("Slice", ["rows", "last", "first", "zero", "last"], ["turned"]),
    helper.make_node("Transpose", ["turned"], ["columns"], perm=[1, 0]), helper.make_node("Reshape", ["columns", "last"], ["line"]),
    helper.make_node("Cast", ["line"], ["pads"], to=TensorProto.INT64), helper.make_node("Pad", ["wide", "pads"], ["p"]),
    helper.make_node("ReduceMax", ["p"], ["m"], keepdims=0), helper.make_node("Add", ["x", "m"], ["y"])]
weight = numpy_helper.from_array(np.arange(4, dtype=np.float32).reshape(1, 1, 4), "w")
graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(np.array(v, dtype=np.int64), k) for k, v in listed.items()] + [weight])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "sizes.onnx")
