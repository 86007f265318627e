package tensor_test

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A type knows how it packs its elements; what does not fill whole blocks has
// no size.
func ExampleGeometry_Size() {
	for _, d := range []tensor.DType{tensor.BF16, tensor.F6E2M3, tensor.Q4_K} {
		g, _ := d.Geometry()
		bytes, ok := g.Size(512)
		fmt.Println(d, g.Elems, "in", g.Bytes, "bytes:", bytes, ok)
	}
	g, _ := tensor.Q4_K.Geometry()
	fmt.Println(g.Size(100))
	// Output:
	// BF16 1 in 2 bytes: 1024 true
	// F6_E2M3 4 in 3 bytes: 384 true
	// Q4_K 256 in 144 bytes: 288 true
	// 0 false
}
