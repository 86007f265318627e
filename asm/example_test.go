package asm_test

import (
	"encoding/binary"
	"fmt"

	"github.com/anamnesis-go/anamnesis/asm"
)

// A block of Q8_0 is a float16 scale and 32 signed bytes.
func ExampleOps_Blocks() {
	block := make([]byte, asm.Q8_0.Bytes())
	binary.LittleEndian.PutUint16(block, 0x3800) // 0.5
	block[2], block[3] = 7, 0xFF                 // 7 and -1

	numbers := make([]byte, 2*asm.Q8_0.Elems())
	asm.Best().Blocks(asm.Q8_0, asm.BF16, numbers, block)
	fmt.Printf("%#04x %#04x\n", binary.LittleEndian.Uint16(numbers), binary.LittleEndian.Uint16(numbers[2:]))
	// Output: 0x4060 0xbf00
}
