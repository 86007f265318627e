package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/ahead"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A hashingReader computes the SHA-256 of a file from the reads of others, as far as they
// come in the order of the file, so that bodies compared with checksums are not read
// again. sum reads the rest.
type hashingReader struct {
	r    io.ReaderAt
	size int64

	mu   sync.Mutex
	h    hash.Hash
	next int64 // how many bytes of the file have been hashed
}

// betweenBodies bounds the gap before a read that is filled by reading the skipped bytes,
// such as the archive headers between two bodies. A larger gap means that the reader is
// at the end of the file or skipped a body.
const betweenBodies = 64 << 10

func newHashingReader(r io.ReaderAt, size int64) *hashingReader {
	return &hashingReader{r: r, size: size, h: sha256.New()}
}

// ReadAt reads the file, and hashes what it read.
func (s *hashingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.r.ReadAt(p, off)
	if n > 0 && off >= 0 {
		s.take(p[:n], off)
	}
	return n, err
}

// take hashes the bytes at an offset if all bytes before them are hashed.
func (s *hashingReader) take(p []byte, off int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := off + int64(len(p))
	if end <= s.next || off-s.next > betweenBodies {
		return
	}
	if off > s.next {
		gap := make([]byte, off-s.next)
		if wire.ReadFull(s.r, gap, s.next) != nil {
			return // the reader of these bytes will report the error
		}
		s.h.Write(gap)
		s.next = off
	}
	s.h.Write(p[s.next-off:])
	s.next = end
}

// sum hashes the rest and returns the sum in hex.
func (s *hashingReader) sum(b *limits.Budget) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := readAll(b, s.r, s.next, s.size, s.h); err != nil {
		return "", err
	}
	s.next = s.size
	return hex.EncodeToString(s.h.Sum(nil)), nil
}

// hashPiece is how many bytes are read while the previous ones are hashed.
const hashPiece = 1 << 20

// readAll writes the bytes from off to end to h. If they are more than one piece, the
// next piece is read while one is hashed.
func readAll(b *limits.Budget, r io.ReaderAt, off, end int64, h hash.Hash) (err error) {
	account := b.Probe() // what reading needs is given back
	defer account.Close()
	var bufs [2][]byte
	for i := range bufs {
		size := min(max(end-off-int64(i)*hashPiece, 0), hashPiece)
		if bufs[i], err = limits.Make[byte](account, int(size)); err != nil {
			return wire.At("gate", "", wire.NoOffset, err)
		}
	}
	next := func(p []byte) (int, error) {
		if off >= end {
			return 0, io.EOF
		}
		if err := b.Err(); err != nil {
			return 0, wire.At("gate", "", wire.NoOffset, err)
		}
		p = p[:min(end-off, int64(len(p)))]
		if err := wire.ReadFull(r, p, off); err != nil {
			return 0, wire.At("gate", "", off, err)
		}
		off += int64(len(p))
		return len(p), nil
	}
	return ahead.Each(next, bufs, func(p []byte) error {
		h.Write(p)
		return nil
	})
}
