package wrap

import (
	"bytes"
	"io"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/klauspost/compress/zstd"
)

// earlyWindow is the largest window of zstd that the beginning of a file is inflated
// with: more is held for a whole file alone.
const earlyWindow = 8 << 20

var beginZstd = opener{func(s *source) (io.Reader, error) {
	z, err := zstd.NewReader(s, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(earlyWindow))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}, 2*earlyWindow + 1<<20, false}

// Beginning inflates the first n bytes of the content of a stream, or as many as the
// beginning of the file gives. What is wrong with the stream is for [Kind.Walk] to
// say, when all of it is there; so is that the account has no room for a decoder.
func (k *Kind) Beginning(b *limits.Budget, head []byte, n int) []byte {
	if k.opens == nil || b.Hold(k.opens.held+inputLen) != nil {
		return nil
	}
	defer b.Drop(k.opens.held + inputLen)
	from := io.NewSectionReader(bytes.NewReader(head), 0, int64(len(head)))
	z, err := k.opens.open(newSource(b, from))
	if err != nil {
		return nil
	}
	if c, ok := z.(io.Closer); ok {
		defer c.Close()
	}
	out, err := limits.Make[byte](b, n)
	if err != nil {
		return nil
	}
	got, _ := io.ReadFull(z, out) // it ends where the file does, so far
	return out[:got]
}
