// Package form decodes stored codes to numbers: how the numbers of one logical
// weight lie in the tensors that hold it, and the kernels that bring them out. It
// is for this module alone: package quant decides which tensors make a weight and
// proves that their sizes fit; package convert asks a [Matrix] for ranges of rows.
//
// A [Codec] is one stored type, whose blocks hold their own scales. [Scaled] is
// codes in rows under a [Grid] of scales: most schemes are nothing else, and say
// which [Codes] they have. What is packed across rows has a form of its own
// (GPTQ, AWQ, HQQ, bitsandbytes, bit masks), and some forms are made of others
// (transposed, folded, shifted).
//
// A form's decode is the specification: float32 arithmetic of the library that
// owns the scheme, each product rounded by itself. Its direct does the same by
// package asm, and tests compare the two bit by bit at every level of kernels.
//
// Forms trust their caller: lengths are checked where parts are bound.
package form
