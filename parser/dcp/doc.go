// Package dcp reads distributed checkpoints of PyTorch (torch.distributed.checkpoint, which FSDP,
// torchtitan, Megatron and NeMo write too): a folder with .metadata, a pickle that says which
// part of which tensor is where, and the files __0_0.distcp, __1_0.distcp, ..., which hold the parts one
// after another, each as torch.save writes it.
//
// Package vm runs the pickle without calling anything: the classes of the library are a set of names
// with the states that they have. Each part is a checkpoint of its own, which package pth proves.
//
// # Names
//
// A tensor has the name that the library gives it: the keys that lead to it in the state dict,
// joined with dots. Other values are metadata under such names; the tensors inside of one have its
// name before their own. All are those of torch.distributed.checkpoint.format_utils.dcp_to_torch_save.
//
// # Tensors
//
// A tensor in one part is where that part has it. One of several parts is read in order, row-major,
// put together of its parts. Parts without elements are none.
//
// # Rules
//
//   - The parts of a tensor cover it exactly: without a gap, and without an overlap.
//   - A part has the type and the shape that .metadata states; the library would convert it.
//   - The parts of a file follow each other from its first byte to its last.
//   - A file is named by its plain name, and ends in .distcp.
//   - Each place of .metadata belongs to one part.
//
// # Order
//
// .metadata; its places, by file; its tensors and their parts; the files, each part once, in
// order. The number of parts bounds the work, and a part is at least a byte of a pickle.
//
// # Limits
//
//	MaxItems         those of the pickles, one per tensor, part and place
//	MaxTotalBytes    the pickle of .metadata, shapes, names, and four bytes per cell of a tensor's grid
//	MaxSteps         one per part, and per cell of a grid
//	MaxExpandRatio   the bytes of all tensors
//	MaxOpenFiles     one per file
//
// # Not supported
//
// Parts that an extension compressed or encrypted, parts of types without a whole number of
// bytes, and conjugate views. Files that the library writes as safetensors hold pieces of
// tensors too, and are not put together: each is read as it is.
package dcp
