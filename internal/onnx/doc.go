// Package onnx reads the structure of an ONNX model: that every byte of it belongs to
// a field that ONNX knows, where the data of its tensors lie, and which operators it
// wants. Nothing of a tensor's data is decoded.
//
// Format: onnx.proto of ONNX 1.23, ir_version 3 to 14; protobuf's encoding.
//
// # What must hold
//
//   - Each field is one of its message, of the type that it has there. A field that may
//     stand once stands once: readers merge or replace the second.
//   - Data that stand in the file are as long as type and shape say.
//   - Data outside of it lie in a file of the same folder or below it, whose name is the
//     same on every system, as many bytes as shape and type say.
//   - No operator runs Python or what was compiled before.
//
// # Order
//
// Messages are read from the beginning to the end, each inside of the length that is
// stated for it; every field moves on by two bytes at least.
//
// # Limits
//
//	MaxDepth   one level per message in a message
//	MaxItems   one per tensor and per operator
//	MaxSteps   one per field, and per number that is not packed by size
//
// # Not supported
//
// Groups; fields of later versions, which are named.
package onnx
