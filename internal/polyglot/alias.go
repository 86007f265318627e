package polyglot

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// windowLen is how much of a file's end is read at once.
const windowLen = 16 << 10

// A source is a file whose first bytes may be in memory.
type source struct {
	r    io.ReaderAt
	size int64
	head []byte
	tail *[windowLen]byte // of a file larger than the head, once read

	b     *limits.Budget
	steps limits.Steps
	text  bool // all of it is a text

	first   string // its first two characters after white space
	pickled bool   // a pickle may begin in it and reach a call
}

// Alias finds the archive that a loader would see if it does not start at the first byte, or checks
// more than the first bytes. It returns no name if there is none. head is the beginning of the
// file: at least 512 bytes, or all of it. A file that begins as a ZIP archive has no alias: its
// parser checks that.
func Alias(r io.ReaderAt, size int64, head []byte) (what string, off int64, err error) {
	if IsTar(head) {
		return "a tar archive", 0, nil
	}
	s := source{r: r, size: size, head: head}
	for at := max(0, size-zipTail); at < size; {
		p, err := s.window(at)
		if err != nil {
			return "", at, err
		}
		if end, err := s.archiveEnd(p, at); end >= 0 || err != nil {
			return "a ZIP archive from its end", max(end, 0), err
		}
		if at += int64(len(p)); at < size {
			at -= zipEnd - 1 // a record may cross windows
		}
	}
	return "", 0, nil
}

// AliasOf is [Alias] for a file that has not been read yet.
func AliasOf(r io.ReaderAt, size int64) (what string, off int64, err error) {
	var buf [headLen]byte
	head := buf[:min(size, headLen)]
	if err := wire.ReadFull(r, head, 0); err != nil {
		return "", 0, err
	}
	return Alias(r, size, head)
}

// window reads the file from off; a small file is in memory already.
func (s *source) window(off int64) ([]byte, error) {
	if s.size <= int64(len(s.head)) {
		return s.head[off:s.size], nil
	}
	if s.tail == nil {
		s.tail = new([windowLen]byte)
	}
	p := s.tail[:min(s.size-off, windowLen)]
	return p, wire.ReadFull(s.r, p, off)
}
