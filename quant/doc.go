// Package quant decodes the weights of quantized models.
//
//	bound, err := quant.Plan(b, m, quant.Options{Target: quant.BF16})
//	if err != nil {
//		return err // no scheme explains the model, or two do
//	}
//	for n, err := range bound.All(b, m, quant.BF16) {
//		// n.Name, n.Shape, n.Data
//	}
//
// A scheme binds the tensors of a model to logical weights. [Plan] tries every scheme
// on every tensor; the resulting [Weight] lists its parts. A [Codec] decodes the blocks
// of one stored type, and a [Target] rounds the result once. Decoding uses the float32
// arithmetic of the library that owns the scheme; the bits are the same on every machine.
//
// [NewRows] returns the rows of a weight in order, some at a time. With [Options].Folder,
// names, shapes and rows are those of the unquantized model in transformers.
//
// # Limits
//
// A configuration file may have 32 MiB (MaxConfig), a JSON description 64 KiB, a name
// pattern 1 KiB, a tensor 2^50 elements. Memory is charged to the account; decoded
// weights are charged with [limits.Budget.Expand], and each weight counts as an item.
//
// # Not supported
//
// Schemes that [Schemes] lists as refused; parts that are strided views or big-endian.
package quant

// The rest of this page is for those who change the package.
//
// Codecs and weights trust their caller: lengths are checked when parts are bound, before
// anything is read. A product is converted to float32 before it is added to a sum, so
// that no processor fuses the two operations.
//
// The goldens in testdata/quant were written by the libraries that own the schemes. The
// scripts and versions are beside them and in crosscheck/quant.
//
// # Writing a model
//
// The workers of package convert write ranges in any order and ask [Weight.Matrix] which
// bytes a range needs. In a folder ([Options].Folder) gpt-oss's experts are [E, in, out],
// and MLX's stacks are separate or fused as in the architecture; nothing else changes
// for the caller.
//
// # Order
//
// Plan reads the configuration files and then goes through the tensors in order. Every
// row of the table of schemes looks at each tensor once; tensors that are bound are
// skipped. Of bodies it reads only descriptions (bitsandbytes' quant_state, shapes,
// orders of groups, bit masks), each at most once per weight. All loops run over
// tensors, rows of the table, or bytes of descriptions.
