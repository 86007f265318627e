//go:build unix

package guard

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Guards reports whether memory is guarded here.
const Guards = true

// Memory is n bytes that fault at their end, and with front at their beginning
// instead: a page has one end at which n bytes can stand. They are released
// with the test.
func Memory(t testing.TB, n int, front bool) []byte {
	t.Helper()
	size := (n + Page - 1) / Page * Page
	all, err := unix.Mmap(-1, 0, size+2*Page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(all); err != nil {
			t.Error(err)
		}
	})
	for _, wall := range [][]byte{all[:Page], all[Page+size:]} {
		if err := unix.Mprotect(wall, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	at := Page + size - n
	if front {
		at = Page
	}
	return all[at : at+n : at+n]
}
