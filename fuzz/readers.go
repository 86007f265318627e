package fuzz

import (
	"context"
	"errors"
	"io"
)

var background = context.Background()

// A Cut is a reader that returns the same bytes in another way.
type Cut struct {
	Name   string
	Reader io.ReaderAt
}

// Cuts returns readers of data that an honest io.ReaderAt may be, or a careless one: short
// reads without an error, an EOF with the last bytes.
func Cuts(data []byte) []Cut {
	cuts := []Cut{
		{"reads of at most 7 bytes", Sliced{data, 7, false}},
		{"an end of file together with the last bytes", Sliced{data, 1 << 30, true}},
	}
	if len(data) <= 16<<10 {
		cuts = append(cuts, Cut{"reads of one byte", Sliced{data, 1, true}})
	}
	return cuts
}

// Sliced is a ReaderAt that returns at most Most bytes per call.
type Sliced struct {
	Data []byte
	Most int
	EOF  bool // with the last byte, instead of after it
}

// ReadAt returns fewer bytes than requested without an error.
func (s Sliced) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(s.Data)) {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.Most)], s.Data[off:])
	if int(off)+n == len(s.Data) && (s.EOF || n < len(p)) {
		return n, io.EOF
	}
	return n, nil
}

// ErrDisk is the error of a failing reader.
var ErrDisk = errors.New("the disk is on fire")

// Failing returns the bytes before After, and then ErrDisk.
type Failing struct {
	Data  []byte
	After int64
}

// ReadAt implements io.ReaderAt.
func (f Failing) ReadAt(p []byte, off int64) (int, error) {
	good := max(0, min(f.After, int64(len(f.Data)))-off)
	n := 0
	if off >= 0 && good > 0 {
		n = copy(p[:min(int64(len(p)), good)], f.Data[off:])
	}
	if n < len(p) {
		return n, ErrDisk
	}
	return n, nil
}

// Stuck never returns a byte or an error.
type Stuck struct{}

// ReadAt returns 0, nil.
func (Stuck) ReadAt([]byte, int64) (int, error) { return 0, nil }

// Panicking panics at its first read past After.
type Panicking struct {
	Data  []byte
	After int64
}

// ReadAt implements io.ReaderAt.
func (r Panicking) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > r.After {
		panic("a reader's panic")
	}
	return Sliced{r.Data, 1 << 30, false}.ReadAt(p, off)
}
