package tiles_test

import (
	"testing"
	"unsafe"

	"github.com/anamnesis-go/anamnesis/internal/tiles"
)

func TestABufferLiesAsItsPlaceInTheFileDoes(t *testing.T) {
	for _, n := range []int{1, 2, 63, 64, 65, 4096} {
		buf := tiles.Bytes(n)
		for off := int64(0); off < 3*tiles.Line; off++ {
			p := tiles.Shift(buf, off, n)
			at := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
			if len(p) != n || cap(p) != n || at%tiles.Line != uintptr(off%tiles.Line) {
				t.Fatalf("%d bytes for offset %d: %d bytes at %#x", n, off, len(p), at)
			}
		}
	}
}
