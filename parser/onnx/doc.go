// Package onnx checks the structure of an ONNX model: every byte belongs to a field that
// ONNX defines, the data of tensors are in allowed places, and the operators are known to be
// harmless. It decodes no tensor.
//
// Format: onnx.proto of ONNX 1.23, ir_version 3 to 14, in protobuf's encoding.
//
// # Rules
//
//   - Each field belongs to its message and has the type defined there. A field that is
//     not repeated appears once, because readers merge or replace a second one.
//   - Data in the file are as long as type and shape require.
//   - External data are in a file of the same folder or below it, whose name means the
//     same on every system, and are as long as type and shape require.
//   - No operator runs Python or compiled code.
//
// # Order
//
// Messages are read from beginning to end, each within its stated length; every field
// has at least two bytes.
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
