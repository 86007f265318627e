// Package convert converts models of any size between formats, in bounded memory.
//
//	p, err := convert.NewPlan(b, m, convert.Options{Quant: quant.Options{Target: quant.BF16}})
//	if err != nil {
//		return err // nothing has been written
//	}
//	result, err := p.Write("out.safetensors", false)
//
// A [Plan] binds the tensors of a model to weights and asks a [Sink] (an output format:
// [Safetensors], [GGUF], [NPZ]) how to store them. [Options].Quantize selects a quantized
// target: [Bnb], [GGML], [Grouped], [Scaled]. [LlamaCPP] converts a transformers folder to
// a file that llama.cpp runs, and [Transformers] converts back. The output has the same
// bytes for any number of workers.
package convert

// # The way of the data
//
// A model's tensors are bound to logical weights by package quant. Each becomes
// an [Out], or several where the target stores a weight in parts: what is
// written, of which a header knows the size before any of it is read. A [Sink]
// lays the outs out in files and gives the bytes that stand before, between and
// after them. Then workers take ranges of the outs: they read what a range needs
// at its offset, decode it, and write it at its offset. Nobody waits for an
// order, so the bytes are the same for any number of workers and any tile.
//
//	NewPlan      bind, ask the sink, prove that every size fits
//	Plan.Stream  ranges to any io.WriterAt
//	Plan.Write   a temporary file, ranges, sync, rename
//
// # Order
//
// A plan is a list of tasks. Each task is a number of units (rows, or bytes)
// that are given out once, in order, so a stream ends when all are done. The
// first failure in that order is the one that is returned, whatever worker met
// it first.
//
// The members of an archive are held to their CRC as they are copied; what no
// tensor takes is read for that alone.
//
// # Limits
//
//	MaxTotalBytes   headers and names of what is written; buffers while they live
//	MaxExpandRatio  decoded weights, at NewPlan
//
// A worker holds a tile of input, a tile of output and scratch: at most 3 MiB, but
// for rows that are longer. Two workers at a time are let into a file, of which
// the system lets one write. A part of a weight that every range needs whole is
// held once, for one weight at a time; where rows are columns of what is stored
// (GPTQ, AWQ) and that is more than 16 MiB, it is read in strips of columns of as
// much. Workers whose buffers the account does not grant are not started.
//
// A weight that is encoded in blocks is cut at rows that end with one. Where
// bitsandbytes' scales are quantized too, that is 16,384 numbers for blocks of
// 64, and more for rows that fit them badly; past two million its scales are held
// in memory instead. Such a weight is read twice: the mean of its scales stands in
// a text whose length the header has to know.
//
// # Not supported
//
// Quantized weights whose parts are stored big-endian or as views that are not
// row-major.
