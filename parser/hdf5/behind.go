package hdf5

import (
	"bytes"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// UserBlock is the smallest number of bytes that may precede a file.
const UserBlock = 512

// Behind returns the offsets, other than 0, at which the HDF5 library finds a file in this
// one. It skips bytes of its user before that: it looks for [Magic] at 0, and at 512 and
// each of its doubles.
func Behind(r io.ReaderAt, size int64) (found []int64, err error) {
	var p [len(Magic)]byte
	for off := int64(UserBlock); off > 0 && off <= size-int64(len(p)); off *= 2 {
		if err := wire.ReadFull(r, p[:], off); err != nil {
			return nil, err
		}
		if string(p[:]) == Magic {
			found = append(found, off)
		}
	}
	return found, nil
}

// MayPrecede reports whether p may be the beginning of what precedes a file for its user.
func MayPrecede(p []byte) bool {
	var u user
	return u.check(p) < 0
}

// A user is what precedes a file: a text, or the header of a MAT file, and zeros to the end.
// No loader finds another content there.
type user struct{ begun, zeros bool }

// check returns the offset in p, which follows what was checked before, of the first byte that
// is neither, or -1. The first piece has the whole header.
func (u *user) check(p []byte) int {
	begin := 0
	if !u.begun && isMAT(p) {
		begin, u.zeros = matHeader, true
	}
	u.begun = true
	for i, x := range p[begin:] {
		switch {
		case x == 0:
			u.zeros = true
		case u.zeros || x < ' ' && bytes.IndexByte([]byte("\t\n\r"), x) < 0 || x >= 0x7f:
			return begin + i
		}
	}
	return -1
}

// matHeader is the length of the header of a MAT file.
const matHeader = 128

// isMAT reports whether p begins with a header of a MAT file of level 7.3: a text of 116
// bytes, the place of data of subsystems, the version 2.0 and the order of bytes.
func isMAT(p []byte) bool {
	if len(p) < matHeader || !bytes.HasPrefix(p, []byte("MATLAB 7.3 MAT-file")) {
		return false
	}
	for _, x := range p[:116] {
		if x != 0 && (x < ' ' || x >= 0x7f) {
			return false
		}
	}
	return string(p[124:128]) == "\x00\x02IM" || string(p[124:128]) == "\x02\x00MI"
}
