package hdf5

import (
	"bytes"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// userBlock is the smallest number of bytes that may precede a file.
const userBlock = 512

// Behind returns the offsets, other than 0, at which the HDF5 library finds a file in this
// one. It skips bytes of its user before that: it looks for [Magic] at 0, and at 512 and
// each of its doubles.
func Behind(r io.ReaderAt, size int64) (found []int64, err error) {
	var p [len(Magic)]byte
	for off := int64(userBlock); off > 0 && off <= size-int64(len(p)); off *= 2 {
		if err := wire.ReadFull(r, p[:], off); err != nil {
			return nil, err
		}
		if string(p[:]) == Magic {
			found = append(found, off)
		}
	}
	return found, nil
}

// maxUser is how many bytes of its user a file may have before it, all of them zeros, as h5py's
// userblock_size writes them.
const maxUser = 2 << 10

// userOf returns how many zeros precede the file, 0 if it begins with [Magic] or has more.
func userOf(r io.ReaderAt, size int64) (int64, error) {
	var p [maxUser + len(Magic)]byte
	head := p[:min(size, int64(len(p)))]
	if err := wire.ReadFull(r, head, 0); err != nil {
		return 0, err
	}
	for n := userBlock; n <= maxUser && n+len(Magic) <= len(head); n *= 2 {
		if len(bytes.Trim(head[:n], "\x00")) > 0 {
			return 0, nil
		}
		if string(head[n:n+len(Magic)]) == Magic {
			return int64(n), nil
		}
	}
	return 0, nil
}
