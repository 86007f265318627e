// Package guard gives tests memory between pages that fault, so that a kernel
// that reads or writes one byte too far ends the test.
package guard

// Page is enough of unreachable memory on either side for an access that
// strays by a register or a block.
const Page = 1 << 16

// At is n bytes at the end of guarded memory, or at its front: whoever leaves
// them on that side faults.
func At(memory []byte, n int, front bool) []byte {
	if front {
		return memory[:n:n]
	}
	at := len(memory) - n
	return memory[at : at+n : at+n]
}
