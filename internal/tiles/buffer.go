package tiles

import "unsafe"

// Line is the bytes of a cache line, which buffers and file offsets agree in.
const Line = 64

// Slack is how much more than n bytes a buffer takes so that [Shift] can give n
// bytes of it any place within a line.
const Slack = 2 * Line

// Bytes returns n bytes and the slack that [Shift] needs.
func Bytes(n int) []byte { return make([]byte, n+Slack) }

// Shift returns n bytes of a buffer, the first of which lies in its cache line
// where the byte at a file offset lies in its. The buffer is from [Bytes].
func Shift(buf []byte, off int64, n int) []byte {
	at := int(uintptr(unsafe.Pointer(unsafe.SliceData(buf))) & (Line - 1))
	skip := (int(off&(Line-1)) - at) & (Line - 1)
	return buf[skip : skip+n : skip+n]
}
