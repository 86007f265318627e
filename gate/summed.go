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

// summed makes the SHA-256 of a file from what is read of it anyway: each byte is
// taken when it comes in the order of the file, so that bodies which are held to
// their checksums are not read again. sum reads what the judgement does not.
type summed struct {
	r    io.ReaderAt
	size int64

	mu   sync.Mutex
	h    hash.Hash
	next int64 // of the bytes before it the sum is made
}

// betweenBodies is how much is read at once of what lies between two bodies: the
// headers of an archive. A reader that is further ahead looks at the end of the
// file, or has passed over a body.
const betweenBodies = 64 << 10

func newSummed(r io.ReaderAt, size int64) *summed {
	return &summed{r: r, size: size, h: sha256.New()}
}

// ReadAt reads the file.
func (s *summed) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.r.ReadAt(p, off)
	if n > 0 && off >= 0 {
		s.take(p[:n], off)
	}
	return n, err
}

// take adds the bytes at an offset to the sum, if those before them are there.
func (s *summed) take(p []byte, off int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := off + int64(len(p))
	if end <= s.next || off-s.next > betweenBodies {
		return
	}
	if off > s.next {
		gap := make([]byte, off-s.next)
		if wire.ReadFull(s.r, gap, s.next) != nil {
			return // whoever wants these bytes says so
		}
		s.h.Write(gap)
		s.next = off
	}
	s.h.Write(p[s.next-off:])
	s.next = end
}

// sum reads the rest, and is the sum in hex, or "" where an error says why there is
// none.
func (s *summed) sum(b *limits.Budget) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := readAll(b, s.r, s.next, s.size, s.h); err != nil {
		return "", err
	}
	s.next = s.size
	return hex.EncodeToString(s.h.Sum(nil)), nil
}

// hashPiece is how much is read while the piece before it is hashed.
const hashPiece = 1 << 20

// readAll gives the bytes from off to the end to h: of what is longer than one piece,
// the next is read while one is hashed.
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
