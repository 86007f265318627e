// Package safetensors reads and writes safetensors files: eight bytes of
// length, a JSON header, the data.
//
// [Decode] returns a [File], which is a tensor.Model. [DecodeHeader] reads just the
// header from an [io.Reader], such as the body of a ranged request. [OpenIndex] and
// [OpenSharded] read a model of several files. [Layout] plans a file before its data
// is known, and [Encode] writes a model.
//
// # Order
//
// Each stage is entered once: the length; the header's text, in reads of up to
// 64 KiB; its JSON, entry by entry (each step of package strictjson consumes a byte);
// the layout, in one pass over the sorted entries; the aliases, in one pass over the
// metadata and one over the names. Time is linear in the size of the header, except
// for the sort, which files in the usual order skip.
//
// # Limits
//
//	header      100,000,000 bytes: the format's own ceiling
//	bytes       the header's text, 128 per tensor, 8 per dimension, about 20
//	            per name (duplicate check), 32 to 100 per entry of the metadata
//	items       4 per tensor, 1 per entry of the metadata
//	steps       one per JSON value and name
//	depth       3
//
// # Strict
//
// Everything that the reference library and other readers interpret differently is
// refused: a duplicate name, even if escapes hide it; an entry that has unknown fields
// or is not an object; a header that does not begin with a brace; anything but spaces
// after it; numbers that are not plain integers; a shape whose product overflows
// although one dimension is zero; metadata that is neither null nor an object of
// strings. Tensors tile the data: no hole, no overlap, nothing after the last one.
// A tensor of an unknown element type is listed, and refused when it is read.
//
// Not checked: the values of tensors, and the alignment of the data, which writers
// such as MLX do not keep.
//
// # Not supported
//
// All of the format up to version 0.8 is supported. The specification is its reference
// implementation: https://github.com/huggingface/safetensors (README.md, section
// Format; safetensors/src/tensor.rs).
package safetensors
