// Package convert converts models of any size between formats, in bounded memory.
//
//	p, err := convert.NewPlan(b, m, convert.Options{Quant: quant.Options{Target: quant.BF16}})
//	result, err := p.Write("out.safetensors", false)
//
// A [Plan] binds the tensors of a model to weights and asks a [Sink] (an output format:
// [Safetensors], [GGUF], [NPZ]) how to store them. [Options].Quantize selects a quantized
// target, a row of quant.Targets or a ggml.Quantizer. Package forms converts models to
// the forms of other libraries. The output has the same bytes for any number of workers.
package convert

// # Data flow
//
// A model may be made of another one before it gets here: package forms and [Names] return models
// of package internal/model, whose tensors are computed when they are read. A plan reads the facts
// of such a model (what it was decoded from, what stays unchanged), and otherwise treats it like a
// file.
//
// Package quant binds the tensors of a model to logical weights. Each weight becomes an
// [Out], or several if the target stores it in parts. An Out has a size that is known
// before any body is read. A [Sink] lays the outs out in files and provides the bytes
// before, between and after them. Then workers take ranges of the outs: each reads the
// source bytes of its range, decodes them, and writes the result at its offset. The
// order does not matter, so the bytes are the same for any number of workers and any
// size of tile.
//
//	NewPlan      bind, ask the sink, prove that every size fits
//	Plan.Stream  ranges to any io.WriterAt
//	Plan.Write   a temporary file, ranges, sync, rename
//
// # Order
//
// A plan is a list of tasks. Each task has a number of units (rows, or bytes) that are
// handed out once, in order, so a stream ends when all are done. The failure that comes
// first in that order is returned, whichever worker failed first.
//
// The CRC of an archive's members is checked while they are copied. Members that no
// tensor uses are read just for the check.
//
// # Limits
//
//	MaxTotalBytes   headers and names of what is written; buffers while they live
//	MaxExpandRatio  decoded weights, at NewPlan
//
// A worker holds a tile of input, a tile of output and scratch: at most 3 MiB, unless
// rows are longer. At most two workers write to one file at a time, because the system
// serializes writes to a file. A part that every range needs whole is held once, for one
// weight at a time. If the rows of a weight are columns of the stored tensor (GPTQ, AWQ)
// and it has more than 16 MiB, it is read in strips of columns of 16 MiB. A worker
// whose buffers do not fit the account is not started.
//
// A weight that is encoded in blocks is split at rows that end with a block. If bitsandbytes'
// scales are quantized too, a piece has 16,384 numbers for blocks of 64, and more if blocks and
// rows do not align; beyond two million numbers the scales are held in memory instead. Such a
// weight is read twice, because the mean of its scales is part of a text, and the header needs the
// length of that text.
//
// # Resuming
//
// With [Options].Resume, each range that was written has a line in a journal, with its digest,
// and a failure that may pass leaves the unfinished output and the journal. A plan of the same
// outputs from the same files reads both: ranges whose bytes have their digests are done, and
// all others are written. The last part of a weight, and weights of which an encoding holds
// something over several ranges, are done again unless all of it is there. Bytes between
// tensors are written again. At the end each byte of each tensor must have been written once.
//
// # Not supported
//
// Quantized weights whose parts are stored big-endian or as views that are not
// row-major.
