// Package tfbundle reads checkpoints of TensorFlow (tf.train.Checkpoint, tf.train.Saver, Keras, the folder
// variables of a SavedModel): a file PREFIX.index, a table of LevelDB with an entry for each tensor, and
// the files PREFIX.data-00000-of-00001, ..., which hold the numbers. Beside them may be a file
// called checkpoint, a text that names the newest one.
//
// Format: tensorflow/core/util/tensor_bundle and tensorflow/core/protobuf/tensor_bundle.proto, as of TensorFlow
// 2.21. It has no reader without TensorFlow itself.
//
// # Tensors
//
// Names, types, shapes and numbers are those of tf.train.load_checkpoint. A variable in several
// parts (slices) is one tensor, read in order, row-major. Texts, such as the graph of objects that
// tf.train.Checkpoint keeps, are metadata. Quantized types, and those of fewer than eight bits, are listed.
//
// # Rules
//
//   - The tensors of a file follow each other from its first byte to its last, in some order.
//   - A tensor has as many bytes as its type and its shape ask for.
//   - The parts of a variable cover it exactly: without a gap, and without an overlap.
//   - Each entry is a tensor or a part of one; no field is unknown.
//   - A file called checkpoint names none outside of its folder. TensorFlow would read one there, and
//     CheckpointManager deletes those that are too many.
//
// # Order
//
// The file checkpoint, if it is asked; the index, entry by entry; the parts of variables; the files;
// the list of tensors. An entry is at least three bytes of a table.
//
// # Limits
//
//	MaxItems         one per entry, part and file
//	MaxTotalBytes    two blocks of the index at a time; names, shapes, and four bytes per cell of a variable in parts
//	MaxSteps         one per entry, field and dimension, and per cell of a variable in parts
//	MaxInflateRatio  compressed blocks of the index
//	MaxExpandRatio   the bytes of all tensors
//	MaxOpenFiles     one per file
//
// # Not supported
//
// Variants, whose decoders are code of the program that loads them, resources, and the format of TensorFlow
// before 0.12 (one file without an index).
package tfbundle
