// Package safetensors reads and writes safetensors files: eight bytes of
// length, a JSON header, the data.
//
// [Decode] gives a [File], which is a tensor.Model. [DecodeHeader] reads no more
// than the header of a plain [io.Reader], such as the body of a ranged request.
// [OpenIndex] and [OpenSharded] read a model of several files. [Layout] plans a
// file before its data is known, and [Encode] writes a model.
//
// # Order
//
// One stage after the other, each entered once: the length; the header's text,
// at most one read per 64 KiB; its JSON, entry by entry (package strictjson
// consumes a byte at least per step); the layout, one pass over the sorted
// entries; the aliases, one pass over the metadata and one over the names. So
// decoding ends, after time linear in the header but for the sort, which the
// files of today's writers do not need.
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
// What the reference library and other readers take differently is refused: a
// name that appears twice, also where escapes hide it; an entry with unknown
// fields, or that is no object; a header that does not begin with a brace;
// anything but spaces after it; numbers that are not plain integers; a shape
// whose elements overflow beside a dimension of zero; metadata that is neither an
// object of strings nor null. Tensors tile the data: no hole, no overlap, nothing after.
// An element type that is not known is listed, and refused only when it is read.
//
// Not asked: alignment of the data, which writers such as MLX do not give, and
// the values of tensors.
//
// # Not supported
//
// Nothing of the format to version 0.8, as its reference implementation defines
// it: https://github.com/huggingface/safetensors (README.md, section Format;
// safetensors/src/tensor.rs).
package safetensors
