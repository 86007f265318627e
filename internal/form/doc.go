// Package form describes how the numbers of one logical weight are laid out in the
// tensors that hold it, and decodes them. It is for this module only: package quant
// decides which tensors belong to a weight and proves that their sizes fit; package
// convert asks a [Matrix] for ranges of rows.
//
// A [Codec] is one stored type whose blocks hold their own scales. [Scaled] is rows of
// codes under a [Grid] of scales; most schemes use it and differ only in their [Codes].
// Layouts that are packed across rows have forms of their own (GPTQ's [PackedIn], AWQ's
// [PackedOut], HQQ's [Reshaped], bit masks). Some forms wrap another one (transposed, folded, shifted).
//
// The method decode of a form is its specification: the float32 arithmetic of the
// library that owns the scheme, each product rounded. The method direct does the same
// with package asm. Tests compare both bit by bit at every level of kernels.
//
// Forms trust their caller: lengths are checked when parts are bound.
package form
