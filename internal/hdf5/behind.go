package hdf5

import (
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
