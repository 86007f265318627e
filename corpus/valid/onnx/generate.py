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
