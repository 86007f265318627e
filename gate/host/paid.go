package host

import (
	"io"
	"io/fs"
)

// paid returns a reader that pays for the bytes that are read of a file.
func paid(r io.ReaderAt, pay func(steps int64)) io.ReaderAt {
	if f, ok := r.(statter); ok {
		return paidFile{paidReader{r, pay}, f}
	}
	return paidReader{r, pay}
}

type paidReader struct {
	r   io.ReaderAt
	pay func(steps int64)
}

func (p paidReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.r.ReadAt(b, off)
	p.pay(int64(n) / stepBytes)
	return n, err
}

// A statter shows whether the file changes while it is judged.
type statter interface{ Stat() (fs.FileInfo, error) }

type paidFile struct {
	paidReader
	statter
}
