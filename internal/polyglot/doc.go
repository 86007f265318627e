// Package polyglot finds out what else a file is besides a model: an archive, a pickle,
// harmless content. It detects files that two loaders would open as two different
// things, and decides which additional members a container may have.
//
// # Questions
//
//   - [Alias]: does another loader open the file as an archive, although it begins as
//     something else? Python's tarfile goes by the first block, Python's zipfile and
//     PyTorch's miniz by a record near the end.
//   - [TorchRecord]: is this a name that PyTorch's readers look up in an archive,
//     regardless of case?
//   - [Pickle]: do the bytes, run as a pickle without calling anything, reach a call or
//     the end?
//   - [Harmless]: is this a text, an image, a vocabulary, or other content that no loader
//     takes for a model? [Rules] lists the kinds. Harmless content matches a rule and is
//     neither an alias nor a pickle; content that matches no rule could hold a model.
//     A text is read to its end, and no pickle may begin inside it: at any byte of a
//     short text, after a line or at a multiple of 512 in a longer one. Every field of a
//     vocabulary must be in SentencePiece's schema.
//
// # Order and limits
//
// Alias reads the first block, then the last 64 KiB in windows, then the few bytes that each end
// record leads to; nothing is allocated. Harmless reads a text to its end, 64 KiB at a time, and
// charges one step for 64 bytes; a vocabulary is held in memory and costs one step per field.
// Pickle charges as package vm does, to an account of its own. Each loop advances through the file.
package polyglot
