package main

import "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"

// The names by which the kernels of AVX2 ask for constants.
var (
	data, bytes32, words, dwords = emit.Data, emit.Bytes32, emit.Words, emit.Dwords
	qwords, floats               = emit.Qwords, emit.Floats
	variable, load               = emit.Variable, emit.Load32
)
