package fuzz_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/parser/tflite"
)

// FuzzTFLite is [fuzzWeights] of models of TensorFlow Lite.
func FuzzTFLite(f *testing.F) {
	addSeeds(f, "tflite")
	f.Fuzz(func(t *testing.T, data []byte) { fuzzWeights(t, data, tflite.Decode) })
}
