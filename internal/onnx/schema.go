package onnx

// A kind is how a field is encoded.
type kind uint8

const (
	number  kind = iota // varint
	fixed32             // float
	fixed64             // double
	text                // a string, or bytes
	sub                 // a message
)

// A field of a message.
type field struct {
	kind kind
	many bool // it may stand more than once
	of   *message
}

// A message is the fields that it may have, by number.
type message struct {
	name   string
	fields map[uint64]field
	make   func() hook
	long   uint64 // how much of a text is kept, 0 for maxText
}

var (
	one     = field{kind: number}
	numbers = field{kind: number, many: true}
	str     = field{kind: text}
	strs    = field{kind: text, many: true}
)

func list(m *message) field { return field{kind: sub, many: true, of: m} }
func once(m *message) field { return field{kind: sub, of: m} }

// A schema is the messages, which refer to each other.
type schema struct{ model, array *message }

func named(name string) *message { return &message{name: name} }

// newSchema is that of onnx.proto.
func newSchema() schema {
	model, graph, node, attribute, array := named("ModelProto"), named("GraphProto"), named("NodeProto"), named("AttributeProto"), named("TensorProto")
	valueInfo, function, training := named("ValueInfoProto"), named("FunctionProto"), named("TrainingInfoProto")
	sparse, typeMsg, annotation := named("SparseTensorProto"), named("TypeProto"), named("TensorAnnotation")
	external := &message{name: "StringStringEntryProto", fields: map[uint64]field{1: str, 2: str}}
	entries := list(&message{name: "StringStringEntryProto", fields: map[uint64]field{1: str, 2: str}})
	properties := &message{name: "StringStringEntryProto", fields: map[uint64]field{1: str, 2: str}, long: maxProperty}
	opset := &message{name: "OperatorSetIdProto", fields: map[uint64]field{1: str, 2: one}}
	segment := &message{name: "Segment", fields: map[uint64]field{1: one, 2: one}}
	dimension := &message{name: "Dimension", fields: map[uint64]field{1: one, 2: str, 3: str}}
	shape := &message{name: "TensorShapeProto", fields: map[uint64]field{1: list(dimension)}}
	device := &message{name: "DeviceConfigurationProto", fields: map[uint64]field{1: str, 2: one, 3: strs}}
	group := &message{name: "IntIntListEntryProto", fields: map[uint64]field{1: one, 2: numbers}}
	simple := &message{name: "SimpleShardedDimProto", fields: map[uint64]field{1: one, 2: str, 3: one}}
	sharded := &message{name: "ShardedDimProto", fields: map[uint64]field{1: one, 2: list(simple)}}
	sharding := &message{name: "ShardingSpecProto", fields: map[uint64]field{1: str, 2: numbers, 3: list(group), 4: list(sharded)}}
	placed := &message{name: "NodeDeviceConfigurationProto", fields: map[uint64]field{1: str, 2: list(sharding), 3: one}}
	tensorType := &message{name: "Tensor", fields: map[uint64]field{1: one, 2: once(shape)}}
	holds := &message{name: "Sequence", fields: map[uint64]field{1: once(typeMsg)}}
	mapType := &message{name: "Map", fields: map[uint64]field{1: one, 2: once(typeMsg)}}
	opaque := &message{name: "Opaque", fields: map[uint64]field{1: str, 2: str}}

	model.fields = map[uint64]field{
		1: one, 2: str, 3: str, 4: str, 5: one, 6: str, 7: once(graph), 8: list(opset), 14: list(properties), 20: list(training), 25: list(function), 26: list(device),
	}
	graph.fields = map[uint64]field{
		1: list(node), 2: str, 5: list(array), 10: str, 11: list(valueInfo), 12: list(valueInfo), 13: list(valueInfo), 14: list(annotation),
		15: list(sparse), 16: entries,
	}
	node.fields = map[uint64]field{1: strs, 2: strs, 3: str, 4: str, 5: list(attribute), 6: str, 7: str, 8: str, 9: entries, 10: list(placed)}
	attribute.fields = map[uint64]field{
		1: str, 2: {kind: fixed32}, 3: one, 4: str, 5: once(array), 6: once(graph), 7: {kind: fixed32, many: true}, 8: numbers, 9: strs,
		10: list(array), 11: list(graph), 13: str, 14: once(typeMsg), 15: list(typeMsg), 20: one, 21: str, 22: once(sparse), 23: list(sparse),
	}
	array.fields = map[uint64]field{
		1: numbers, 2: one, 3: once(segment), 4: {kind: fixed32, many: true}, 5: numbers, 6: strs, 7: numbers, 8: str, 9: str,
		10: {kind: fixed64, many: true}, 11: numbers, 12: str, 13: list(external), 14: one, 16: entries,
	}
	valueInfo.fields = map[uint64]field{1: str, 2: once(typeMsg), 3: str, 4: entries}
	function.fields = map[uint64]field{
		1: str, 4: strs, 5: strs, 6: strs, 7: list(node), 8: str, 9: list(opset), 10: str, 11: list(attribute), 12: list(valueInfo), 13: str, 14: entries,
	}
	training.fields = map[uint64]field{1: once(graph), 2: once(graph), 3: entries, 4: entries}
	sparse.fields = map[uint64]field{1: once(array), 2: once(array), 3: numbers}
	typeMsg.fields = map[uint64]field{1: once(tensorType), 4: once(holds), 5: once(mapType), 6: str, 7: once(opaque), 8: once(tensorType), 9: once(holds)}
	annotation.fields = map[uint64]field{1: str, 2: entries}
	array.make = func() hook { return newArray() }
	external.make = func() hook { return &pair{} }
	properties.make = func() hook { return &property{} }
	node.make = func() hook { return &operator{} }
	function.make = func() hook { return &defined{} }
	return schema{model, array}
}
