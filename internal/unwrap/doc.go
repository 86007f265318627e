// Package unwrap says what bytes are besides a model: an archive, a compressed
// stream, a pickle, a text. It decides where two loaders could take one file for
// two things, and what may lie beside the parts of a model that a format
// explains.
//
// # What it decides
//
//   - [Alias]: another loader opens the file as an archive, though it begins as
//     something else: Python's tarfile by the first block, Python's zipfile or
//     PyTorch's miniz by a record near the end.
//   - [TorchRecord]: a name that PyTorch's reader looks up in an archive, whatever
//     the case of its letters.
//
// # Order and limits
//
// The first block, then the last 64 KiB in windows, then the few bytes that each
// end record leads to. Every step moves on through the last 64 KiB; nothing is
// allocated on the word of the file.
package unwrap
