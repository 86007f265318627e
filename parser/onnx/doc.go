// Package onnx reads the tensors of ONNX models, and proves the structure around them: every
// byte belongs to a field that ONNX defines, the data of tensors are in allowed places, and
// the operators are known to be harmless. No operator is run.
//
// Format: onnx.proto of ONNX 1.23, ir_version 3 to 14, in protobuf's encoding, which package
// internal/protobuf reads.
//
// # Names
//
// An initializer of the model's graph has its own name. Any other tensor has the way to it,
// with slashes: the first output of an operator, the attribute, a number in a list, the
// name. The constant of an operator Constant is called like its output; what a function
// holds begins with DOMAIN:NAME.
//
// # Data
//
// Raw data, external data, and numbers of one size in one piece are read from the file at any
// offset. Other numbers are read in order, as raw_data would have them, and so are sparse
// tensors, with their zeros. Integers of two and four bits are read one a byte. None of this
// is read by [Decode], or held in memory.
//
// # Rules
//
//   - Each field belongs to its message and has the type defined there. A field that is
//     not repeated appears once, because readers merge or replace a second one.
//   - A tensor has its data in one place, in the field of its type, as long as type and shape
//     require, and each number fits the type.
//   - External data are in a file of the same folder or below it, whose name means the
//     same on every system, and are as long as type and shape require. Two tensors share a
//     range or nothing. [File.Attach] proves what needs these files.
//   - No two tensors have one name.
//   - No operator runs Python or compiled code.
//
// # Order
//
// First all messages, from beginning to end; then the operators that no library of the
// format has; then the names. Each stage is one step, besides those of the messages.
//
// # Limits
//
//	MaxDepth        one level per message in a message
//	MaxItems        one per tensor, per operator and per pair of metadata
//	MaxSteps        one per field, per number that is not packed by size, and per level of a name
//	MaxTotalBytes   names, shapes, metadata
//	MaxExpandRatio  sparse tensors as they are read; external data
//
// # Not supported
//
// Groups; fields of later versions, which are named. Segments. Strings and floats of six bits
// are listed. A sparse tensor of elements smaller than a byte.
package onnx
