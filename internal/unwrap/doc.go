// Package unwrap says what bytes are besides a model: an archive, a pickle, a
// note. It decides where two loaders could take one file for two things, and what
// may lie beside the parts of a model that a format explains.
//
// # What it decides
//
//   - [Alias]: another loader opens the file as an archive, though it begins as
//     something else: Python's tarfile by the first block, Python's zipfile or
//     PyTorch's miniz by a record near the end.
//   - [TorchRecord]: a name that PyTorch's readers look up in an archive, whatever
//     the case of its letters.
//   - [Pickle]: running the bytes as a pickle, with nothing called, comes to a call
//     or to an end.
//   - [Harmless]: a text, an image, a vocabulary: content that no loader takes for a
//     model. [Rules] lists the kinds. It is named by a rule of its own and is neither
//     an alias nor a pickle; what no rule names could hold a model.
//
// # Order and limits
//
// Alias reads the first block, then the last 64 KiB in windows, then the few
// bytes that each end record leads to; nothing is allocated. Harmless reads a text
// to its end, 64 KiB at a time, one step for 64 bytes, and a vocabulary one step
// for each piece. Pickle costs what package vm says, under an account of its own.
// Each loop moves on through the file.
package unwrap
