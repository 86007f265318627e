// Package deepspeed reads checkpoints of DeepSpeed's ZeRO optimizer, stages 1 to 3, as one model of
// whole weights: a file latest that names a folder (global_step10), and in that folder the
// files zero_pp_rank_0_mp_rank_00_optim_states.pt, ..., one a process, with the parts of the float32
// weights, and mp_rank_00_model_states.pt, which says what they are parts of.
//
// Each file is a checkpoint of its own, which package pth proves. The classes of DeepSpeed that its
// pickles have are a set of package vm.
//
// # Tensors
//
// Names, types, shapes and numbers are those of DeepSpeed's zero_to_fp32: buffers of floats as float32,
// other buffers and weights that are not trained in the type that they have, the float32 weights of the optimizer, and shared
// weights once for each name. The state of the optimizer is not listed, nor are the weights in 16
// bits, which mp_rank_00_model_states.pt has as a file of its own.
//
// Stages 1 and 2 cut a group of weights, laid end to end, into one piece a process; stage 3 cuts
// each weight, and pads what a process has of it. Both are read in order where they are.
//
// # Rules
//
//   - latest holds the name of a folder beside it: DeepSpeed would follow a path out of it.
//   - The files are one per process, from 0 on, as many as each of them states, and all of one step.
//   - The pieces are as long as the shapes ask for; what is left is less than DeepSpeed's padding.
//   - All processes have groups of the same sizes. DeepSpeed would shift the weights of shorter ones.
//   - A weight has the shape that the module beside it has.
//   - No name is stated twice, and a shared weight names one that is there.
//
// # Order
//
// latest; the names in the folder; the files of the optimizer, by process; the files of the
// module, by process; the list of tensors. The number of files and of values in their pickles bounds
// the work.
//
// # Limits
//
//	MaxItems         those of the pickles, one per tensor and file
//	MaxTotalBytes    one pickle at a time; names, shapes, and 24 bytes per process and group
//	MaxSteps         one per member that is looked at, and per piece that is read
//	MaxExpandRatio   the bytes of all tensors
//	MaxOpenFiles     one per file
//
// # Not supported
//
// Model and pipeline parallelism (mp_rank_01, layer_00), experts, universal checkpoints, and
// tensors that are not stored row-major and little-endian.
package deepspeed
