// Package narrow reads tensors whose elements are not stored as they are read: whole numbers of fewer
// than eight bits, several in a byte, as one number a byte.
package narrow

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// pieceLen is how much is read at a time.
const pieceLen = 8 << 10

// NewReader returns n numbers in r of a width in bits, the lowest bits of a byte first. Signed
// numbers are extended.
func NewReader(b *limits.Budget, r io.Reader, bits uint, signed bool, n int64) (io.Reader, error) {
	in, err := limits.Make[byte](b, pieceLen)
	if err != nil {
		return nil, err
	}
	return &reader{r: r, in: in, bits: bits, signed: signed, left: n}, nil
}

type reader struct {
	r      io.Reader
	in     []byte
	have   []byte // of in
	at     uint   // bits of have[0] that were read
	bits   uint
	signed bool
	left   int64
}

func (r *reader) Read(p []byte) (n int, err error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	for n < len(p) && r.left > 0 {
		if len(r.have) == 0 {
			want := min(int64(len(r.in)), (r.left*int64(r.bits)+7)/8)
			if _, err := io.ReadFull(r.r, r.in[:want]); err != nil {
				return n, Unexpected(err)
			}
			r.have = r.in[:want]
		}
		v := r.have[0] >> r.at & (1<<r.bits - 1)
		if r.signed && v>>(r.bits-1) != 0 {
			v |= 0xff << r.bits
		}
		p[n] = v
		n, r.left, r.at = n+1, r.left-1, r.at+r.bits
		if r.at == 8 {
			r.at, r.have = 0, r.have[1:]
		}
	}
	return n, nil
}

// Unexpected is an end where more had to be. A parser has compared the data with type and shape,
// and a file that is shorter now ends with an error of its own.
func Unexpected(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return wire.ErrInternal.Errorf("the data end early")
	}
	return err
}
