// Package guard gives tests memory that faults one byte before it and one byte
// behind it, so that a kernel that reads or writes too far ends the test.
package guard

// Page is enough of unreachable memory on either side for a read that strays
// by a register or a block.
const Page = 1 << 16
