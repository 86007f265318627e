package onnx

// A kind is the encoding of a field.
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
	kind     kind
	repeated bool // it may stand more than once
	of       *message
}

// A message describes the fields that a message may have, by number.
type message struct {
	name    string
	fields  map[uint64]field
	make    func() hook
	maxText uint64 // how much of a text is kept, 0 for maxText
}

var (
	scalarField = field{kind: number}
	scalarList  = field{kind: number, repeated: true}
	textField   = field{kind: text}
	textList    = field{kind: text, repeated: true}
)

func repeated(m *message) field { return field{kind: sub, repeated: true, of: m} }
func single(m *message) field   { return field{kind: sub, of: m} }

// A schema holds the messages, which refer to each other.
type schema struct{ model, array *message }

func newMessage(name string) *message { return &message{name: name} }

// newSchema returns the schema of onnx.proto.
func newSchema() schema {
	model, graph, node, attribute, array := newMessage("ModelProto"), newMessage("GraphProto"), newMessage("NodeProto"), newMessage("AttributeProto"), newMessage("TensorProto")
	valueInfo, function, training := newMessage("ValueInfoProto"), newMessage("FunctionProto"), newMessage("TrainingInfoProto")
	sparse, typeMsg, annotation := newMessage("SparseTensorProto"), newMessage("TypeProto"), newMessage("TensorAnnotation")
	external := &message{name: "StringStringEntryProto", fields: map[uint64]field{1: textField, 2: textField}}
	entries := repeated(&message{name: "StringStringEntryProto", fields: map[uint64]field{1: textField, 2: textField}})
	properties := &message{name: "StringStringEntryProto", fields: map[uint64]field{1: textField, 2: textField}, maxText: maxProperty}
	opset := &message{name: "OperatorSetIdProto", fields: map[uint64]field{1: textField, 2: scalarField}}
	segment := &message{name: "Segment", fields: map[uint64]field{1: scalarField, 2: scalarField}}
	dimension := &message{name: "Dimension", fields: map[uint64]field{1: scalarField, 2: textField, 3: textField}}
	shape := &message{name: "TensorShapeProto", fields: map[uint64]field{1: repeated(dimension)}}
	device := &message{name: "DeviceConfigurationProto", fields: map[uint64]field{1: textField, 2: scalarField, 3: textList}}
	group := &message{name: "IntIntListEntryProto", fields: map[uint64]field{1: scalarField, 2: scalarList}}
	simple := &message{name: "SimpleShardedDimProto", fields: map[uint64]field{1: scalarField, 2: textField, 3: scalarField}}
	sharded := &message{name: "ShardedDimProto", fields: map[uint64]field{1: scalarField, 2: repeated(simple)}}
	sharding := &message{name: "ShardingSpecProto", fields: map[uint64]field{1: textField, 2: scalarList, 3: repeated(group), 4: repeated(sharded)}}
	placed := &message{name: "NodeDeviceConfigurationProto", fields: map[uint64]field{1: textField, 2: repeated(sharding), 3: scalarField}}
	tensorType := &message{name: "Tensor", fields: map[uint64]field{1: scalarField, 2: single(shape)}}
	holds := &message{name: "Sequence", fields: map[uint64]field{1: single(typeMsg)}}
	mapType := &message{name: "Map", fields: map[uint64]field{1: scalarField, 2: single(typeMsg)}}
	opaque := &message{name: "Opaque", fields: map[uint64]field{1: textField, 2: textField}}

	model.fields = map[uint64]field{
		1: scalarField, 2: textField, 3: textField, 4: textField, 5: scalarField, 6: textField, 7: single(graph), 8: repeated(opset), 14: repeated(properties), 20: repeated(training), 25: repeated(function), 26: repeated(device),
	}
	graph.fields = map[uint64]field{
		1: repeated(node), 2: textField, 5: repeated(array), 10: textField, 11: repeated(valueInfo), 12: repeated(valueInfo), 13: repeated(valueInfo), 14: repeated(annotation),
		15: repeated(sparse), 16: entries,
	}
	node.fields = map[uint64]field{1: textList, 2: textList, 3: textField, 4: textField, 5: repeated(attribute), 6: textField, 7: textField, 8: textField, 9: entries, 10: repeated(placed)}
	attribute.fields = map[uint64]field{
		1: textField, 2: {kind: fixed32}, 3: scalarField, 4: textField, 5: single(array), 6: single(graph), 7: {kind: fixed32, repeated: true}, 8: scalarList, 9: textList,
		10: repeated(array), 11: repeated(graph), 13: textField, 14: single(typeMsg), 15: repeated(typeMsg), 20: scalarField, 21: textField, 22: single(sparse), 23: repeated(sparse),
	}
	array.fields = map[uint64]field{
		1: scalarList, 2: scalarField, 3: single(segment), 4: {kind: fixed32, repeated: true}, 5: scalarList, 6: textList, 7: scalarList, 8: textField, 9: textField,
		10: {kind: fixed64, repeated: true}, 11: scalarList, 12: textField, 13: repeated(external), 14: scalarField, 16: entries,
	}
	valueInfo.fields = map[uint64]field{1: textField, 2: single(typeMsg), 3: textField, 4: entries}
	function.fields = map[uint64]field{
		1: textField, 4: textList, 5: textList, 6: textList, 7: repeated(node), 8: textField, 9: repeated(opset), 10: textField, 11: repeated(attribute), 12: repeated(valueInfo), 13: textField, 14: entries,
	}
	training.fields = map[uint64]field{1: single(graph), 2: single(graph), 3: entries, 4: entries}
	sparse.fields = map[uint64]field{1: single(array), 2: single(array), 3: scalarList}
	typeMsg.fields = map[uint64]field{1: single(tensorType), 4: single(holds), 5: single(mapType), 6: textField, 7: single(opaque), 8: single(tensorType), 9: single(holds)}
	annotation.fields = map[uint64]field{1: textField, 2: entries}
	array.make = func() hook { return newArray() }
	external.make = func() hook { return &keyValue{} }
	properties.make = func() hook { return &metadataEntry{} }
	node.make = func() hook { return &nodeProto{} }
	function.make = func() hook { return &functionProto{} }
	return schema{model, array}
}
