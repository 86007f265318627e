// Package tflite reads the tensors of models of TensorFlow Lite, which is called LiteRT today, and
// says which operators their programs have.
//
// # Tensors
//
// The tensors are those with data: weights and constants. Their names are the model's own. Tensors
// of another graph than the first are under its name: loop_body/w. The runtime counts tensors and
// does not need names, so two may have one name: the second and later ones get their number in
// their graph, as in w#7, and one without a name is called by that alone.
//
// Numbers of two and four bits are read as one number a byte, as in package onnx. Texts, variants
// and sparse tensors are listed only.
//
// A tensor whose numbers are codes is followed by the scales and zero points of its
// quantization, under its name with /scale and /zero_point: the file has them in the tensor's own
// description. [File.Quantized] says how they belong together, and package quant/tflite decodes
// them.
//
// # Rules
//
//   - FlatBuffers as package flatbuffers proves them, by the schema of ai-edge-litert. A field that
//     this schema does not have is refused: readers ignore it, and what it means is not known.
//
//   - The data of a tensor are as long as its type and shape say. They are in the buffer itself, or
//     at an offset of the file behind the FlatBuffers, never both.
//
//   - Two tensors share their data wholly or not at all.
//
//   - An operator names a code that exists. One that is not the runtime's own is the finding
//     tflite.operator, which the default policy of the gate refuses. Its inputs and outputs are tensors of
//     its graph, and its options have the numbers with which kernels do not divide by zero or leave their
//     lists: strides, dilations, filters, blocks, parts. Options that a kernel needs are there.
//
//   - No graph calls itself, through IF, WHILE and the others that call one, and the calls stay few if
//     each is followed. What a WHILE repeats is said by data, so that nothing proves that it ends: it is
//     the finding tflite.loop, a warning.
//
//   - Behind the FlatBuffers are data of buffers, the zeros of an alignment, and perhaps one ZIP
//     archive to the end of the file; nothing else.
//
// # Order
//
// [Decode] goes through these stages: the head, all that the schema reaches, operators by code,
// buffers, tensors and operators of each graph, which graphs they call, spans, what is behind the FlatBuffers. Each stage runs once, and loops over what
// the stages before have proven. Bodies are not read.
//
// # Limits
//
//	dimensions       64
//	MaxItems         tensors, buffers and operators
//	MaxExpandRatio   bytes of tensors, each as often as a tensor has them
//
// # Not supported
//
// By name: sparse tensors, quantization in blocks and along several axes, external buffers in
// other files. A model whose metadata pack files behind it is also a ZIP archive: the model is
// read, and the gate judges each file.
package tflite
