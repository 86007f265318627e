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
// A scheme binds the tensors of a model to logical weights: [Plan] asks every
// row of the table about every tensor, and a [Weight] says which parts it is
// made of. A [Codec] decodes the blocks of one stored type, and a [Target] rounds
// the result once. Decoding is the float32 arithmetic of the library that owns the
// scheme; the bits are the same on every machine.
//
// [NewRows] gives the rows of a weight in order, some at a time. With [Options].Folder
// names, shapes and rows are those of the unquantized model in transformers.
//
// # Limits
//
// A configuration file has 32 MiB (MaxConfig), a description in JSON 64 KiB, a pattern of
// a name 1 KiB, a tensor 2^50 elements. What is held is charged to the account, decoded
// weights as [limits.Budget.Expand], each weight as an item.
//
// # Not supported
//
// What [Schemes] lists as refused; parts that are views with strides, or big-endian.
package quant

// The rest of this page is for who changes the package.
//
// Codecs and weights trust their caller: lengths are checked where parts are bound,
// before anything is read. Products that meet a sum are converted to float32 first, so
// that no processor fuses them.
//
// The goldens in testdata/quant are written by the libraries that own the
// schemes; the scripts and versions stand beside them and in crosscheck/quant.
//
// # Writing a model
//
// Package convert, whose workers write ranges in any order, asks [Weight.Matrix] which
// bytes a range needs. A folder ([Options].Folder) has gpt-oss's experts as [E, in, out],
// and MLX's stacks one by one or fused as the architecture has them; nothing else
// changes for the caller.
//
// # Order
//
// Plan reads the configuration files, then takes the tensors in their order:
// each is asked of every row once, and what is bound is not asked again. Nothing
// of a body is read but descriptions (bitsandbytes' quant_state, shapes, orders
// of groups, bit masks), each at most once per weight. Loops run over tensors,
// rows of the table and bytes of descriptions, which are all there.
