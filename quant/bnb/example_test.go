package bnb_test

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

func ExampleQuantizer_Encode() {
	q := bnb.Quantizer{Block: 64}
	numbers := make([]float32, 64)
	numbers[0], numbers[1] = 2, -1
	codes, scales := make([]byte, 32), make([]float32, 1)
	if err := q.Encode(codes, scales, numbers); err != nil {
		fmt.Println(err)
		return
	}
	back := make([]float32, 64)
	q.Decode(back, codes, scales)
	fmt.Printf("%x %v %v\n", codes[:2], scales, back[:3])
	// Output: f277 [2] [2 -1.0501461 0]
}
