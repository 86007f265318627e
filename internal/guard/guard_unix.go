//go:build unix

package guard

import "golang.org/x/sys/unix"

// Guards reports whether memory is guarded here.
const Guards = true

// Memory is whole pages, at least n bytes, between pages that fault. It is
// never released.
func Memory(n int) ([]byte, error) {
	size := (n + Page - 1) / Page * Page
	all, err := unix.Mmap(-1, 0, size+2*Page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	for _, wall := range [][]byte{all[:Page], all[Page+size:]} {
		if err := unix.Mprotect(wall, unix.PROT_NONE); err != nil {
			return nil, err
		}
	}
	return all[Page : Page+size : Page+size], nil
}
