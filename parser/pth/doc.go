// Package pth reads PyTorch checkpoints: what torch.save writes, as a ZIP
// archive (since PyTorch 1.6) or as five pickles and raw storages (before, and
// still on request). Package vm runs the pickle without calling anything; this
// package finds and checks the bytes of each tensor.
//
// # Names
//
// The name of a tensor is the path to it: keys, positions and attributes joined with
// dots, such as "state_dict.layer.0.weight" or "optimizer.state.0.exp_avg". A checkpoint
// that is a single tensor has the name "tensor". A sparse, quantized or nested tensor is
// listed by its parts (NAME.indices, NAME.scales, NAME.offsets, ...). Two tensors that
// would share a name both get an exact one, and a finding.
//
// # Tensors
//
// Tensors that share a storage have the same Info.Storage. A view that is not row-major
// has strides, and its span is the whole storage. All other values are metadata
// ([File.Meta]).
//
// # Tensors only
//
// With the quirk [QuirkTensorsOnly] a pickle may name, call and change objects of unknown
// classes. Nothing is run: the tensors are read as they are stored, and findings
// (pth.not-understood) name everything else. The attributes of an object are part of the
// path. An object that is a torch.nn.Module has exactly the tensors of its state dict,
// under the names that they have there. Changes that its code would make are ignored.
//
// # TorchScript
//
// Of a program, the constants of its code are CONSTANTS.c0 and so on. Code that does more
// than compute is a danger: findings pth.script-*.
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
// By name: tar archives of PyTorch 0.1, PT2 (torch.export), torch.package,
// encrypted archives, deflated records, plain pickles. Sparse tensors are not
// made dense.
package pth

// The rest of this page is for those who change the reader.
//
// There is no specification. The layout is that of torch/serialization.py,
// torch/_utils.py and caffe2/serialize/inline_container.cc of PyTorch 2.15, and
// of the versions before it.
//
// # Layouts
//
// An archive holds, in one folder: data.pkl, the pickle; data/KEY for each
// storage, stored and never deflated; version or .data/version (1 to 10);
// byteorder (little or big; little if there is none); .format_version,
// .storage_alignment and .data/serialization_id. Another member with harmless content
// (see package polyglot) of at most 1 MiB is a finding; any other member makes the file
// refused. So does a name that differs from these only in case, because torch's reader
// ignores case. Every storage that the pickle names must be there, with exactly the
// bytes of its element count, and there may be no other storage.
//
// A legacy file is the pickles of a magic number, a protocol, the system, the
// checkpoint, and the keys of the storages; then for each key a count of 8 bytes
// and the storage. Storages are little-endian on every machine; the byte order that the
// third pickle states matters only for the counts of old files.
//
// # Names
//
// The parts of a sparse tensor are NAME.indices and NAME.values, or NAME.crow_indices
// and so on; those of a quantized one NAME.scales and NAME.zero_points beside NAME;
// those of a nested one NAME.buffer, NAME.sizes, NAME.strides and NAME.offsets.
//
// If two tensors of a file would share a name, both get an exact path instead, and a
// finding: a dot, backslash, bracket or at sign in a key is escaped with a backslash,
// positions and keys that are not text are in brackets, and attributes begin with an
// at sign. {"a": {"b": x}, "a.b": y} gives "a.b" and "a\.b"; {0: x, "0": y} gives "[0]"
// and "0". A file in which two tensors share even the exact path is malformed.
//
// # Tensors
//
// Conjugate and negative views are resolved while they are read, so they are read only
// in order, and their storage has its own name. A tensor has a quantizer exactly if its
// type is a quantized one.
//
// A tensor has one origin: the arguments of a Parameter, or its state. A tensor that is
// an argument of a call has no attributes, because the result would not keep them. A
// storage has one type and one location. The location is not the device meta, for which
// torch reads no bytes. In a big-endian file the elements of a tensor are as wide as
// those of its storage, because torch swaps the storage. The metadata of a view has only
// the value True: torch negates a view with neg: False, too. requires_grad is true
// only for types that can have a gradient.
//
// # Order
//
// [Decode] goes through these stages: first bytes, archive or the three pickles
// before the checkpoint, the pickle of the checkpoint, persistent ids, keys of a
// legacy file, records without a reference, tensors. Each stage runs once. The
// walk over the values is charged 16 steps per value, since a pickle can refer to
// one container many times; it ends because no value contains itself. Of an archive
// Decode reads the directory, each local header, the small records and the pickle; of
// a legacy file it reads the pickles and the counts.
//
// # Not supported
//
// By name: tar archives of PyTorch 0.1, PT2 (torch.export), torch.package,
// encrypted archives, deflated records, 7z and other wrappers,
// plain pickles; views of packed quantized types; casts of tensors on a device
// without storages. Sparse tensors are not made dense. The shapes of the parts of a
// nested tensor must agree; its sizes and offsets are not compared with the buffer.
