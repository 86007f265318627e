package wire

import (
	"io"

	"github.com/anamnesis-go/anamnesis/limits"
)

// pieceLen is how much is read between two looks at an account.
const pieceLen = 64 << 10

// ReadInPieces is [ReadFull] for a buffer that a file sized: it looks at the account before
// each piece, so that a deadline ends it.
func ReadInPieces(b *limits.Budget, r io.ReaderAt, p []byte, off int64) error {
	for len(p) > 0 {
		if err := b.Err(); err != nil {
			return err
		}
		n := min(len(p), pieceLen)
		if err := ReadFull(r, p[:n], off); err != nil {
			return err
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}
