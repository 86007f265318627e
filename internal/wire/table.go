package wire

import "encoding/binary"

// HoldsTable reports whether a SentencePiece map of characters, by its beginning and its size, is
// longer than its table, whose size is in the first four bytes, always in little endian.
func HoldsTable(head []byte, size uint64) bool {
	const length = 4
	return len(head) >= length && size >= length && uint64(binary.LittleEndian.Uint32(head))+length < size
}
