// Package quant decodes what quantized models store to numbers.
//
//	bound, err := quant.Plan(b, m, quant.Options{Target: quant.BF16})
//	if err != nil {
//		return err // no scheme explains the model, or two do
//	}
//	for n, err := range bound.All(b, m, quant.BF16) {
//		// n.Name, n.Shape, n.Data
//	}
//
// A [Codec] decodes the blocks of one stored type. Decoding is the reference
// library's float32 arithmetic, which packages form and asm specify and speed up,
// and a [Target] rounds the result once.
// Products that meet a sum are converted to float32 first, so that no processor
// fuses them and every machine gives the same bits.
//
// A scheme binds the tensors of a model to logical weights: [Plan] asks every
// row of the table about every tensor, and a [Weight] says which parts it is
// made of and which bytes of them a range of its rows needs. Codecs and weights
// trust their caller: lengths are checked where parts are bound, before anything
// is read.
//
// # Writing a model
//
// [NewRows] gives the rows of a weight in order, some at a time. Package convert,
// whose workers write ranges in any order, asks [Weight.Matrix] which bytes a
// range needs. A folder is planned with
// [Options].Folder: names, Shape and rows are then those of the unquantized
// model in transformers, gpt-oss's experts as [E, in, out] among them, and MLX's
// stacks one by one or fused as the architecture has them; nothing else changes
// for the caller.
//
// # Order
//
// Plan reads the configuration files, then takes the tensors in their order:
// each is asked of every row once, and what is bound is not asked again. Nothing
// of a body is read but descriptions (bitsandbytes' quant_state, shapes, orders
// of groups, bit masks), each at most once per weight. Loops run over tensors,
// rows of the table and bytes of descriptions, which are all there.
//
// # Limits
//
//	a configuration file     32 MiB (MaxConfig)
//	a description in JSON    64 KiB
//	a pattern of a name      1 KiB
//	elements of a tensor     2^50
//
// What is held is charged to the account; the bytes of decoded weights are
// charged as [limits.Budget.Expand], and each weight as an item.
//
// # Not supported
//
// What [Schemes] lists as refused; parts that are views with strides, or
// big-endian.
//
// The goldens in testdata/quant are written by the libraries that own the
// schemes; the scripts and versions stand beside them and in crosscheck/quant.
package quant
