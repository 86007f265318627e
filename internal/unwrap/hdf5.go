package unwrap

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// HDF5Magic are the first bytes of an HDF5 file.
const HDF5Magic = "\x89HDF\r\n\x1a\n"

// userBlock is the smallest number of bytes that may precede an HDF5 file.
const userBlock = 512

// HDF5 returns the offsets, other than 0, at which the HDF5 library finds a file of its
// own in this one. It skips bytes of its user before that: it looks for its first bytes
// at 0, and at 512 and each of its doubles.
func HDF5(r io.ReaderAt, size int64) (found []int64, err error) {
	var p [len(HDF5Magic)]byte
	for off := int64(userBlock); off <= size-int64(len(p)); off *= 2 {
		if err := wire.ReadFull(r, p[:], off); err != nil {
			return nil, err
		}
		if string(p[:]) == HDF5Magic {
			found = append(found, off)
		}
	}
	return found, nil
}
