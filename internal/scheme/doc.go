// Package scheme is what a scheme of quantization is made of.
//
// A [Scheme] is a row: the names of its tensors, the keys that its library's configuration
// may have, and Bind, which recognizes the main tensor of a weight and returns the [Weight]
// with its parts. Bind asks a [Set], the tensors of a model by name with what the
// configuration says of them, and describes the order of the numbers by a form of
// internal/form. A [Table] is the rows, and what follows from all of them.
//
// Each scheme is a folder of quant; package quant has the table, and decides what no row
// explains.
package scheme
