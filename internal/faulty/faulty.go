// Package faulty holds the readers and writers that fail, and those that count, for
// the tests of the formats.
package faulty

import (
	"bytes"
	"errors"
	"io"
)

// ErrDisk is what fails: an error of the system's, none of a file's.
var ErrDisk = errors.New("the disk is on fire")

// A Reader has bytes of which those from an offset on cannot be read.
type Reader struct {
	Data []byte
	From int64
}

// ReadAt fails whole, where one byte of p cannot be read.
func (r Reader) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > r.From {
		return 0, ErrDisk
	}
	return bytes.NewReader(r.Data).ReadAt(p, off)
}

// A Disk accepts a number of bytes and then is full.
type Disk struct{ Left int64 }

// Write takes what fits.
func (d *Disk) Write(p []byte) (int, error) {
	if n := d.Left; int64(len(p)) > n {
		d.Left = 0
		return int(n), ErrDisk
	}
	d.Left -= int64(len(p))
	return len(p), nil
}

// A Counter counts the reads, the bytes that they ask for, and where the last of
// these ends.
type Counter struct {
	io.ReaderAt
	Reads, Bytes, End int64
}

// ReadAt passes on what is counted.
func (c *Counter) ReadAt(p []byte, off int64) (int, error) {
	c.Reads++
	c.Bytes += int64(len(p))
	c.End = max(c.End, off+int64(len(p)))
	return c.ReaderAt.ReadAt(p, off)
}
