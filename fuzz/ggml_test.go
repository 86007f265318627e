package fuzz_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/parser/ggml"
)

// FuzzGGML is [fuzzWeights] of models of whisper.cpp.
func FuzzGGML(f *testing.F) {
	addSeeds(f, "ggml")
	f.Fuzz(func(t *testing.T, data []byte) { fuzzWeights(t, data, ggml.Decode) })
}
