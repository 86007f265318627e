package scaled_test

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// One row of four numbers in bytes under its own scale.
func ExampleFormat_Encode() {
	f := scaled.Format{Code: scaled.Int8, Rows: 1}
	codes, scale := make([]byte, 4), make([]float32, 1)
	if err := f.Encode(codes, scale, []float32{0.5, -1, 0.25, 0}, 0, 4, asm.F32); err != nil {
		fmt.Println(err)
		return
	}
	for i := range codes {
		fmt.Printf("%.3f ", f.Decode(codes, int64(i), scale[0]))
	}
	fmt.Println()
	// Output: 0.502 -0.996 0.251 0.000
}
