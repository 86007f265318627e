package strictjson

import (
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// chunk is the size of one read.
const chunk = 64 << 10

// ReadAt reads n bytes at off as text, charged before it is read: one read per
// 64 KiB. The caller has compared n with the bytes that remain.
func ReadAt(b *limits.Budget, r io.ReaderAt, off, n int64) (string, error) {
	if n > MaxText {
		return "", tooLong(n)
	}
	if err := b.Alloc(n); err != nil {
		return "", err
	}
	p, err := limits.Make[byte](b, int(min(n, chunk)))
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.Grow(int(n))
	for ; n > 0; n -= int64(len(p)) {
		p = p[:min(n, chunk)]
		if err := b.Err(); err != nil {
			return "", err
		}
		if err := wire.ReadFull(r, p, off); err != nil {
			return "", err
		}
		text.Write(p)
		off += int64(len(p))
	}
	return text.String(), nil
}

func tooLong(n int64) error {
	return wire.ErrUnsupported.WithRule("json.size").Errorf("%d bytes of JSON, at most %d are read", n, MaxText)
}

// Stream adapts an io.Reader to [wire.ReadFull], which reads in order.
type Stream struct{ R io.Reader }

// ReadAt ignores the offset and reads the next bytes.
func (s Stream) ReadAt(p []byte, _ int64) (int, error) { return s.R.Read(p) }

// Read reads exactly n bytes from r, which is at off, as text. It does not trust n: memory is
// charged and allocated as the bytes arrive.
func Read(b *limits.Budget, r io.Reader, off, n int64) (string, error) {
	if n > MaxText {
		return "", tooLong(n)
	}
	var pieces [][]byte
	for done := int64(0); done < n; done += chunk {
		if err := b.Err(); err != nil {
			return "", err
		}
		p, err := limits.Make[byte](b, int(min(n-done, chunk)))
		if err != nil {
			return "", err
		}
		if err := wire.ReadFull(Stream{r}, p, off+done); err != nil {
			return "", err
		}
		if pieces, err = limits.Append(b, pieces, p); err != nil {
			return "", err
		}
	}
	if err := b.Alloc(n); err != nil {
		return "", err
	}
	var text strings.Builder
	text.Grow(int(n))
	for _, p := range pieces {
		text.Write(p)
	}
	b.Drop(n) // the pieces end here
	return text.String(), nil
}
