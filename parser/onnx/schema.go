package onnx

import (
	pb "github.com/anamnesis-go/anamnesis/internal/protobuf"
)

// pairs are the fields of a message with a key and a value.
func pairs() map[uint64]pb.Field { return map[uint64]pb.Field{1: pb.Word, 2: pb.Word} }

// newSchema returns the message ModelProto of onnx.proto, whose hooks are those of d.
func newSchema(d *decoder) *pb.Message {
	named := func(name string) *pb.Message { return &pb.Message{Name: name} }
	model, graph, node, attribute, array := named("ModelProto"), named("GraphProto"), named("NodeProto"), named("AttributeProto"), named("TensorProto")
	valueInfo, function, training := named("ValueInfoProto"), named("FunctionProto"), named("TrainingInfoProto")
	sparse, typeMsg, annotation := named("SparseTensorProto"), named("TypeProto"), named("TensorAnnotation")
	external := &pb.Message{Name: "StringStringEntryProto", Fields: pairs()}
	entries := pb.Many(&pb.Message{Name: "StringStringEntryProto", Fields: pairs()})
	properties := &pb.Message{Name: "StringStringEntryProto", Fields: pairs(), MaxText: maxProperty}
	opset := &pb.Message{Name: "OperatorSetIdProto", Fields: map[uint64]pb.Field{1: pb.Word, 2: pb.Scalar}}
	segment := &pb.Message{Name: "Segment", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Scalar}}
	dimension := &pb.Message{Name: "Dimension", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Word, 3: pb.Word}}
	shape := &pb.Message{Name: "TensorShapeProto", Fields: map[uint64]pb.Field{1: pb.Many(dimension)}}
	device := &pb.Message{Name: "DeviceConfigurationProto", Fields: map[uint64]pb.Field{1: pb.Word, 2: pb.Scalar, 3: pb.Words}}
	group := &pb.Message{Name: "IntIntListEntryProto", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Scalars}}
	simple := &pb.Message{Name: "SimpleShardedDimProto", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Word, 3: pb.Scalar}}
	sharded := &pb.Message{Name: "ShardedDimProto", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Many(simple)}}
	sharding := &pb.Message{Name: "ShardingSpecProto", Fields: map[uint64]pb.Field{1: pb.Word, 2: pb.Scalars, 3: pb.Many(group), 4: pb.Many(sharded)}}
	placed := &pb.Message{Name: "NodeDeviceConfigurationProto", Fields: map[uint64]pb.Field{1: pb.Word, 2: pb.Many(sharding), 3: pb.Scalar}}
	tensorType := &pb.Message{Name: "Tensor", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.One(shape)}}
	holds := &pb.Message{Name: "Sequence", Fields: map[uint64]pb.Field{1: pb.One(typeMsg)}}
	mapType := &pb.Message{Name: "Map", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.One(typeMsg)}}
	opaque := &pb.Message{Name: "Opaque", Fields: map[uint64]pb.Field{1: pb.Word, 2: pb.Word}}

	model.Fields = map[uint64]pb.Field{
		1: pb.Scalar, 2: pb.Word, 3: pb.Word, 4: pb.Word, 5: pb.Scalar, 6: pb.Word, 7: pb.One(graph), 8: pb.Many(opset), 14: pb.Many(properties), 20: pb.Many(training), 25: pb.Many(function), 26: pb.Many(device),
	}
	graph.Fields = map[uint64]pb.Field{
		1: pb.Many(node), 2: pb.Word, 5: pb.Many(array), 10: pb.Word, 11: pb.Many(valueInfo), 12: pb.Many(valueInfo), 13: pb.Many(valueInfo), 14: pb.Many(annotation),
		15: pb.Many(sparse), 16: entries,
	}
	node.Fields = map[uint64]pb.Field{1: pb.Words, 2: pb.Words, 3: pb.Word, 4: pb.Word, 5: pb.Many(attribute), 6: pb.Word, 7: pb.Word, 8: pb.Word, 9: entries, 10: pb.Many(placed)}
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
	training.Fields = map[uint64]pb.Field{1: pb.One(graph), 2: pb.One(graph), 3: entries, 4: entries}
	sparse.Fields = map[uint64]pb.Field{1: pb.One(array), 2: pb.One(array), 3: pb.Scalars}
	typeMsg.Fields = map[uint64]pb.Field{1: pb.One(tensorType), 4: pb.One(holds), 5: pb.One(mapType), 6: pb.Word, 7: pb.One(opaque), 8: pb.One(tensorType), 9: pb.One(holds)}
	annotation.Fields = map[uint64]pb.Field{1: pb.Word, 2: entries}

	array.Make = func() pb.Hook { return newArray(d) }
	segment.Make = func() pb.Hook { return &segmentProto{} }
	external.Make = func() pb.Hook { return &keyValue{} }
	properties.Make = func() pb.Hook { return &metadataEntry{d: d} }
	opset.Make = func() pb.Hook { return &opsetProto{} }
	node.Make = func() pb.Hook { return &nodeProto{d: d} }
	attribute.Make = func() pb.Hook { return &attributeProto{d: d} }
	graph.Make = func() pb.Hook { return &graphProto{d: d} }
	function.Make = func() pb.Hook { return &functionProto{d: d} }
	training.Make = func() pb.Hook { return &trainingProto{d: d} }
	sparse.Make = func() pb.Hook { return &sparseProto{d: d} }
	return model
}
