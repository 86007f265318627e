package onnx

import (
	"maps"

	pb "github.com/anamnesis-go/anamnesis/internal/protobuf"
)

// pairs are the fields of a message with a key and a value.
func pairs() map[uint64]pb.Field { return map[uint64]pb.Field{1: pb.Word, 2: pb.Word} }

// newSchema returns the message ModelProto of onnx.proto, whose hooks are those of d.
func newSchema(d *decoder) *pb.Message {
	model, heard := messages()
	for name, hook := range map[string]func() pb.Hook{
		"array":      func() pb.Hook { return newArray(d) },
		"segment":    func() pb.Hook { return &segmentProto{} },
		"external":   func() pb.Hook { return &keyValue{} },
		"properties": func() pb.Hook { return &metadataEntry{d: d} },
		"opset":      func() pb.Hook { return &opsetProto{} },
		"node":       func() pb.Hook { return &nodeProto{d: d} },
		"attribute":  func() pb.Hook { return &attributeProto{d: d} },
		"graph":      func() pb.Hook { return &graphProto{d: d} },
		"function":   func() pb.Hook { return &functionProto{d: d} },
		"training":   func() pb.Hook { return &trainingProto{d: d} },
		"sparse":     func() pb.Hook { return &sparseProto{d: d} },
		"value":      func() pb.Hook { return &dimsProto{} },
		"type":       func() pb.Hook { return &dimsProto{} },
		"tensor":     func() pb.Hook { return &dimsProto{} },
		"shape":      func() pb.Hook { return &dimsProto{} },
		"dimension":  func() pb.Hook { return &dimsProto{} },
	} {
		heard[name].Make = hook
	}
	return model
}

// messages returns ModelProto, and by name the messages in it that have hooks.
func messages() (model *pb.Message, heard map[string]*pb.Message) {
	named := func(name string) *pb.Message { return &pb.Message{Name: name} }
	model = named("ModelProto")
	graph, node, attribute, array := named("GraphProto"), named("NodeProto"), named("AttributeProto"), named("TensorProto")
	valueInfo, function, training := named("ValueInfoProto"), named("FunctionProto"), named("TrainingInfoProto")
	sparse, annotation := named("SparseTensorProto"), named("TensorAnnotation")
	typeMsg, typed := typeProto()
	entries := pb.Many(&pb.Message{Name: "StringStringEntryProto", Fields: pairs()})
	external, properties := &pb.Message{Name: "StringStringEntryProto", Fields: pairs()}, &pb.Message{Name: "StringStringEntryProto", Fields: pairs(), MaxText: maxProperty}
	opset, segment := &pb.Message{Name: "OperatorSetIdProto", Fields: map[uint64]pb.Field{1: pb.Word, 2: pb.Scalar}}, &pb.Message{Name: "Segment", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Scalar}}
	device := &pb.Message{Name: "DeviceConfigurationProto", Fields: map[uint64]pb.Field{1: pb.Word, 2: pb.Scalar, 3: pb.Words}}

	model.Fields = map[uint64]pb.Field{
		1: pb.Scalar, 2: pb.Word, 3: pb.Word, 4: pb.Word, 5: pb.Scalar, 6: pb.Word, 7: pb.One(graph), 8: pb.Many(opset), 14: pb.Many(properties), 20: pb.Many(training), 25: pb.Many(function), 26: pb.Many(device),
	}
	graph.Fields = map[uint64]pb.Field{
		1: pb.Many(node), 2: pb.Word, 5: pb.Many(array), 10: pb.Word, 11: pb.Many(valueInfo), 12: pb.Many(valueInfo), 13: pb.Many(valueInfo), 14: pb.Many(annotation),
		15: pb.Many(sparse), 16: entries,
	}
	node.Fields = map[uint64]pb.Field{1: pb.Words, 2: pb.Words, 3: pb.Word, 4: pb.Word, 5: pb.Many(attribute), 6: pb.Word, 7: pb.Word, 8: pb.Word, 9: entries, 10: pb.Many(placedProto())}
	floats, doubles := pb.Field{Kind: pb.Fixed32, Repeated: true}, pb.Field{Kind: pb.Fixed64, Repeated: true}
	attribute.Fields = map[uint64]pb.Field{
		1: pb.Word, 2: {Kind: pb.Fixed32}, 3: pb.Scalar, 4: pb.Word, 5: pb.One(array), 6: pb.One(graph), 7: floats, 8: pb.Scalars, 9: pb.Words,
		10: pb.Many(array), 11: pb.Many(graph), 13: pb.Word, 14: pb.One(typeMsg), 15: pb.Many(typeMsg), 20: pb.Scalar, 21: pb.Word, 22: pb.One(sparse), 23: pb.Many(sparse),
	}
	array.Fields = map[uint64]pb.Field{
		fieldDims: pb.Scalars, fieldType: pb.Scalar, fieldSegment: pb.One(segment), fieldFloats: floats, fieldInt32s: pb.Scalars, fieldTexts: pb.Words, fieldInt64s: pb.Scalars,
		fieldName: pb.Word, fieldRaw: {Kind: pb.Text, Place: true}, fieldDoubles: doubles, fieldUint64s: pb.Scalars, 12: pb.Word, fieldExternal: pb.Many(external), fieldLocation: pb.Scalar, 16: entries,
	}
	valueInfo.Fields = map[uint64]pb.Field{1: pb.Word, 2: pb.One(typeMsg), 3: pb.Word, 4: entries}
	function.Fields = map[uint64]pb.Field{
		1: pb.Word, 4: pb.Words, 5: pb.Words, 6: pb.Words, 7: pb.Many(node), 8: pb.Word, 9: pb.Many(opset), 10: pb.Word, 11: pb.Many(attribute), 12: pb.Many(valueInfo), 13: pb.Word, 14: entries,
	}
	training.Fields, sparse.Fields = map[uint64]pb.Field{1: pb.One(graph), 2: pb.One(graph), 3: entries, 4: entries}, map[uint64]pb.Field{1: pb.One(array), 2: pb.One(array), 3: pb.Scalars}
	annotation.Fields = map[uint64]pb.Field{1: pb.Word, 2: entries}

	heard = map[string]*pb.Message{"array": array, "segment": segment, "external": external, "properties": properties, "opset": opset, "node": node, "attribute": attribute, "graph": graph, "function": function, "training": training, "sparse": sparse, "value": valueInfo}
	maps.Copy(heard, typed)
	return model, heard
}

// typeProto returns TypeProto, which may hold itself, and the messages in which it says a shape.
func typeProto() (*pb.Message, map[string]*pb.Message) {
	typeMsg := &pb.Message{Name: "TypeProto"}
	dimension := &pb.Message{Name: "Dimension", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Word, 3: pb.Word}}
	shape := &pb.Message{Name: "TensorShapeProto", Fields: map[uint64]pb.Field{1: pb.Many(dimension)}}
	tensorType := &pb.Message{Name: "Tensor", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.One(shape)}}
	holds := &pb.Message{Name: "Sequence", Fields: map[uint64]pb.Field{1: pb.One(typeMsg)}}
	mapType := &pb.Message{Name: "Map", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.One(typeMsg)}}
	opaque := &pb.Message{Name: "Opaque", Fields: map[uint64]pb.Field{1: pb.Word, 2: pb.Word}}
	typeMsg.Fields = map[uint64]pb.Field{1: pb.One(tensorType), 4: pb.One(holds), 5: pb.One(mapType), 6: pb.Word, 7: pb.One(opaque), 8: pb.One(tensorType), 9: pb.One(holds)}
	return typeMsg, map[string]*pb.Message{"type": typeMsg, "tensor": tensorType, "shape": shape, "dimension": dimension}
}

// placedProto returns NodeDeviceConfigurationProto.
func placedProto() *pb.Message {
	group := &pb.Message{Name: "IntIntListEntryProto", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Scalars}}
	simple := &pb.Message{Name: "SimpleShardedDimProto", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Word, 3: pb.Scalar}}
	sharded := &pb.Message{Name: "ShardedDimProto", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Many(simple)}}
	sharding := &pb.Message{Name: "ShardingSpecProto", Fields: map[uint64]pb.Field{1: pb.Word, 2: pb.Scalars, 3: pb.Many(group), 4: pb.Many(sharded)}}
	return &pb.Message{Name: "NodeDeviceConfigurationProto", Fields: map[uint64]pb.Field{1: pb.Word, 2: pb.Many(sharding), 3: pb.Scalar}}
}
