// Package pth reads PyTorch checkpoints: what torch.save writes, as a ZIP
// archive (since PyTorch 1.6) or as five pickles and raw storages (before, and
// still on request). The pickle runs in package vm, where nothing is called;
// this package says which bytes each tensor is a view of, and proves it.
//
// # Names
//
// A tensor is called by the keys, positions and attributes that lead to it,
// joined with dots: "state_dict.layer.0.weight", "optimizer.state.0.exp_avg"; one
// that is the whole checkpoint is "tensor". The parts of a sparse, quantized or nested
// tensor stand beside it (NAME.indices, NAME.scales, NAME.offsets, ...). Where two
// tensors would share a name both get an exact one, and a finding says so.
//
// # Tensors
//
// Tensors of one storage have the same Info.Storage. A view that is not row-major
// has strides, and its span is the whole storage. Everything that is no tensor is
// metadata ([File.Meta]).
//
// # Tensors only
//
// With the quirk [QuirkTensorsOnly] a pickle may name, call and change what nobody here
// knows: nothing is run, the tensors are read as they are stored, and findings
// (pth.not-understood) name the rest. An object is a step of the path to what its
// attributes hold; one that is a torch.nn.Module has the tensors of its state dict under
// the names that they have there, and no others. What its code would have made of them, nobody looks at.
//
// # Limits
//
//	MaxItems        one per member, tensor and metadata leaf, and those of vm
//	MaxTotalBytes   names, shapes, descriptions, 40 to 80 bytes per storage
//	MaxWorkingSet   the pickle machine
//	MaxExpandRatio  bytes of every tensor, each alias counted, at Decode
//	MaxSteps        16 per value of the walk, one per index at Verify
//	MaxDepth        nesting of values
//	dimensions      64, what torch's kernels take
//
// # Not supported
//
// By name: tar archives of PyTorch 0.1, TorchScript, PT2 (torch.export),
// torch.package, encrypted archives, deflated records, plain pickles. Sparse tensors
// are not made dense.
package pth

// The rest of this page is for who changes the reader.
//
// There is no specification. The layout is that of torch/serialization.py,
// torch/_utils.py and caffe2/serialize/inline_container.cc of PyTorch 2.15, and
// of the versions before it.
//
// # Layouts
//
// An archive holds, in one folder: data.pkl, the pickle; data/KEY for each
// storage, stored and never deflated; version or .data/version (1 to 10);
// byteorder (little, big, or no such record for little); .format_version,
// .storage_alignment and .data/serialization_id. Another member is a finding if
// it is a note (what package unwrap calls harmless) of at most 1 MiB, and refuses
// the file if it is not. Names that differ from these in case alone are refused:
// the reader of torch takes them for these.
// Every storage that the pickle names must be there with exactly the bytes that
// its element count says, and no other may be.
//
// A legacy file is the pickles of a magic number, a protocol, the system, the
// checkpoint, and the keys of the storages; then for each key a count of 8 bytes
// and the storage. Storages are little endian on every machine, so a system that
// is not changes only how old files count.
//
// # Names
//
// A tensor is called by the keys, positions and attributes that lead to it,
// joined with dots: "state_dict.layer.0.weight", "optimizer.state.0.exp_avg". A
// tensor that is the whole checkpoint is called "tensor". A sparse tensor is
// listed by its parts (NAME.indices, NAME.values; NAME.crow_indices and so on),
// scales of a quantized one beside it (NAME.scales, NAME.zero_points), a nested
// one as NAME.buffer, NAME.sizes, NAME.strides, NAME.offsets.
//
// If two tensors of a file would share a name, both are called by an exact path
// instead, and a finding says so: a dot, backslash, bracket or at sign in a key
// has a backslash before it, positions and keys that are no text stand in
// brackets, attributes have an at sign. {"a": {"b": x}, "a.b": y} gives "a.b"
// and "a\.b"; {0: x, "0": y} gives "[0]" and "0". Two tensors that share a name
// even then make the file malformed.
//
// # Tensors
//
// Tensors of one storage have the same Info.Storage. A view that is not
// row-major has strides, and its span is the whole storage. Conjugate and
// negative views are resolved as they are read, so they are read in order only
// and their storage has a name of its own. A tensor of a quantized type has a
// quantizer, and no other has. Everything that is no tensor is metadata
// ([File.Meta]).
//
// A tensor has one origin: what a Parameter is made of, or its state. A tensor that
// is an argument has no attributes, since what is made of it does not keep them. One
// storage has one type and one location, and none is on the device meta, where torch
// reads no bytes. In a big endian file a tensor's elements are as wide as those of
// its storage, which torch turns around. Metadata of a view says True or nothing:
// torch negates for neg: False, too. What cannot require a gradient does not.
//
// # Order
//
// [Decode] goes through these stages: first bytes, archive or the three pickles
// before the checkpoint, the pickle of the checkpoint, persistent ids, keys of a
// legacy file, records without a reference, tensors. Each stage runs once. The
// walk over the values is charged 16 steps a value, since a pickle can refer to
// one container many times; it ends because no value contains itself. Decode
// reads the archive's directory, each local header, the small records and the
// pickle; of a legacy file the pickles and the counts.
//
// # Not supported
//
// By name: tar archives of PyTorch 0.1, TorchScript, PT2 (torch.export),
// torch.package, encrypted archives, deflated records, 7z and other wrappers,
// plain pickles; views of packed quantized types; casts of tensors whose device
// has no storages. Sparse tensors are not made dense. The parts of a nested tensor
// must agree in their shapes; what its sizes and offsets say of the buffer is not
// looked at.
